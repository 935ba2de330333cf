# SPDX-License-Identifier: LGPL-3.0-or-later
# libdeflate (Debian: libdeflate-dev). Defines Libdeflate::deflate.
include(${CMAKE_CURRENT_LIST_DIR}/PlainLibrary.cmake)
xec_find_plain_library(Libdeflate libdeflate.h deflate)

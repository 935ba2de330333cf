# SPDX-License-Identifier: LGPL-3.0-or-later
# Intel ISA-L (Debian: libisal-dev). Defines Isal::isal.
include(${CMAKE_CURRENT_LIST_DIR}/PlainLibrary.cmake)
xec_find_plain_library(Isal isa-l.h isal)

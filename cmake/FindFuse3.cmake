# SPDX-License-Identifier: LGPL-3.0-or-later
# The FUSE library, version 3 (Debian: libfuse3-dev). Defines Fuse3::fuse3.
include(${CMAKE_CURRENT_LIST_DIR}/PlainLibrary.cmake)
xec_find_plain_library(Fuse3 fuse3/fuse_lowlevel.h fuse3)

// SPDX-License-Identifier: LGPL-3.0-or-later
// The FUSE library, by the version of its interface that this layer is written for.
#pragma once

#define FUSE_USE_VERSION 314
#include <fuse3/fuse_lowlevel.h>

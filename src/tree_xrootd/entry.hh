// SPDX-License-Identifier: LGPL-3.0-or-later
// What XRootD's servers say of names, as a tree says it.
#pragma once

#include "XrdCl/XrdClFileSystem.hh"
#include "runtime/executor.hh"
#include "tree_xrootd/told.hh"

namespace xec {

// The version is made of what the server tells of the file's identity, size and times. These have seconds, so
// a file that was changed a moment ago gets a version that no other answer has. `of_gateway`: the server is a
// gateway of XEC, whose identities are those of versions, and which was asked to tell as for mounts.
Told ToldOf(const XrdCl::StatInfo& info, WallMillis now, bool of_gateway);

// Of the permission bits only.
XrdCl::Access::Mode AccessOf(uint32_t mode);

}  // namespace xec

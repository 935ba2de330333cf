// SPDX-License-Identifier: LGPL-3.0-or-later
// The end of the renaming of a directory: late carriers of it make nothing after that.
#pragma once

#include <set>
#include <string>

#include "commit/engine/names.hh"

namespace xec {

// Once the source `from` is gone, nobody makes the target `to` for it but carriers that have sealed it
// before, and may promote it at any time. None of them must come above what there is when the rename is
// answered, because a client that removes that does not know of them. So the directory is made once more
// where there are any. The same for what others have moved out of `from` before this renamer saw it: all but
// `own`, the names that it has moved. Errors: kConflict (others make it all the time), kNotDirectory (its
// parent), kNoQuorum, kUnknown.
Task<Status> SettleTarget(Engine& engine, ObjectPath from, ObjectPath to, std::set<std::string> own);

}  // namespace xec

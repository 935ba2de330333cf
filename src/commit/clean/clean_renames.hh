// SPDX-License-Identifier: LGPL-3.0-or-later
// The cleaner at the source and at the target of renames (docs/protocol/cleaner.md).
#pragma once

#include "commit/clean/clean_pass.hh"

namespace xec {

// Renames that begin or end at this name. kNone: there are none, the name may be swept.
// kDone: one was brought to its end; look again. kOpen: one is under way, or a server is missing: remove
// nothing now.
enum class RenamesLeft { kNone, kDone, kOpen };
Task<RenamesLeft> ResolveRenames(CleanPass& pass);

// Which of the moved-in witnesses shown are held, because their source has not retired their rename.
Task<std::set<std::string>> HeldRenames(CleanPass& pass);

}  // namespace xec

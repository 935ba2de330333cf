// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once

#include <set>
#include <string>

#include "commit/clean/clean_outcome.hh"
#include "commit/engine/engine.hh"

namespace xec {

// May names be cleaned while this list of members is in force? Whatever needs all homes of a name to be sure
// would ask those of one list only, beside processes that go by another one (model/members).
inline bool MayClean(const StoreDescriptor& list) { return !list.IsChanging() && !list.unswept; }

// Cleans one name on all servers; of a name that is being changed something is left. Error: kNoQuorum, too
// few of its homes answer.
Task<Result<CleanOutcome>> CleanName(Engine& engine, ObjectPath path);

// Gives up the uploads to the name that are promoted nowhere and of which nothing was heard for so long, as
// far as all homes answer. For whoever knows that nobody needs what these would become.
Task<void> GiveUpSilentUploads(Engine& engine, ObjectPath path, Duration silence);

// Gives up those of these uploads to the name (their ids) that are promoted nowhere. For whoever knows that
// their process has died. Error: kNoQuorum, a home does not answer, so that some may still be in the way.
Task<Status> GiveUpUploads(Engine& engine, ObjectPath path, std::set<std::string> dead);

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// What the data servers of a cluster answer to one question, as one answer. Pure.
#pragma once

#include <vector>

#include "tree_xrootd/endpoint.hh"

namespace xec {

// Found anywhere is found: a directory if it is one anywhere, else the file that was changed last. Not found
// is said only if all have said so.
Result<Told> MergeFound(const std::vector<Result<Told>>& answers);

// The union, in the order of bytes; of two entries with one name a directory wins, then the one that was
// changed last. Servers that have no such directory add nothing. An error of one is one of all, since names
// would be missing.
Result<std::vector<NamedEntry>> MergeListings(std::vector<Result<std::vector<NamedEntry>>> answers);

// Of a change of what some have: done where it was found. `needs_all`: an error of one is one of all, since
// the rest of what was to be changed may be there.
Status MergeDone(const std::vector<Status>& answers, bool needs_all);

// Of making a directory, wherever the one above it is: it is there if it was there anywhere.
Status MergeMade(const std::vector<Status>& answers);

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// Many tasks of one kind, several at a time, for callers that block.
#pragma once

#include <functional>

#include "base/result.hh"
#include "runtime/task.hh"

namespace xec {

// Runs work(0) to work(count - 1), at most `at_once` (1 at least) of them at a time, and blocks this thread
// until all that were begun have ended. After a failure no more are begun. Answers the failure of the lowest
// number. Only at the synchronous edges, as SyncWait. `work` is called from any thread, from several at once.
Status RunAtOnce(size_t count, size_t at_once, const std::function<Task<Status>(size_t)>& work);

}  // namespace xec

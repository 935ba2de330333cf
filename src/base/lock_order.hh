// SPDX-License-Identifier: LGPL-3.0-or-later
// The order of all locks, in one table, so that no two threads wait for each other: a thread takes a lock
// only if all that it holds stand before it here. So a lock of the last row, as almost all are, is taken
// last, and nothing under it.
//
// Programs that are linked with lock_order_checked.cc end at the first breach, whether or not another thread
// is there to wait for: all unit tests, the simulator, programs with fail points, those of sanitizer builds.
#pragma once

#include <cstdint>
#include <source_location>

namespace xec {

// Each row: what the lock guards; what is taken while it is held, and why that can be done neither before nor
// after. A new row needs such a reason.
enum class LockRank : uint8_t {
  // One upload of a gateway while one of its requests is carried out (plugin_oss/write_file.cc); any: what a
  // request does is ordered by it.
  kUpload,
  // Which servers are probed (server/health/health_monitor.hh); the health of one server and the executor's
  // timers:
  // the one decides what the other is set to.
  kHealthMonitor,
  // What is known of one server (server/health/server_health.hh); FleetLag's: whether it is late depends on
  // others.
  kServerHealth,
  // The stripes in memory (runtime/slice_cache.hh); the budget's: nothing is kept while somebody waits.
  kSliceCache,
  // May the executor still be used (server_xrootd/response.hh)? Its own: it must not go meanwhile.
  kExecutorGate,
  // A few instructions on memory, or a line appended to a local file (audit/audit_log.hh); none.
  kLeaf,
};

// Null in programs that do not check. Before a thread takes a lock, and after it has let go of it; `where`:
// in the source. A breach of the order, or letting go of what the thread does not hold, prints a sentence
// and aborts.
[[gnu::weak]] void LockTaken(const void* lock, LockRank rank, std::source_location where);
[[gnu::weak]] void LockLetGo(const void* lock);

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// Programs that are linked with this check the order of their locks.
#include <algorithm>
#include <array>

#include "base/check.hh"
#include "base/lock_order.hh"

namespace xec {
namespace {

struct Held {
  const void* lock;
  LockRank rank;
  std::source_location where;
};

// One row of the table each, at the very most.
thread_local std::array<Held, static_cast<size_t>(LockRank::kLeaf) + 1> held;
thread_local size_t held_count = 0;

const char* NameOf(LockRank rank) {
  switch (rank) {
    case LockRank::kUpload: return "kUpload";
    case LockRank::kHealthMonitor: return "kHealthMonitor";
    case LockRank::kServerHealth: return "kServerHealth";
    case LockRank::kSliceCache: return "kSliceCache";
    case LockRank::kExecutorGate: return "kExecutorGate";
    case LockRank::kLeaf: return "kLeaf";
  }
  return "?";
}

}  // namespace

void LockTaken(const void* lock, LockRank rank, std::source_location where) {
  if (held_count > 0) {
    const Held& last = held[held_count - 1];
    XEC_CHECK(last.rank < rank,
              "a lock of rank {} is taken in {} ({}:{}) while one of rank {} is held, taken in {} ({}:{}); "
              "base/lock_order.hh has the order",
              NameOf(rank), where.function_name(), where.file_name(), where.line(), NameOf(last.rank),
              last.where.function_name(), last.where.file_name(), last.where.line());
  }
  held[held_count++] = {lock, rank, where};
}

void LockLetGo(const void* lock) {
  const auto end = held.begin() + static_cast<ptrdiff_t>(held_count);
  const auto found = std::find_if(held.begin(), end, [&](const Held& one) { return one.lock == lock; });
  XEC_CHECK(found != end, "a thread lets go of a lock that it does not hold: was it held over a co_await?");
  std::copy(found + 1, end, found);
  --held_count;
}

}  // namespace xec

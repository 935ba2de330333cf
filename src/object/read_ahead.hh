// SPDX-License-Identifier: LGPL-3.0-or-later
// ReadAhead: whole stripes fetched before a sequential reader asks for them, shared by all clients of one
// open version. It never waits for budget, and its memory is let go when a read of the same handle has to
// wait, when a stream has passed it, or after kIdleMax: a client that stalls holds nobody up (promise P7).
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "object/stripe_reader.hh"

namespace xec {

class ReadAhead : public std::enable_shared_from_this<ReadAhead> {
 public:
  static constexpr Duration kIdleMax = std::chrono::seconds(10);
  // Streams of one handle that are told apart.
  static constexpr size_t kStreamsMax = 16;

  // At most `stripes_max` stripes are held or on their way. `executor` outlives all tasks of the engine.
  ReadAhead(Executor& executor, size_t stripes_max) : executor_(executor), stripes_max_(stripes_max) {}
  ~ReadAhead();

  // The stripe if it is here, or on its way and arrives well; nullptr: read it yourself.
  static Task<std::shared_ptr<const StripeData>> Find(std::shared_ptr<ReadAhead> self, uint64_t stripe);

  // A read of [begin, end) of the object was asked for. If it goes on where an earlier one ended, the stripes
  // after it are fetched.
  static void Note(const std::shared_ptr<ReadAhead>& self, const ReadContext& context, uint64_t begin,
                   uint64_t end);

  // Lets go of stripes that have arrived.
  void Clear();

 private:
  using StripePtr = std::shared_ptr<const StripeData>;
  struct Entry {
    bool loading = true;
    StripePtr data;
    std::vector<UniqueFunction<void(StripePtr)>> waiters;  // while loading
    TimerId timer = 0;
  };

  bool ContinuesStream(uint64_t begin, uint64_t end);
  void MakeRoom(uint64_t stripe_now);
  static Task<void> Fetch(std::shared_ptr<ReadAhead> self, ReadContext context, uint64_t stripe);
  void Drop(std::map<uint64_t, Entry>::iterator entry);

  Executor& executor_;
  const size_t stripes_max_;
  std::mutex mutex_;
  std::map<uint64_t, Entry> entries_;  // guarded by mutex_, as the next
  std::vector<uint64_t> stream_ends_;  // oldest first
};

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// SliceCache: payload that several readers want, kept in memory of the budget; one fetch serves all that ask
// for the same at the same time. What is kept never holds anybody up (promise P7): the budget takes it back
// whenever it has too little for a request.
#pragma once

#include <compare>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.hh"
#include "runtime/buffer.hh"
#include "runtime/task.hh"

namespace xec {

// Thread-safe. Entries are read-only and live as long as somebody holds them, whether or not they are still
// kept here.
//
// INV-1  Nothing is kept while somebody waits for memory: every addition to the cache looks at the waiters
//        under mutex_, and a new waiter asks for memory back after that (ByteBudget::SetReclaim).
class SliceCache : public std::enable_shared_from_this<SliceCache> {
 public:
  struct Key {
    std::string object;  // one version of one object
    uint64_t stripe = 0;
    auto operator<=>(const Key&) const = default;
  };
  // Each slice has a buffer of its own.
  struct Value {
    std::vector<Slice> slices;
  };
  using ValuePtr = std::shared_ptr<const Value>;

  // What was fetched ahead and not used for so long is not expected to be any more; looked at when something
  // is fetched ahead.
  static constexpr Duration kAheadMax = std::chrono::seconds(10);

  // Keeps at most `kept_bytes_max` of what has been used, of what has not at most half of the budget.
  // `budget` outlives the cache, and is told to ask it for memory.
  static std::shared_ptr<SliceCache> Make(ByteBudget& budget, Executor& executor, uint64_t kept_bytes_max);
  // Use Make.
  SliceCache(ByteBudget& budget, Executor& executor, uint64_t kept_bytes_max)
      : budget_(budget), executor_(executor), kept_bytes_max_(kept_bytes_max) {}

  // What is here, or on its way and arrives well. nullptr: neither.
  static Task<ValuePtr> Find(std::shared_ptr<SliceCache> self, Key key);

  // True: it is not here, and the caller will fetch it and call Arrived, whatever happens. False: Find it.
  bool Claim(const Key& key);
  // Ends a claim. null: it could not be had. Keeps it as not used yet.
  void Arrived(const Key& key, ValuePtr value);

  // A reader has got all it wanted of this. It is kept only as far as kept_bytes_max allows from now on.
  void Used(const Key& key);
  // Somebody begins, or ends, to read `object`. Once the last reader has ended nobody is expected to use what
  // of it is here and not used yet: as Used for all of it.
  void BeginReader(const std::string& object);
  void EndReader(const std::string& object);

  // Bytes of the budget in what is kept though nobody is known to want it.
  uint64_t kept_bytes();

 private:
  enum class State { kLoading, kAhead, kKept };
  struct Entry {
    State state = State::kLoading;
    ValuePtr value;
    uint64_t bytes = 0;  // of the budget, in the value
    TimePoint arrived;
    std::vector<UniqueFunction<void(ValuePtr)>> waiters;  // while loading
    std::list<Key>::iterator place;  // in ahead_ or kept_, by its state
  };
  using Entries = std::map<Key, Entry>;
  // Kept alive until after the unlock: their end gives memory back, which may run anything.
  using Dropped = std::vector<ValuePtr>;

  void Reclaim(uint64_t bytes);
  // From ahead_ to kept_. DropExcess must follow.
  void Keep(Entry& entry) XEC_REQUIRES(mutex_);
  void DropExcess(Dropped& dropped) XEC_REQUIRES(mutex_);
  void DropOldest(std::list<Key>& order, Dropped& dropped) XEC_REQUIRES(mutex_);

  ByteBudget& budget_;
  Executor& executor_;
  const uint64_t kept_bytes_max_;
  Mutex mutex_{LockRank::kSliceCache};
  Entries entries_ XEC_GUARDED_BY(mutex_);
  std::map<std::string, size_t> readers_ XEC_GUARDED_BY(mutex_);  // of each object that has any
  std::list<Key> ahead_ XEC_GUARDED_BY(mutex_);  // fetched and not used yet, oldest first
  std::list<Key> kept_ XEC_GUARDED_BY(mutex_);  // used, the one whose last use is longest ago first
  uint64_t ahead_bytes_ XEC_GUARDED_BY(mutex_) = 0;
  uint64_t kept_bytes_ XEC_GUARDED_BY(mutex_) = 0;
};

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "runtime/slice_cache.hh"

namespace xec {

std::shared_ptr<SliceCache> SliceCache::Make(ByteBudget& budget, Executor& executor,
                                             uint64_t kept_bytes_max) {
  auto cache = std::make_shared<SliceCache>(budget, executor, kept_bytes_max);
  budget.SetReclaim([weak = std::weak_ptr(cache)](uint64_t bytes) {
    if (const auto alive = weak.lock()) alive->Reclaim(bytes);
  });
  return cache;
}

Task<SliceCache::ValuePtr> SliceCache::Find(std::shared_ptr<SliceCache> self, Key key) {
  OneShot<ValuePtr> arrived;
  {
    MutexLock lock(self->mutex_);
    const auto found = self->entries_.find(key);
    if (found == self->entries_.end()) co_return nullptr;
    Entry& entry = found->second;
    if (entry.state != State::kLoading) {
      if (entry.state == State::kKept) self->kept_.splice(self->kept_.end(), self->kept_, entry.place);
      co_return entry.value;
    }
    entry.waiters.emplace_back(arrived.Setter());
  }
  ValuePtr value = co_await arrived;
  co_return std::move(value);
}

bool SliceCache::Claim(const Key& key) {
  MutexLock lock(mutex_);
  return entries_.try_emplace(key).second;
}

void SliceCache::Arrived(const Key& key, ValuePtr value) {
  std::vector<UniqueFunction<void(ValuePtr)>> waiters;
  Dropped dropped;
  {
    MutexLock lock(mutex_);
    const auto entry = entries_.find(key);
    waiters.swap(entry->second.waiters);
    if (value != nullptr && budget_.waiting() == 0) {
      entry->second.state = State::kAhead;
      entry->second.value = value;
      for (const Slice& slice : value->slices) {
        if (slice.buffer) entry->second.bytes += slice.buffer->leased_bytes();
      }
      entry->second.arrived = executor_.Now();
      entry->second.place = ahead_.insert(ahead_.end(), key);
      ahead_bytes_ += entry->second.bytes;
      while (ahead_bytes_ > budget_.limit() / 2) DropOldest(ahead_, dropped);
    } else {
      entries_.erase(entry);
    }
  }
  for (auto& waiter : waiters) waiter(value);
}

void SliceCache::Used(const Key& key) {
  Dropped dropped;
  MutexLock lock(mutex_);
  const auto entry = entries_.find(key);
  if (entry == entries_.end() || entry->second.state != State::kAhead) return;
  Keep(entry->second);
  DropExcess(dropped);
}

void SliceCache::BeginReader(const std::string& object) {
  MutexLock lock(mutex_);
  ++readers_[object];
}

void SliceCache::EndReader(const std::string& object) {
  Dropped dropped;
  MutexLock lock(mutex_);
  const auto readers = readers_.find(object);
  XEC_CHECK(readers != readers_.end());
  if (--readers->second > 0) return;
  readers_.erase(readers);
  for (auto entry = entries_.lower_bound({object, 0});
       entry != entries_.end() && entry->first.object == object; ++entry) {
    if (entry->second.state == State::kAhead) Keep(entry->second);
  }
  // Not before: it may drop any entry, that of the loop as well.
  DropExcess(dropped);
}

void SliceCache::Keep(Entry& entry) {
  kept_.splice(kept_.end(), ahead_, entry.place);
  entry.state = State::kKept;
  ahead_bytes_ -= entry.bytes;
  kept_bytes_ += entry.bytes;
}

void SliceCache::DropExcess(Dropped& dropped) {
  while (kept_bytes_ > kept_bytes_max_) DropOldest(kept_, dropped);
}

void SliceCache::DropOldest(std::list<Key>& order, Dropped& dropped) {
  const auto entry = entries_.find(order.front());
  (&order == &kept_ ? kept_bytes_ : ahead_bytes_) -= entry->second.bytes;
  dropped.push_back(std::move(entry->second.value));
  entries_.erase(entry);
  order.pop_front();
}

void SliceCache::Reclaim(uint64_t bytes) {
  Dropped dropped;
  MutexLock lock(mutex_);
  uint64_t given = 0;
  while (given < bytes && !(kept_.empty() && ahead_.empty())) {
    std::list<Key>& order = kept_.empty() ? ahead_ : kept_;
    given += entries_.find(order.front())->second.bytes;
    DropOldest(order, dropped);
  }
}

uint64_t SliceCache::kept_bytes() {
  Dropped dropped;
  MutexLock lock(mutex_);
  while (!ahead_.empty()) {
    Entry& oldest = entries_.find(ahead_.front())->second;
    if (executor_.Now() - oldest.arrived < kAheadMax) break;
    Keep(oldest);
  }
  DropExcess(dropped);
  return kept_bytes_;
}

}  // namespace xec

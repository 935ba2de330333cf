// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/read_ahead.hh"

#include <algorithm>

namespace xec {

ReadAhead::~ReadAhead() {
  for (const auto& [stripe, entry] : entries_) {
    if (entry.timer != 0) executor_.Cancel(entry.timer);
  }
}

Task<std::shared_ptr<const StripeData>> ReadAhead::Find(std::shared_ptr<ReadAhead> self, uint64_t stripe) {
  OneShot<StripePtr> arrived;
  {
    std::lock_guard lock(self->mutex_);
    const auto found = self->entries_.find(stripe);
    if (found == self->entries_.end()) co_return nullptr;
    if (!found->second.loading) co_return found->second.data;
    found->second.waiters.emplace_back(arrived.Setter());
  }
  StripePtr data = co_await arrived;
  co_return std::move(data);
}

void ReadAhead::Drop(std::map<uint64_t, Entry>::iterator entry) {
  if (entry->second.timer != 0) executor_.Cancel(entry->second.timer);
  entries_.erase(entry);
}

void ReadAhead::Clear() {
  std::lock_guard lock(mutex_);
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    if (!entry->second.loading) Drop(entry);
    entry = next;
  }
}

bool ReadAhead::ContinuesStream(uint64_t begin, uint64_t end) {
  const auto known = std::find(stream_ends_.begin(), stream_ends_.end(), begin);
  const bool continues = known != stream_ends_.end();
  if (continues) {
    stream_ends_.erase(known);
  } else if (stream_ends_.size() >= kStreamsMax) {
    stream_ends_.erase(stream_ends_.begin());
  }
  stream_ends_.push_back(end);
  return continues;
}

// Drops what the stream at `stripe_now` has passed.
void ReadAhead::MakeRoom(uint64_t stripe_now) {
  for (auto entry = entries_.begin(); entry != entries_.end() && entry->first < stripe_now;) {
    const auto next = std::next(entry);
    if (!entry->second.loading) Drop(entry);
    entry = next;
  }
}

void ReadAhead::Note(const std::shared_ptr<ReadAhead>& self, const ReadContext& context, uint64_t begin,
                     uint64_t end) {
  const uint64_t size = context.manifest->size_bytes;
  const uint64_t stripe_size = context.geometry().StripeSize();
  std::vector<uint64_t> fetch;
  {
    std::lock_guard lock(self->mutex_);
    if (!self->ContinuesStream(begin, end)) return;
    self->MakeRoom(begin / stripe_size);
    // The stripe in which the read ends is read as asked; the next ones will be wanted whole.
    const uint64_t first = (end + stripe_size - 1) / stripe_size;
    for (uint64_t stripe = first; stripe < first + self->stripes_max_ && stripe * stripe_size < size;
         ++stripe) {
      if (self->entries_.size() >= self->stripes_max_) break;
      if (self->entries_.try_emplace(stripe).second) fetch.push_back(stripe);
    }
  }
  for (const uint64_t stripe : fetch) context.engine().scope().Spawn(Fetch(self, context, stripe));
}

Task<void> ReadAhead::Fetch(std::shared_ptr<ReadAhead> self, ReadContext context, uint64_t stripe) {
  Result<StripeData> fetched = co_await FetchStripe(context, stripe);
  StripePtr data;
  if (fetched) data = std::make_shared<const StripeData>(std::move(*fetched));
  std::vector<UniqueFunction<void(StripePtr)>> waiters;
  {
    std::lock_guard lock(self->mutex_);
    const auto entry = self->entries_.find(stripe);
    waiters.swap(entry->second.waiters);
    if (data) {
      entry->second.loading = false;
      entry->second.data = data;
      const std::weak_ptr<ReadAhead> weak = self;
      entry->second.timer =
          self->executor_.RunAt(self->executor_.Now() + kIdleMax, [weak, stripe, data = data.get()] {
            const std::shared_ptr<ReadAhead> alive = weak.lock();
            if (!alive) return;
            std::lock_guard relock(alive->mutex_);
            const auto found = alive->entries_.find(stripe);
            if (found == alive->entries_.end() || found->second.data.get() != data) return;
            found->second.timer = 0;
            alive->Drop(found);
          });
    } else {
      self->entries_.erase(entry);
    }
  }
  for (auto& waiter : waiters) waiter(data);
}

}  // namespace xec

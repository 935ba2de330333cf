// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/read_ahead.hh"

#include <algorithm>

namespace xec {
namespace {

// Does a read of [begin, end) need the stripe whole? One that begins with the object is taken for the first
// of a stream if it is long enough.
bool NeedsWhole(const ReadContext& context, uint64_t stripe, uint64_t begin, uint64_t end) {
  const Geometry& geometry = context.geometry();
  const uint64_t start = stripe * geometry.StripeSize();
  const uint64_t stop = std::min(context.manifest->size_bytes, start + geometry.StripeSize());
  return begin <= start && (end >= stop || (begin == 0 && end - start >= geometry.chunk_size_bytes));
}

}  // namespace

ReadAhead::ReadAhead(std::shared_ptr<SliceCache> cache, std::string object, size_t stripes_max)
    : cache_(std::move(cache)), object_(std::move(object)), stripes_max_(stripes_max) {
  cache_->BeginReader(object_);
}

ReadAhead::~ReadAhead() { cache_->EndReader(object_); }

bool ReadAhead::ContinuesStream(uint64_t begin, uint64_t end) {
  std::lock_guard lock(mutex_);
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

void ReadAhead::Note(const std::shared_ptr<ReadAhead>& self, const ReadContext& context, uint64_t begin,
                     uint64_t end) {
  const uint64_t stripe_size = context.geometry().StripeSize();
  Advance(self, context, begin / stripe_size, begin, end);
  if (!self->ContinuesStream(begin, end)) return;
  // The stripe in which the read ends is read as asked; the next ones will be wanted whole.
  const uint64_t first = (end + stripe_size - 1) / stripe_size;
  for (uint64_t stripe = first; stripe < first + self->stripes_max_; ++stripe) {
    if (stripe * stripe_size >= context.manifest->size_bytes) return;
    Start(self, context, stripe);
  }
}

void ReadAhead::Advance(const std::shared_ptr<ReadAhead>& self, const ReadContext& context, uint64_t stripe,
                        uint64_t begin, uint64_t end) {
  const uint64_t stripe_size = context.geometry().StripeSize();
  for (uint64_t next = stripe; next < stripe + self->stripes_max_ && next * stripe_size < end; ++next) {
    if (NeedsWhole(context, next, begin, end)) Start(self, context, next);
  }
}

void ReadAhead::Start(const std::shared_ptr<ReadAhead>& self, const ReadContext& context, uint64_t stripe) {
  if (!self->cache_->Claim({self->object_, stripe})) return;
  context.engine().scope().Spawn(Fetch(self, context, stripe));
}

Task<void> ReadAhead::Fetch(std::shared_ptr<ReadAhead> self, ReadContext context, uint64_t stripe) {
  Result<SliceCache::Value> fetched = co_await FetchStripe(context, stripe);
  SliceCache::ValuePtr value;
  if (fetched) value = std::make_shared<const SliceCache::Value>(std::move(*fetched));
  self->cache_->Arrived({self->object_, stripe}, std::move(value));
}

}  // namespace xec

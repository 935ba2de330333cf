// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/read/read_ahead.hh"

#include <algorithm>

namespace xec {
namespace {

// Does a read of [begin, end) need the stripe whole? One that begins with the object is taken for the first
// of a stream if it is long enough.
bool NeedsWhole(const Geometry& geometry, const StripeExtent& extent, uint64_t begin, uint64_t end) {
  return begin <= extent.begin &&
         (end >= extent.end() || (begin == 0 && end - extent.begin >= geometry.chunk_size_bytes));
}

}  // namespace

ReadAhead::ReadAhead(std::shared_ptr<SliceCache> cache, std::string object, size_t stripes_max)
    : cache_(std::move(cache)), object_(std::move(object)), stripes_max_(stripes_max) {
  cache_->BeginReader(object_);
}

ReadAhead::~ReadAhead() { cache_->EndReader(object_); }

bool ReadAhead::ContinuesStream(uint64_t begin, uint64_t end) {
  MutexLock lock(mutex_);
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
  Advance(self, context, begin, begin, end);
  if (!self->ContinuesStream(begin, end)) return;
  // The stripe in which the read ends is read as asked; the next ones will be wanted whole.
  const StripeMap stripes = context.stripes();
  uint64_t at = stripes.At(end - 1).end();
  for (size_t started = 0; started < self->stripes_max_ && at < stripes.object_size(); ++started) {
    const StripeExtent next = stripes.At(at);
    Start(self, context, next.stripe);
    at = next.end();
  }
}

void ReadAhead::Advance(const std::shared_ptr<ReadAhead>& self, const ReadContext& context, uint64_t from,
                        uint64_t begin, uint64_t end) {
  const StripeMap stripes = context.stripes();
  uint64_t at = from;
  for (size_t looked = 0; looked < self->stripes_max_ && at < end; ++looked) {
    const StripeExtent next = stripes.At(at);
    if (NeedsWhole(context.geometry(), next, begin, end)) Start(self, context, next.stripe);
    at = next.end();
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

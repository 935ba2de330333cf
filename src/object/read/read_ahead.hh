// SPDX-License-Identifier: LGPL-3.0-or-later
// ReadAhead: whole stripes fetched before they are asked for, of one open version, into the cache that all
// readers share. It never waits for budget: a client that stalls holds nobody up (promise P7).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/mutex.hh"
#include "object/read/stripe_reader.hh"
#include "runtime/slice_cache.hh"

namespace xec {

// Thread-safe.
class ReadAhead : public std::enable_shared_from_this<ReadAhead> {
 public:
  // Streams of one handle that are told apart.
  static constexpr size_t kStreamsMax = 16;

  // At most `stripes_max` stripes of each stream are ahead of it. `object` names the version in the cache.
  ReadAhead(std::shared_ptr<SliceCache> cache, std::string object, size_t stripes_max);
  ~ReadAhead();

  // The stripe if it is here, or on its way and arrives well; nullptr: read it yourself.
  Task<SliceCache::ValuePtr> Find(uint64_t stripe) { return SliceCache::Find(cache_, {object_, stripe}); }

  // A read of [begin, end) of the object was asked for. Fetches the first of the stripes that it needs whole,
  // and if it goes on where an earlier one ended, those after it.
  static void Note(const std::shared_ptr<ReadAhead>& self, const ReadContext& context, uint64_t begin,
                   uint64_t end);
  // The read [begin, end) has come to `from`: fetches the next of those that it needs whole.
  static void Advance(const std::shared_ptr<ReadAhead>& self, const ReadContext& context, uint64_t from,
                      uint64_t begin, uint64_t end);

  // A read has got the end of the stripe.
  void Passed(uint64_t stripe) { cache_->Used({object_, stripe}); }

 private:
  bool ContinuesStream(uint64_t begin, uint64_t end);
  // Unless it is here or on its way.
  static void Start(const std::shared_ptr<ReadAhead>& self, const ReadContext& context, uint64_t stripe);
  static Task<void> Fetch(std::shared_ptr<ReadAhead> self, ReadContext context, uint64_t stripe);

  const std::shared_ptr<SliceCache> cache_;
  const std::string object_;
  const size_t stripes_max_;
  Mutex mutex_;
  std::vector<uint64_t> stream_ends_ XEC_GUARDED_BY(mutex_);  // oldest first
};

}  // namespace xec

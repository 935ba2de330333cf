// SPDX-License-Identifier: LGPL-3.0-or-later
#include "mount/listing_cache.hh"

#include <algorithm>

namespace xec {

bool ListingCache::Expired(const Listing& listing, Time now) const {
  if (listing.pages.empty()) return false;
  if (now - listing.begun > std::max<Time::duration>(valid_, kWholeMax)) return true;
  return listing.readings == 0 &&
         now - listing.last > std::max<Time::duration>(valid_, listing.last - listing.begun);
}

void ListingCache::Clear(Listing& listing) {
  names_ -= listing.names;
  listing.names = 0;
  listing.pages.clear();
}

// One that is being read stays, without its pages, as that which counts its changes.
ListingCache::Listings::iterator ListingCache::Drop(Listings::iterator listing) {
  Clear(listing->second);
  return listing->second.readings > 0 ? std::next(listing) : listings_.erase(listing);
}

std::shared_ptr<const TreePage> ListingCache::Find(const std::string& directory, const std::string& after,
                                                   Time now) {
  const MutexLock lock(mutex_);
  const auto listing = listings_.find(directory);
  if (listing == listings_.end()) return nullptr;
  if (Expired(listing->second, now)) {
    Drop(listing);
    return nullptr;
  }
  const auto page = listing->second.pages.find(after);
  return page == listing->second.pages.end() ? nullptr : page->second;
}

uint64_t ListingCache::BeginReading(const std::string& directory, Time now) {
  const MutexLock lock(mutex_);
  Listing& listing = listings_[directory];
  if (Expired(listing, now)) Clear(listing);
  if (listing.pages.empty() && listing.readings == 0) listing.begun = now;
  ++listing.readings;
  return listing.changes;
}

void ListingCache::EndReading(const std::string& directory, uint64_t begun, const std::string& after,
                              std::optional<TreePage> page, Time now) {
  const MutexLock lock(mutex_);
  const auto read = listings_.find(directory);
  Listing& listing = read->second;
  if (Expired(listing, now)) Clear(listing);
  --listing.readings;
  if (const auto before = listing.pages.find(after); before != listing.pages.end()) {
    names_ -= before->second->names.size();
    listing.names -= before->second->names.size();
    listing.pages.erase(before);
  }
  const size_t more = page ? page->names.size() : 0;
  for (auto one = listings_.begin(); one != listings_.end();) {
    const bool goes = one != read && (Expired(one->second, now) || names_ + more > names_max_);
    one = goes ? Drop(one) : std::next(one);
  }
  if (page && listing.changes == begun && names_ + more <= names_max_ && valid_ > Milliseconds::zero()) {
    listing.last = now;
    names_ += more;
    listing.names += more;
    listing.pages[after] = std::make_shared<const TreePage>(*std::move(page));
  }
  if (listing.pages.empty()) Drop(read);
}

void ListingCache::Forget(const std::string& directory) {
  const MutexLock lock(mutex_);
  const auto listing = listings_.find(directory);
  if (listing == listings_.end()) return;
  ++listing->second.changes;
  Drop(listing);
}

void ListingCache::ForgetBelow(const std::string& directory) {
  const MutexLock lock(mutex_);
  const std::string below = directory + "/";
  for (auto one = listings_.lower_bound(directory);
       one != listings_.end() && one->first.starts_with(directory);) {
    const bool gone = one->first == directory || one->first.starts_with(below);
    if (gone) ++one->second.changes;
    one = gone ? Drop(one) : std::next(one);
  }
}

void ListingCache::ForgetAll() {
  const MutexLock lock(mutex_);
  for (auto one = listings_.begin(); one != listings_.end();) {
    ++one->second.changes;
    one = Drop(one);
  }
}

size_t ListingCache::names() const {
  const MutexLock lock(mutex_);
  return names_;
}

}  // namespace xec

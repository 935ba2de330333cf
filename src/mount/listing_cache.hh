// SPDX-License-Identifier: LGPL-3.0-or-later
// ListingCache: what directories held when they were listed last, for a while.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/mutex.hh"
#include "mount/tree.hh"

namespace xec {

// Thread-safe; does not block. A listing is known for `valid` after its last page was read, or for as long as
// that took, if it is longer: a program that reads a large directory has old pages as well. None is known for
// longer than kWholeMax, or `valid` if that is more. `valid` 0: nothing is known.
class ListingCache {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Milliseconds = std::chrono::milliseconds;
  static constexpr Milliseconds kWholeMax = std::chrono::seconds(60);
  static constexpr size_t kNamesMax = 200'000;  // of all listings; they take some 200 bytes each

  explicit ListingCache(Milliseconds valid, size_t names_max = kNamesMax)
      : valid_(valid), names_max_(names_max) {}

  // The page of names above `after`. Null: it is not known.
  std::shared_ptr<const TreePage> Find(const std::string& directory, const std::string& after, Time now);

  // Around the reading of a page: what the directory is like while it is read is not kept if it changes
  // meanwhile.
  uint64_t BeginReading(const std::string& directory, Time now);
  // `page` nullopt: it could not be read.
  void EndReading(const std::string& directory, uint64_t begun, const std::string& after,
                  std::optional<TreePage> page, Time now);

  // Something in it has changed.
  void Forget(const std::string& directory);
  // It has another name now, or none, and all below it.
  void ForgetBelow(const std::string& directory);
  void ForgetAll();

  size_t names() const;

 private:
  struct Listing {
    std::map<std::string, std::shared_ptr<const TreePage>> pages;  // by the name above which they begin
    size_t names = 0;
    Time begun, last;  // when the first reading began, and the last one ended
    size_t readings = 0;
    uint64_t changes = 0;
  };
  using Listings = std::map<std::string, Listing>;

  bool Expired(const Listing& listing, Time now) const;
  void Clear(Listing& listing) XEC_REQUIRES(mutex_);
  Listings::iterator Drop(Listings::iterator listing) XEC_REQUIRES(mutex_);

  const Milliseconds valid_;
  const size_t names_max_;
  mutable Mutex mutex_;
  Listings listings_ XEC_GUARDED_BY(mutex_);
  size_t names_ XEC_GUARDED_BY(mutex_) = 0;
};

}  // namespace xec

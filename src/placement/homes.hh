// SPDX-License-Identifier: LGPL-3.0-or-later
// Where a name is decided (its homes) and where a version's chunks lie (its placement). Pure functions.
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "placement/store_descriptor.hh"

namespace xec {

constexpr size_t Quorum(size_t homes) { return homes / 2 + 1; }

// The homes of one name, best first. Does not change, and is cheap to copy: copies share the list.
class Homes {
 public:
  Homes(std::vector<MemberIndex> best_first)
      : members_(std::make_shared<const std::vector<MemberIndex>>(std::move(best_first))) {}
  Homes(std::initializer_list<MemberIndex> best_first) : Homes(std::vector<MemberIndex>(best_first)) {}

  size_t size() const { return members_->size(); }
  // Decisions need so many of them, so that any two quorums share a home.
  size_t quorum() const { return Quorum(size()); }
  MemberIndex front() const { return members_->front(); }
  MemberIndex back() const { return members_->back(); }
  MemberIndex operator[](size_t i) const { return (*members_)[i]; }
  auto begin() const { return members_->begin(); }
  auto end() const { return members_->end(); }
  // For who goes on with a list of its own.
  operator const std::vector<MemberIndex>&() const { return *members_; }
  friend bool operator==(const Homes& a, const Homes& b) { return *a.members_ == *b.members_; }

 private:
  std::shared_ptr<const std::vector<MemberIndex>> members_;
};

// Finds the homes of names: an unweighted rendezvous hash of the last path component over the members, best
// first. There are min(2t+1, members) of them. The key is the last component, not the path, so that renaming
// a directory keeps every home below it. What does not depend on the name is computed once. Immutable.
class HomeFinder {
 public:
  explicit HomeFinder(const StoreDescriptor& descriptor);

  Homes Of(std::string_view last_component) const;
  // How many homes each name has.
  size_t count() const { return count_; }

 private:
  const size_t count_;
  std::vector<uint64_t> hashes_;  // of the members' ids
};

// All members in the order in which they are to get the lanes of a new version: the homes first, so that
// every version has archives on all homes it can; the others follow by a hash of `salt` (the object id),
// which spreads load.
std::vector<MemberIndex> PlacementOrder(const StoreDescriptor& descriptor, std::span<const MemberIndex> homes,
                                        std::string_view salt);

// Chooses `lanes` of the candidates, first ones first. No host gets more than `per_host_max` lanes while that
// can be avoided; `taken` have a lane already. Fewer than `lanes` are returned when there are fewer
// candidates.
std::vector<MemberIndex> PlaceLanes(const StoreDescriptor& descriptor,
                                    std::span<const MemberIndex> candidates, size_t lanes,
                                    size_t per_host_max, std::span<const MemberIndex> taken = {});

}  // namespace xec

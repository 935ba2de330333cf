// SPDX-License-Identifier: LGPL-3.0-or-later
// Where a name is decided (its homes) and where a version's chunks lie (its placement). Pure functions.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
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

// Finds the homes of names: an unweighted rendezvous hash of the last path component over the members with
// names, best first. There are min(2t+1, members) of them. The key is the last component, not the path, so
// that renaming a directory keeps every home below it. While a member joins or leaves, those of both lists
// are homes: one more than before at most, so that any quorum of them has a quorum of each list in it
// (docs/protocol/members.md). What does not depend on the name is computed once. Immutable.
class HomeFinder {
 public:
  explicit HomeFinder(const StoreDescriptor& descriptor);

  Homes Of(std::string_view last_component) const;
  // Of(...).quorum(), at little cost while nobody joins or leaves.
  size_t QuorumOf(std::string_view last_component) const;
  // Those of the list without members that leave: all homes there will be.
  Homes AfterChange(std::string_view last_component) const;

  // How many servers may be silent before all homes that have accepted some name could be. While the list
  // changes, names that have not been looked at since stand on a quorum of the list before only.
  size_t silent_max() const;
  // How many homes of any name may be bad.
  size_t late_max() const;

 private:
  // The members over which names are hashed, by one list.
  struct Voters {
    std::vector<MemberIndex> members;
    std::vector<uint64_t> hashes;  // of their ids
    size_t count = 0;              // of homes
    std::vector<MemberIndex> Best(std::string_view key) const;
  };
  template <typename Belongs>
  static Voters VotersOf(const StoreDescriptor& descriptor, Belongs belongs);

  Voters after_;
  std::optional<Voters> before_;  // while somebody joins or leaves
};

// What stands for members in the name of a file: kMarkChars letters, digits, '-' or '_' for each, by a hash
// of its id, so that other lists of members understand it.
inline constexpr size_t kMarkChars = 4;
std::string MarksOf(const StoreDescriptor& descriptor, std::span<const MemberIndex> members);
// Those of the homes that are among the marks.
std::vector<MemberIndex> MarkedHomes(const StoreDescriptor& descriptor, const Homes& homes,
                                     std::string_view marks);

// The members in the order in which they are to get the lanes of a new version: the homes first, so that
// every version has archives on all homes it can; the others follow by a hash of `salt` (the object id),
// which spreads load. `weights`, by member: the chance of each of the others to be the next one is in
// proportion to its own; empty: all are alike, in an order that depends on nothing but hashes. One that
// leaves comes last, and one that is emptied not at all.
std::vector<MemberIndex> PlacementOrder(const StoreDescriptor& descriptor, std::span<const MemberIndex> homes,
                                        std::string_view salt, std::span<const double> weights = {});

// Chooses `lanes` of the candidates, first ones first. No host gets more than `per_host_max` lanes while that
// can be avoided; `taken` have a lane already. Fewer than `lanes` are returned when there are fewer
// candidates.
std::vector<MemberIndex> PlaceLanes(const StoreDescriptor& descriptor,
                                    std::span<const MemberIndex> candidates, size_t lanes,
                                    size_t per_host_max, std::span<const MemberIndex> taken = {});

}  // namespace xec

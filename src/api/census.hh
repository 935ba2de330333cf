// SPDX-License-Identifier: LGPL-3.0-or-later
// Census: how many further losses of servers every object survives, counted from the archives themselves: of
// all objects that stand on the servers, also where listings do not find them.
//
// Every archive of every object is opened and its end is read: it must belong to the version, and its
// directory must show each chunk with the right size within the file. What that does not see is damage inside
// chunks: a deep census reads and checks every byte. Both layouts.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.hh"
#include "codec/geometry.hh"
#include "placement/store_descriptor.hh"

namespace xec {

// How many servers may be lost, the worst ones, before fewer than `needed` chunks of a stripe are left; -1:
// there are fewer already. `servers`: of each good chunk, in any order.
int LossesSurvived(std::vector<MemberIndex> servers, size_t needed);

// Those servers of them whose loss alone leaves fewer than `needed`, ascending; none where there are fewer
// already.
std::vector<MemberIndex> NoneToSpare(const std::vector<MemberIndex>& servers, size_t needed);

// What is left of one object.
struct Redundancy {
  Geometry geometry;
  uint64_t bytes = 0;
  int survives = 0;  // further losses that its worst stripe survives: m is full, -1 is unreadable
  bool away = false;  // chunks are missing on servers that do not answer: there may be more than was counted
  std::string problem = {};  // of the worst stripe; empty when full
  std::set<MemberIndex> critical = {};  // the loss of any one of them makes it unreadable

  bool Full() const { return survives == static_cast<int>(geometry.parity_chunks); }
  bool Lost() const { return survives < 0 && !away; }
};

// The sum over many objects. Pure.
class Census {
 public:
  static constexpr size_t kThinTold = 1'000'000;  // objects that lack something, remembered by name
  struct Count {
    uint64_t objects = 0;
    uint64_t bytes = 0;
    bool operator==(const Count&) const = default;
  };
  struct Thin {
    std::string path;
    Redundancy left;
  };
  struct Unlisted {
    std::string directory;
    std::string problem;
  };
  // Objects of one geometry by how many losses they survive; -1: unreadable now; -2: lost.
  struct OfGeometry {
    Geometry geometry;
    std::map<int, Count> survive;
  };

  void Add(const std::string& path, Redundancy left);
  // One that cannot be counted: too few servers answer, or no manifest of it is left.
  void AddUncounted(const std::string& path, const Error& error);
  // One that stands on the servers below a directory that is gone, so that no listing finds it; it is counted
  // besides.
  void AddOutside(const std::string& path) { outside_.push_back(path); }
  // A directory that cannot be listed now: nobody knows what is below.
  void AddUnlisted(const std::string& directory, const Error& error);

  Count total() const;  // of all that were counted
  uint64_t full() const { return full_; }
  uint64_t lost() const { return lost_; }
  uint64_t thin() const { return thin_; }  // all that are not full, the lost ones included
  uint64_t away() const { return away_; }  // of these: it depends on servers that do not answer
  // Objects that could not be read any more if just this server were lost now.
  Count WithNextLoss(MemberIndex server) const;
  // The count is complete only if there are none.
  const std::vector<Unlisted>& unlisted() const { return unlisted_; }
  const std::vector<std::string>& outside() const { return outside_; }
  const std::vector<OfGeometry>& geometries() const { return geometries_; }
  // The worst first once Sort was called.
  const std::vector<Thin>& names() const { return names_; }
  void Sort();

 private:
  std::vector<OfGeometry> geometries_;
  std::vector<Thin> names_;
  std::map<MemberIndex, Count> next_loss_;
  std::vector<Unlisted> unlisted_;
  std::vector<std::string> outside_;
  uint64_t full_ = 0, lost_ = 0, thin_ = 0, away_ = 0;
};

}  // namespace xec

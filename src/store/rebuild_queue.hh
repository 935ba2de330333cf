// SPDX-License-Identifier: LGPL-3.0-or-later
// RebuildQueue: objects that a rebuild has found to lack archives, until one after the other is repaired:
// those first that survive the fewest further losses, and of these whichever chance chooses: so of two
// rebuilds at once each finds done what the other one has done. It also knows up to where all is done, though
// objects are not done in the order in which they are found. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "api/rebuild.hh"

namespace xec {

class RebuildQueue {
 public:
  // So many are known ahead of their repair: the order is the best one among these.
  static constexpr size_t kObjectsMax = 4096;

  struct Object {
    std::string path;
    bool outside = false;  // no listing finds it
    std::vector<MemberIndex> shown_on = {};  // of these servers
    int survives = 0;  // further losses, at least
    uint64_t bytes = 0;  // to be written
    uint64_t number = 0;  // of those that were begun, in the order of the walk
    uint64_t chance = 0;  // a random number
    std::vector<LaneMove> moves = {};  // in place of repairs
  };

  // The walk has come to an object, which is open until Close.
  uint64_t Begin(std::string path);
  // It lacks something.
  void Add(Object object);
  bool HasRoom() const { return waiting_.size() < kObjectsMax; }
  size_t size() const { return waiting_.size(); }
  std::optional<Object> Take();
  // Nothing is left to do for the object now.
  void Close(uint64_t number) { open_.erase(number); }

  // The first object of the walk that is open, or `next` if none is: a rebuild that begins there misses none.
  std::string From(const std::string& next) const { return open_.empty() ? next : open_.begin()->second; }

 private:
  struct ByNeed {
    bool operator()(const Object& a, const Object& b) const {
      return std::tie(a.survives, a.chance, a.number) < std::tie(b.survives, b.chance, b.number);
    }
  };
  std::set<Object, ByNeed> waiting_;
  std::map<uint64_t, std::string> open_;  // by number
  uint64_t next_ = 0;
};

// Does a walk, which visits the names of a directory in order and what is below each of them at once, come to
// `path` before it comes to `other`?
bool IsBefore(const std::string& path, const std::string& other);

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// What a store can do without some of its data servers: for the name and the object that are hit worst, and
// for how many of them. It speaks of objects as they are written by this list of members, with all of these
// there; which chunks of those that exist are still there only a census knows. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "placement/homes.hh"
#include "placement/store_descriptor.hh"

namespace xec {

// Objects of one geometry, in a store.
struct PlannedObjects {
  Geometry geometry;
  size_t archives_min = 0;  // an upload that gets fewer fails
};

// Without some of the members, whatever name and object is meant.
struct StoreRemains {
  size_t chunks_lost = 0;  // of a stripe, at most
  bool readable = false;   // chunks enough are left
  bool decidable = false;  // a quorum of the homes is left, and enough members to confirm their list
  // So many archives an object gets that is put now; fewer than archives_min: none can be put.
  size_t archives = 0;
  bool writable = false;
  bool full = false;  // with all archives that the geometry says
};
StoreRemains WhatIsLeft(const StoreDescriptor& descriptor, const PlannedObjects& objects,
                        std::span<const MemberIndex> lost);

// Hosts and other servers that are lost at the same time.
struct Loss {
  size_t hosts = 0;
  size_t servers = 0;
};
// Those members of which the store has to fear most that they are these; fewer if there are fewer. Members
// that are being emptied count for nothing.
std::vector<MemberIndex> WorstLoss(const StoreDescriptor& descriptor, Loss loss);

// How many may be lost at once, whichever they are.
struct Tolerated {
  size_t read = 0;   // every object is readable, and its name decidable
  size_t names = 0;  // every name is decidable
  size_t write = 0;  // any object can be put
  size_t full = 0;   // with its full redundancy
};
struct Survival {
  Tolerated servers, hosts;
};
Survival SurvivalOf(const StoreDescriptor& descriptor, const PlannedObjects& objects);

// A host that may get more chunks of a stripe than the object can lose.
struct CrowdedHost {
  std::string host;
  size_t servers = 0;
  size_t chunks = 0;  // at most
};
std::vector<CrowdedHost> CrowdedHosts(const StoreDescriptor& descriptor, const Geometry& geometry);

size_t CountHosts(const StoreDescriptor& descriptor);

// Names and objects that a store might have, placed as the store would. Immutable.
class PlacedSample {
 public:
  PlacedSample(const StoreDescriptor& descriptor, const Geometry& geometry);

  // The share of those, from 0 to 1, that cannot be read without these members, or decided.
  double Unreadable(std::span<const MemberIndex> lost) const;
  double Undecidable(std::span<const MemberIndex> lost) const;

 private:
  struct One {
    Homes homes;
    std::vector<MemberIndex> lanes;
  };
  const size_t parity_;
  std::vector<One> sample_;
};

// The store with so many more servers, each on a host of its own.
StoreDescriptor WithMore(StoreDescriptor descriptor, size_t servers);

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "placement/survival.hh"

#include <algorithm>
#include <map>

#include "base/contains.hh"
#include "placement/list_changes.hh"

namespace xec {
namespace {

// So exact are the shares: to a percent or so.
constexpr size_t kSampleSize = 4000;

bool InUse(const Member& member) { return !IsBeingEmptied(member.role); }

// The members in use of each host, the largest host first.
std::vector<std::vector<MemberIndex>> ByHost(const StoreDescriptor& descriptor) {
  std::map<std::string_view, std::vector<MemberIndex>> by_name;
  for (size_t i = 0; i < descriptor.members.size(); ++i) {
    if (InUse(descriptor.members[i]))
      by_name[descriptor.members[i].host].push_back(static_cast<MemberIndex>(i));
  }
  std::vector<std::vector<MemberIndex>> hosts;
  for (auto& [name, members] : by_name) hosts.push_back(std::move(members));
  std::stable_sort(hosts.begin(), hosts.end(),
                   [](const auto& a, const auto& b) { return a.size() > b.size(); });
  return hosts;
}

size_t CountIn(const std::vector<MemberIndex>& members, std::span<const MemberIndex> lost) {
  return static_cast<size_t>(std::count_if(members.begin(), members.end(),
                                           [&](MemberIndex member) { return Contains(lost, member); }));
}

// PlaceLanes gives each host m chunks of a stripe at most, unless too few hosts are there: then what is left
// goes to any servers. Any order of the members is that of some object.
size_t ChunksLost(const std::vector<std::vector<MemberIndex>>& hosts, const Geometry& geometry,
                  std::span<const MemberIndex> lost) {
  const size_t per_host = geometry.parity_chunks, lanes = geometry.Total();
  size_t spread = 0, spread_lost = 0, crowded_lost = 0;
  for (const std::vector<MemberIndex>& host : hosts) {
    const size_t of_host = CountIn(host, lost);
    spread += std::min(host.size(), per_host);
    spread_lost += std::min(of_host, per_host);
    crowded_lost += of_host - std::min(of_host, per_host);
  }
  const size_t crowded = lanes - std::min(lanes, spread);
  return std::min(lanes, spread_lost + std::min(crowded, crowded_lost));
}

}  // namespace

StoreRemains WhatIsLeft(const StoreDescriptor& descriptor, const PlannedObjects& objects,
                        std::span<const MemberIndex> lost) {
  const auto hosts = ByHost(descriptor);
  size_t in_use = 0, lost_in_use = 0;
  for (const std::vector<MemberIndex>& host : hosts) {
    in_use += host.size();
    lost_in_use += CountIn(host, lost);
  }
  const size_t members = descriptor.members.size();
  StoreRemains left;
  left.chunks_lost = ChunksLost(hosts, objects.geometry, lost);
  left.readable = left.chunks_lost <= objects.geometry.parity_chunks;
  left.decidable =
      lost_in_use <= HomeFinder(descriptor).late_max() && members - lost.size() >= Quorum(members);
  left.archives = std::min<size_t>(objects.geometry.Total(), in_use - lost_in_use);
  left.writable = left.decidable && left.archives >= objects.archives_min;
  left.full = left.writable && left.archives == objects.geometry.Total();
  return left;
}

std::vector<MemberIndex> WorstLoss(const StoreDescriptor& descriptor, Loss loss) {
  const auto hosts = ByHost(descriptor);
  std::vector<MemberIndex> lost;
  const size_t whole = std::min(loss.hosts, hosts.size());
  for (size_t i = 0; i < whole; ++i) lost.insert(lost.end(), hosts[i].begin(), hosts[i].end());
  // Of as many other hosts as possible, since these have few chunks of an object each.
  size_t left = loss.servers;
  for (size_t round = 0; left > 0; ++round) {
    bool any = false;
    for (size_t i = whole; i < hosts.size() && left > 0; ++i) {
      if (round >= hosts[i].size()) continue;
      lost.push_back(hosts[i][round]);
      any = true;
      --left;
    }
    if (!any) break;
  }
  return lost;
}

namespace {

// The largest number of them, all smaller ones included, without which `holds` is true. Without any of them
// it may be false already: then 0.
template <typename LossOfCount, typename Holds>
size_t MostWith(const StoreDescriptor& descriptor, const PlannedObjects& objects, size_t count_max,
                LossOfCount loss, Holds holds) {
  size_t most = 0;
  while (most < count_max && holds(WhatIsLeft(descriptor, objects, WorstLoss(descriptor, loss(most + 1)))))
    ++most;
  return most;
}

template <typename LossOfCount>
Tolerated ToleratedOf(const StoreDescriptor& descriptor, const PlannedObjects& objects, size_t count_max,
                      LossOfCount loss) {
  const auto most = [&](auto holds) { return MostWith(descriptor, objects, count_max, loss, holds); };
  return {.read = most([](const StoreRemains& left) { return left.readable && left.decidable; }),
          .names = most([](const StoreRemains& left) { return left.decidable; }),
          .write = most([](const StoreRemains& left) { return left.writable; }),
          .full = most([](const StoreRemains& left) { return left.full; })};
}

}  // namespace

Survival SurvivalOf(const StoreDescriptor& descriptor, const PlannedObjects& objects) {
  return {.servers = ToleratedOf(descriptor, objects, descriptor.members.size(),
                                 [](size_t count) { return Loss{.hosts = 0, .servers = count}; }),
          .hosts = ToleratedOf(descriptor, objects, CountHosts(descriptor),
                               [](size_t count) { return Loss{.hosts = count, .servers = 0}; })};
}

std::vector<CrowdedHost> CrowdedHosts(const StoreDescriptor& descriptor, const Geometry& geometry) {
  const auto hosts = ByHost(descriptor);
  std::vector<CrowdedHost> crowded;
  for (const std::vector<MemberIndex>& host : hosts) {
    const size_t chunks = ChunksLost(hosts, geometry, host);
    if (chunks > geometry.parity_chunks)
      crowded.push_back({descriptor.members[host.front()].host, host.size(), chunks});
  }
  return crowded;
}

size_t CountHosts(const StoreDescriptor& descriptor) { return ByHost(descriptor).size(); }

PlacedSample::PlacedSample(const StoreDescriptor& descriptor, const Geometry& geometry)
    : parity_(geometry.parity_chunks) {
  const HomeFinder finder(descriptor);
  sample_.reserve(kSampleSize);
  for (size_t i = 0; i < kSampleSize; ++i) {
    Homes homes = finder.Of(fmt::format("name {}", i));
    const std::vector<MemberIndex> order = PlacementOrder(descriptor, homes, fmt::format("object {}", i));
    sample_.push_back({std::move(homes), PlaceLanes(descriptor, order, geometry.Total(), parity_)});
  }
}

double PlacedSample::Unreadable(std::span<const MemberIndex> lost) const {
  const auto hit = std::count_if(sample_.begin(), sample_.end(),
                                 [&](const One& one) { return CountIn(one.lanes, lost) > parity_; });
  return static_cast<double>(hit) / kSampleSize;
}

double PlacedSample::Undecidable(std::span<const MemberIndex> lost) const {
  const auto hit = std::count_if(sample_.begin(), sample_.end(), [&](const One& one) {
    return CountIn(one.homes, lost) > one.homes.size() - one.homes.quorum();
  });
  return static_cast<double>(hit) / kSampleSize;
}

StoreDescriptor WithMore(StoreDescriptor descriptor, size_t servers) {
  for (; servers > 0; --servers) {
    const std::string id = NewMemberId(descriptor);
    descriptor.members.push_back(
        {.id = id, .address = std::string(kLocalAddress), .host = "new host of " + id});
  }
  return descriptor;
}

}  // namespace xec

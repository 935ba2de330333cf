// SPDX-License-Identifier: LGPL-3.0-or-later
#include "placement/homes.hh"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/contains.hh"
#include "base/random.hh"

namespace xec {
namespace {

// FNV-1a (its published 64-bit constants) followed by a mixing step; part of the format: never change.
uint64_t HashText(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3ull;
  }
  return Mix64(hash);
}

// All members, best first, by rendezvous hash of (key, member id).
std::vector<MemberIndex> Ranked(const StoreDescriptor& descriptor, std::string_view key) {
  const uint64_t key_hash = HashText(key);
  std::vector<uint64_t> weight;
  weight.reserve(descriptor.members.size());
  for (const Member& member : descriptor.members) weight.push_back(Mix64(key_hash ^ HashText(member.id)));
  std::vector<MemberIndex> order(descriptor.members.size());
  std::iota(order.begin(), order.end(), MemberIndex{0});
  std::sort(order.begin(), order.end(), [&](MemberIndex a, MemberIndex b) {
    return weight[a] != weight[b] ? weight[a] > weight[b] : a < b;
  });
  return order;
}

}  // namespace

std::vector<MemberIndex> HomesOf(const StoreDescriptor& descriptor, std::string_view last_component) {
  std::vector<MemberIndex> homes = Ranked(descriptor, last_component);
  homes.resize(std::min<size_t>(homes.size(), 2 * descriptor.tolerance + 1));
  return homes;
}

std::vector<MemberIndex> PlacementOrder(const StoreDescriptor& descriptor, std::span<const MemberIndex> homes,
                                        std::string_view salt) {
  std::vector<MemberIndex> order(homes.begin(), homes.end());
  for (const MemberIndex member : Ranked(descriptor, salt)) {
    if (!Contains(homes, member)) order.push_back(member);
  }
  return order;
}

std::vector<MemberIndex> PlaceLanes(const StoreDescriptor& descriptor,
                                    std::span<const MemberIndex> candidates, size_t lanes,
                                    size_t per_host_max, std::span<const MemberIndex> taken) {
  std::vector<MemberIndex> chosen;
  std::vector<MemberIndex> crowded;  // would put too many lanes on their host
  std::map<std::string_view, size_t> on_host;
  for (const MemberIndex member : taken) ++on_host[descriptor.members[member].host];
  for (const MemberIndex member : candidates) {
    if (chosen.size() == lanes) return chosen;
    size_t& count = on_host[descriptor.members[member].host];
    if (count < per_host_max) {
      ++count;
      chosen.push_back(member);
    } else {
      crowded.push_back(member);
    }
  }
  for (const MemberIndex member : crowded) {
    if (chosen.size() == lanes) break;
    chosen.push_back(member);
  }
  return chosen;
}

}  // namespace xec

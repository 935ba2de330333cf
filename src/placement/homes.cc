// SPDX-License-Identifier: LGPL-3.0-or-later
#include "placement/homes.hh"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/contains.hh"
#include "base/mutant.hh"
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

std::vector<uint64_t> HashesOf(const std::vector<Member>& members) {
  std::vector<uint64_t> hashes;
  hashes.reserve(members.size());
  for (const Member& member : members) hashes.push_back(HashText(member.id));
  return hashes;
}

// The best `count` members, best first, by rendezvous hash of (key, member id). `hashes`: of the ids.
std::vector<MemberIndex> Ranked(std::span<const uint64_t> hashes, std::string_view key, size_t count) {
  const uint64_t key_hash = HashText(key);
  std::vector<std::pair<uint64_t, MemberIndex>> ranked;
  ranked.reserve(hashes.size());
  for (size_t i = 0; i < hashes.size(); ++i)
    ranked.emplace_back(Mix64(key_hash ^ hashes[i]), static_cast<MemberIndex>(i));
  std::partial_sort(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(count), ranked.end(),
                    [](const auto& a, const auto& b) {
                      return a.first != b.first ? a.first > b.first : a.second < b.second;
                    });
  std::vector<MemberIndex> best;
  best.reserve(count);
  for (size_t i = 0; i < count; ++i) best.push_back(ranked[i].second);
  return best;
}

// All members by weighted rendezvous: of the hash, as a number u between 0 and 1, and the weight w that with
// the largest -w/ln(u) is first. Equal weights give the order of Ranked.
std::vector<MemberIndex> RankedByWeight(std::span<const uint64_t> hashes, std::string_view key,
                                        std::span<const double> weights) {
  const uint64_t key_hash = HashText(key);
  struct Scored {
    double score;
    uint64_t hash;
    MemberIndex member;
  };
  std::vector<Scored> scored;
  scored.reserve(hashes.size());
  for (size_t i = 0; i < hashes.size(); ++i) {
    const uint64_t hash = Mix64(key_hash ^ hashes[i]);
    const double u = std::ldexp(static_cast<double>(hash >> 11) + 0.5, -53);
    scored.push_back({weights[i] / -std::log(u), hash, static_cast<MemberIndex>(i)});
  }
  std::sort(scored.begin(), scored.end(), [](const Scored& a, const Scored& b) {
    if (a.score != b.score) return a.score > b.score;
    return a.hash != b.hash ? a.hash > b.hash : a.member < b.member;
  });
  std::vector<MemberIndex> best;
  best.reserve(scored.size());
  for (const Scored& one : scored) best.push_back(one.member);
  return best;
}

// 24 bits of a hash that is none of the rendezvous.
std::string MarkOf(std::string_view id) {
  constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";
  uint64_t hash = HashText(id);
  std::string mark;
  for (size_t i = 0; i < kMarkChars; ++i, hash >>= 6) mark += kDigits[hash & 63];
  return mark;
}

}  // namespace

template <typename Belongs>
HomeFinder::Voters HomeFinder::VotersOf(const StoreDescriptor& descriptor, Belongs belongs) {
  Voters voters;
  for (size_t i = 0; i < descriptor.members.size(); ++i) {
    if (!belongs(descriptor.members[i].role)) continue;
    voters.members.push_back(static_cast<MemberIndex>(i));
    voters.hashes.push_back(HashText(descriptor.members[i].id));
  }
  voters.count = std::min<size_t>(voters.members.size(), 2 * descriptor.tolerance + 1);
  return voters;
}

std::vector<MemberIndex> HomeFinder::Voters::Best(std::string_view key) const {
  std::vector<MemberIndex> best = Ranked(hashes, key, count);
  for (MemberIndex& one : best) one = members[one];
  return best;
}

HomeFinder::HomeFinder(const StoreDescriptor& descriptor)
    : after_(VotersOf(descriptor, [](MemberRole role) {
        return role == MemberRole::kFull || role == MemberRole::kJoining;
      })) {
  if (!descriptor.IsChanging() || MutantActive(Mutant::kChangeByListAfter)) return;
  before_ = VotersOf(
      descriptor, [](MemberRole role) { return role == MemberRole::kFull || role == MemberRole::kLeaving; });
}

Homes HomeFinder::Of(std::string_view last_component) const {
  std::vector<MemberIndex> homes = after_.Best(last_component);
  if (!before_) return homes;
  for (const MemberIndex member : before_->Best(last_component)) {
    if (!Contains(homes, member)) homes.push_back(member);
  }
  return homes;
}

size_t HomeFinder::QuorumOf(std::string_view last_component) const {
  return before_ ? Of(last_component).quorum() : Quorum(after_.count);
}

Homes HomeFinder::AfterChange(std::string_view last_component) const { return after_.Best(last_component); }

size_t HomeFinder::silent_max() const {
  return Quorum(before_ ? std::min(before_->count, after_.count) : after_.count) - 1;
}

size_t HomeFinder::late_max() const {
  const auto bad = [](size_t homes) { return homes - Quorum(homes); };
  return before_ ? std::min(bad(before_->count), bad(after_.count)) : bad(after_.count);
}

std::string MarksOf(const StoreDescriptor& descriptor, std::span<const MemberIndex> members) {
  std::string marks;
  for (const MemberIndex member : members) marks += MarkOf(descriptor.members[member].id);
  return marks;
}

std::vector<MemberIndex> MarkedHomes(const StoreDescriptor& descriptor, const Homes& homes,
                                     std::string_view marks) {
  std::vector<MemberIndex> marked;
  for (const MemberIndex home : homes) {
    const std::string mark = MarkOf(descriptor.members[home].id);
    for (size_t at = 0; at + kMarkChars <= marks.size(); at += kMarkChars) {
      if (marks.substr(at, kMarkChars) != mark) continue;
      marked.push_back(home);
      break;
    }
  }
  return marked;
}

std::vector<MemberIndex> PlacementOrder(const StoreDescriptor& descriptor, std::span<const MemberIndex> homes,
                                        std::string_view salt, std::span<const double> weights) {
  std::vector<MemberIndex> order(homes.begin(), homes.end());
  const std::vector<uint64_t> hashes = HashesOf(descriptor.members);
  for (const MemberIndex member :
       weights.empty() ? Ranked(hashes, salt, hashes.size()) : RankedByWeight(hashes, salt, weights)) {
    if (!Contains(homes, member)) order.push_back(member);
  }
  const auto role = [&](MemberIndex member) { return descriptor.members[member].role; };
  std::erase_if(order, [&](MemberIndex member) { return IsBeingEmptied(role(member)); });
  std::stable_partition(order.begin(), order.end(),
                        [&](MemberIndex member) { return role(member) != MemberRole::kLeaving; });
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

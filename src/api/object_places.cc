// SPDX-License-Identifier: LGPL-3.0-or-later
#include "api/object_places.hh"

#include <algorithm>
#include <set>

namespace xec {

void PlacesBuilder::Add(uint32_t lane, const ChunkReport& chunk) {
  if (stripe_ && *stripe_ != chunk.stripe) ++ordinal_;
  stripe_ = chunk.stripe;
  const bool silent = chunk.health == ChunkHealth::kUnavailable && !chunk.doubted;
  LaneRun one{.lane = lane,
              .first = ordinal_,
              .stripes = 1,
              .bytes = chunk.bytes,
              .server = chunk.server,
              .held = chunk.health == ChunkHealth::kGood || silent};
  const auto [entry, is_new] = open_.emplace(lane, one);
  if (is_new) return;
  LaneRun& run = entry->second;
  const bool follows = run.first + run.stripes == one.first;
  if (follows && run.server == one.server && run.held == one.held) {
    ++run.stripes;
    run.bytes += one.bytes;
    return;
  }
  object_.runs.push_back(run);
  run = one;
}

ObjectPlaces PlacesBuilder::Take() {
  for (const auto& [lane, run] : open_) object_.runs.push_back(run);
  std::sort(object_.runs.begin(), object_.runs.end(), [](const LaneRun& a, const LaneRun& b) {
    return std::pair(a.lane, a.first) < std::pair(b.lane, b.first);
  });
  return std::move(object_);
}

namespace {

// A run with what becomes of it.
struct Fate {
  const LaneRun* run;
  bool hit;
};

// Stripes that follow one another, in all of which the same runs have chunks.
struct Stretch {
  const std::vector<Fate>& active;
  uint64_t stripes = 0;

  // The servers of the chunks that are left.
  std::vector<MemberIndex> Servers() const {
    std::vector<MemberIndex> servers;
    for (const Fate& fate : active) {
      if (fate.run->held && !fate.hit) servers.push_back(fate.run->server);
    }
    return servers;
  }
  // Of the chunks as many are parity as the geometry says, whatever the stripe's size.
  size_t Needed(const Geometry& geometry) const {
    return active.size() - std::min<size_t>(geometry.parity_chunks, active.size());
  }
  bool Hit() const {
    return std::any_of(active.begin(), active.end(), [](const Fate& fate) { return fate.hit; });
  }
};

// From the first stripe to the last.
template <typename See>
void ForEachStretch(std::vector<Fate> fates, See see) {
  std::set<uint64_t> borders;
  for (const Fate& fate : fates) borders.insert({fate.run->first, fate.run->first + fate.run->stripes});
  if (borders.empty()) return;
  std::stable_sort(fates.begin(), fates.end(),
                   [](const Fate& a, const Fate& b) { return a.run->first < b.run->first; });
  std::vector<Fate> active;
  auto next = fates.begin();
  for (auto border = borders.begin(); std::next(border) != borders.end(); ++border) {
    std::erase_if(active, [&](const Fate& fate) { return fate.run->first + fate.run->stripes <= *border; });
    for (; next != fates.end() && next->run->first == *border; ++next) active.push_back(*next);
    if (!active.empty()) see(Stretch{active, *std::next(border) - *border});
  }
}

}  // namespace

Redundancy RedundancyOf(const ObjectPlaces& object, const std::function<bool(const LaneRun&)>& gone) {
  Redundancy left;
  left.geometry = object.geometry;
  left.bytes = object.bytes;
  left.survives = static_cast<int>(object.geometry.parity_chunks);
  std::vector<Fate> fates;
  for (const LaneRun& run : object.runs) fates.push_back({&run, gone(run)});
  ForEachStretch(std::move(fates), [&](const Stretch& stretch) {
    const std::vector<MemberIndex> servers = stretch.Servers();
    const size_t needed = stretch.Needed(object.geometry);
    for (const MemberIndex server : NoneToSpare(servers, needed)) left.critical.insert(server);
    left.survives = std::min(left.survives, LossesSurvived(servers, needed));
  });
  return left;
}

std::optional<ObjectLoss> LossOf(const ObjectPlaces& object, const std::function<bool(const LaneRun&)>& hit) {
  std::vector<Fate> fates;
  std::set<uint32_t> lanes;
  ObjectLoss loss;
  loss.survives = static_cast<int>(object.geometry.parity_chunks);
  for (const LaneRun& run : object.runs) {
    fates.push_back({&run, hit(run)});
    if (!fates.back().hit) continue;
    lanes.insert(run.lane);
    loss.bytes += run.bytes;
  }
  if (lanes.empty()) return std::nullopt;
  ForEachStretch(std::move(fates), [&](const Stretch& stretch) {
    loss.survives =
        std::min(loss.survives, LossesSurvived(stretch.Servers(), stretch.Needed(object.geometry)));
    if (stretch.Hit()) loss.stripes += stretch.stripes;
  });
  loss.lanes.assign(lanes.begin(), lanes.end());
  return loss;
}

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "api/object_places.hh"

#include <algorithm>
#include <set>

#include "api/census.hh"

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

// Stripes between two borders, in all of which the same runs have chunks: how many losses they survive. Of
// their chunks as many are parity as the geometry says, whatever the stripe's size.
int SurvivesOf(const std::vector<Fate>& active, const Geometry& geometry) {
  std::vector<MemberIndex> servers;
  for (const Fate& fate : active) {
    if (fate.run->held && !fate.hit) servers.push_back(fate.run->server);
  }
  const size_t parity = std::min<size_t>(geometry.parity_chunks, active.size());
  return LossesSurvived(std::move(servers), active.size() - parity);
}

}  // namespace

std::optional<ObjectLoss> LossOf(const ObjectPlaces& object, const std::function<bool(const LaneRun&)>& hit) {
  std::vector<Fate> fates;
  std::set<uint64_t> borders;
  std::set<uint32_t> lanes;
  ObjectLoss loss;
  loss.survives = static_cast<int>(object.geometry.parity_chunks);
  for (const LaneRun& run : object.runs) {
    fates.push_back({&run, hit(run)});
    borders.insert({run.first, run.first + run.stripes});
    if (!fates.back().hit) continue;
    lanes.insert(run.lane);
    loss.bytes += run.bytes;
  }
  if (lanes.empty()) return std::nullopt;
  std::stable_sort(fates.begin(), fates.end(),
                   [](const Fate& a, const Fate& b) { return a.run->first < b.run->first; });
  std::vector<Fate> active;
  auto next = fates.begin();
  for (auto border = borders.begin(); std::next(border) != borders.end(); ++border) {
    std::erase_if(active, [&](const Fate& fate) { return fate.run->first + fate.run->stripes <= *border; });
    for (; next != fates.end() && next->run->first == *border; ++next) active.push_back(*next);
    if (active.empty()) continue;
    loss.survives = std::min(loss.survives, SurvivesOf(active, object.geometry));
    const bool is_hit = std::any_of(active.begin(), active.end(), [](const Fate& fate) { return fate.hit; });
    if (is_hit) loss.stripes += *std::next(border) - *border;
  }
  loss.lanes.assign(lanes.begin(), lanes.end());
  return loss;
}

}  // namespace xec

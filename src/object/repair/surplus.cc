// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/repair/surplus.hh"

#include <algorithm>
#include <map>

#include "base/contains.hh"
#include "object/read/chunk_reader.hh"
#include "placement/homes.hh"

namespace xec {
namespace {

// Earlier ones are kept: homes first, and never what is to be moved away.
class Order {
 public:
  explicit Order(const RepairedVersion& version)
      : order_(PlacementOrder(version.engine.descriptor(), version.engine.Homes(version.info.path),
                              version.manifest.object_id)) {}
  bool IsBefore(MemberIndex a, MemberIndex b) const { return At(a) < At(b); }

 private:
  std::pair<size_t, MemberIndex> At(MemberIndex server) const {
    const auto at = std::find(order_.begin(), order_.end(), server) - order_.begin();
    return {static_cast<size_t>(at), server};
  }
  const std::vector<MemberIndex> order_;
};

}  // namespace

namespace {

// Was it there for so long that nobody is at work on it any more? Whoever moves an archive removes the other
// one right after it has listed the copy, or finds its list of members not in force.
bool IsOld(const Engine& engine, const State& archive) {
  const auto horizon = std::chrono::duration_cast<std::chrono::seconds>(engine.options().tombstone_horizon);
  return archive.mtime_s + horizon.count() <= engine.executor().WallNow() / 1000;
}

}  // namespace

Task<std::vector<SurplusArchive>> FindSurplus(const RepairedVersion& version, const DamageSurvey& survey) {
  std::vector<SurplusArchive> surplus;
  const StoreDescriptor& list = version.engine.descriptor();
  // Processes by two lists of members could choose differently.
  if (list.IsChanging() || list.unswept) co_return std::move(surplus);
  Result<ReadContext> context = co_await version.reader->GetContext();
  if (!context) co_return std::move(surplus);
  std::map<uint32_t, MemberIndex> kept = survey.found_on();
  const Order order(version);
  for (const MemberIndex server : version.options.shown_on) {
    const bool used =
        std::any_of(kept.begin(), kept.end(), [&](const auto& lane) { return lane.second == server; });
    if (used || !survey.Listed(server)) continue;
    const Result<LoadedArchive> loaded = co_await context->archives->open().Load(server);
    if (!loaded || loaded->archive->is_witness()) continue;
    const std::optional<uint32_t> lane = loaded->archive->manifest().lane;
    const auto other = lane ? kept.find(*lane) : kept.end();
    if (other == kept.end()) continue;
    const std::optional<State> one = survey.Listed(server), two = survey.Listed(other->second);
    const bool settled = one && two && IsOld(version.engine, *one) && IsOld(version.engine, *two);
    const bool swaps = order.IsBefore(server, other->second);
    // What is kept of a deep repair was read.
    if (!settled || (swaps && version.options.deep)) {
      surplus.push_back({other->first, server, std::nullopt});
      continue;
    }
    const MemberIndex goes = swaps ? std::exchange(other->second, server) : server;
    surplus.push_back({other->first, goes, survey.Listed(goes)});
  }
  co_return std::move(surplus);
}

}  // namespace xec

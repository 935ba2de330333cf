// SPDX-License-Identifier: LGPL-3.0-or-later
#include "cli/inventory_census.hh"

#include <map>

namespace xec {
namespace {

// Members by their numbers in the inventory. One that has left the store has none.
std::map<MemberIndex, MemberIndex> MembersOf(const InventoryAbout& about, const StoreDescriptor& store) {
  std::map<MemberIndex, MemberIndex> members;
  for (const InventoryAbout::Server& server : about.servers) {
    for (size_t i = 0; i < store.members.size(); ++i) {
      if (store.members[i].id == server.id) members[server.number] = static_cast<MemberIndex>(i);
    }
  }
  return members;
}

std::string Problem(const ObjectPlaces& object, const std::set<MemberIndex>& away,
                    const StoreDescriptor& store) {
  std::set<std::string> missing;
  for (const LaneRun& run : object.runs) {
    const std::string lane = fmt::format("lane {}", run.lane);
    const bool known = run.server != LaneRun::kNoServer;
    if (known && away.contains(run.server)) {
      missing.insert(fmt::format("{} ({} does not answer)", lane, store.members[run.server].id));
    } else if (!run.held || !known) {
      missing.insert(known ? fmt::format("{} (not on {})", lane, store.members[run.server].id) : lane);
    }
  }
  std::string text;
  for (const std::string& one : missing) text += (text.empty() ? "it lacks " : ", ") + one;
  return text;
}

// What the result depends on besides the file's path.
std::string About(const InventoryAbout::Walk& walk, const StoreDescriptor& store,
                  const std::set<MemberIndex>& away) {
  std::string text = fmt::format("{} {}:", walk.began_ms, store.epoch);
  for (const MemberIndex member : away) text += fmt::format(" {}", member);
  return text;
}

}  // namespace

Result<InventoryCount> InventoryCensus::Count(const StoreDescriptor& store,
                                              const std::set<MemberIndex>& away) {
  if (file_.empty()) return Fail(Code::kNotFound, "this gateway keeps no inventory (xec.inventory off)");
  XEC_ASSIGN_OR_RETURN(InventoryReader reader, InventoryReader::Open(file_));
  const InventoryAbout& about = reader.about();
  if (about.store_id != store.store_id)
    return Fail(Code::kConflict, "the inventory {} is of another store", file_);
  if (!about.last) return Fail(Code::kUnavailable, "the inventory {} is not complete yet", file_);
  std::string depends = About(*about.last, store, away);
  if (last_ && last_->about == depends) return last_->count;
  const std::map<MemberIndex, MemberIndex> members = MembersOf(about, store);
  auto census = std::make_shared<Census>();
  XEC_TRY(reader.ForEach([&](const ObjectPlaces& found) {
    ObjectPlaces object = found;
    for (LaneRun& run : object.runs) {
      const auto member = members.find(run.server);
      run.server = member == members.end() ? LaneRun::kNoServer : member->second;
    }
    const auto gone = [&](const LaneRun& run) {
      return run.server == LaneRun::kNoServer || away.contains(run.server);
    };
    Redundancy left = RedundancyOf(object, gone);
    for (const LaneRun& run : object.runs) left.away = left.away || (run.held && away.contains(run.server));
    left.away = left.away && !left.Full();
    if (!left.Full()) left.problem = Problem(object, away, store);
    census->Add(object.path, std::move(left));
    return true;
  }));
  census->Sort();
  last_ = {std::move(depends), {std::move(census), *about.last}};
  return last_->count;
}

}  // namespace xec

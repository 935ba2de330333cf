// SPDX-License-Identifier: LGPL-3.0-or-later
// Changes of the list of members while everything else goes on (docs/protocol/members.md): one server more
// joins, others are drained and removed, what is under way is undone. Gateways learn of it as real ones do.
#include <algorithm>

#include "base/contains.hh"
#include "commit/members/ask_for_descriptors.hh"
#include "placement/homes.hh"
#include "placement/list_changes.hh"
#include "store/change_list.hh"
#include "store/make_layout_store.hh"
#include "store/rebuild.hh"
#include "world.hh"

namespace xec::sim {
namespace {

std::string Roles(const StoreDescriptor& list) {
  std::string roles;
  for (const Member& member : list.members) {
    if (member.role != MemberRole::kFull)
      roles += fmt::format(", {} {}", member.id, MemberRoleName(member.role));
  }
  return fmt::format("epoch {}, {} members{}{}", list.epoch, list.members.size(), roles,
                     list.unswept ? ", unswept" : "");
}

constexpr uint32_t kLeaseSeconds = 60;
constexpr Duration kRoundInterval = seconds(20);
constexpr Duration kLongestChange = minutes(60);
// Of the names that a process moves it dies over so many.
constexpr uint64_t kDiesOverOneIn = 150;

// Those whose quorums decide by the list: two sets while it changes.
std::vector<std::set<std::string>> Voters(const StoreDescriptor& list) {
  std::set<std::string> before, after;
  for (const Member& member : list.members) {
    if (member.role == MemberRole::kFull || member.role == MemberRole::kLeaving) before.insert(member.id);
    if (member.role == MemberRole::kFull || member.role == MemberRole::kJoining) after.insert(member.id);
  }
  return {before, after};
}

// Do any two quorums of theirs share a home, for every name?
bool GoTogether(const StoreDescriptor& a, const StoreDescriptor& b) {
  const auto of_a = Voters(a), of_b = Voters(b);
  return std::any_of(of_a.begin(), of_a.end(), [&](const auto& voters) { return Contains(of_b, voters); });
}

// As the server keeps it.
std::optional<StoreDescriptor> NewestOn(const MemoryServer& server) {
  std::optional<StoreDescriptor> newest;
  for (const auto& [file, size] : server.Files()) {
    if (!file.starts_with(kDescriptorPath)) continue;
    const auto epoch = EpochOfEntry(std::string_view(file).substr(kReservedDirectory.size() + 1));
    if (!epoch || (newest && newest->epoch > *epoch)) continue;
    const Result<StoreDescriptor> shown = ParseDescriptor(server.Content(file).value_or(""));
    if (shown) newest = *shown;
  }
  return newest;
}

}  // namespace

void World::ChooseMemberChanges() {
  traits_.members = !traits_.ailments && member_random_.OneIn(5);
  if (!traits_.members) return;
  for (size_t i = 0; i < servers_.size(); ++i) {
    descriptor_.lease_s = kLeaseSeconds;
    PutFile(i, DescriptorPath(descriptor_.epoch), FormatDescriptor(descriptor_));
  }
  executor_.RunUntilIdle(kStepsMax);
  AddServer();
  traits_.liars.push_back(false);
  ScheduleMemberChange();
}

// What a gateway goes by that starts now. Error: it has to wait, and makes what it has seen known meanwhile.
Result<StoreDescriptor> World::ListToStartWith() {
  if (!traits_.members || members_settled_) return descriptor_;
  std::vector<StoreDescriptor> shown;
  std::map<size_t, uint64_t> epochs;  // by server
  const StoreDescriptor* newest = nullptr;
  shown.reserve(servers_.size());
  for (size_t i = 0; i < servers_.size(); ++i) {
    std::optional<StoreDescriptor> on_it = servers_[i]->down() ? std::nullopt : NewestOn(*servers_[i]);
    if (!on_it) continue;
    epochs[i] = on_it->epoch;
    shown.push_back(std::move(*on_it));
    if (newest == nullptr || newest->epoch < shown.back().epoch) newest = &shown.back();
  }
  Result<StoreDescriptor> list = ChooseList(shown, std::nullopt);
  for (const auto& [server, epoch] : epochs) {
    if (!list && epoch < newest->epoch)
      PutFile(server, DescriptorPath(newest->epoch), FormatDescriptor(*newest));
  }
  return list;
}

// Once the changes are over nobody asks any more.
void World::GoBy(Gateway& gateway, const StoreDescriptor& list, TimePoint asked) {
  gateway.list = list;
  if (!traits_.members || members_settled_) return;
  gateway.engine->member_list().Watch(list, {Quorum(list.members.size()), seconds(list.lease_s)}, asked);
  if (list.epoch > descriptor_.epoch) descriptor_ = list;
  CheckListsInForce();
}

void World::Follow(Gateway& gateway, const StoreDescriptor& next, TimePoint asked) {
  std::vector<DataServerPtr> lines;
  for (size_t i = 0; i < next.members.size(); ++i) {
    lines.push_back(LineTo(gateway, i, false));
    const bool emptied = next.members[i].role == MemberRole::kEmptied;
    // Nobody needs what it has: it is gone before anybody else can know.
    if (emptied && next.epoch > descriptor_.epoch && descriptor_.members[i].role == MemberRole::kEmptying) {
      Say(fmt::format("s{}", i), "was emptied: its disk is wiped");
      servers_[i]->Wipe();
      PutFile(i, DescriptorPath(next.epoch), FormatDescriptor(next));
    }
  }
  auto engine = std::make_unique<Engine>(*gateway.engine, next, std::move(lines));
  auto store = MakeLayoutStore(*engine);
  gateway.engines_before.push_back(std::exchange(gateway.engine, std::move(engine)));
  gateway.stores_before.push_back(std::exchange(gateway.store, std::move(store)));
  Say(fmt::format("g{}", gateway.index), "goes by the list of " + Roles(next));
  GoBy(gateway, next, asked);
}

// Lists that are in use at the same time decide together.
void World::CheckListsInForce() {
  std::vector<const StoreDescriptor*> in_force;
  for (const auto& gateway : gateways_) {
    if (!gateway || gateway->dead || gateway->process->asleep()) continue;
    if (gateway->engine->MembersInForce()) in_force.push_back(&gateway->engine->descriptor());
    for (const auto& engine : gateway->engines_before) {
      if (engine->MembersInForce()) in_force.push_back(&engine->descriptor());
    }
  }
  for (const StoreDescriptor* one : in_force) {
    for (const StoreDescriptor* other : in_force) {
      if (!GoTogether(*one, *other))
        Break(fmt::format("the lists of epochs {} and {} are in use at the same time", one->epoch,
                          other->epoch));
    }
  }
}

Task<void> World::Hear(Gateway* gateway) {
  Engine& engine = *gateway->engine;
  const TimePoint asked = engine.executor().Now();
  const MemberList::Round round = co_await xec::HearOfList(engine, Quorum(engine.server_count()), asked);
  if (round.kind == MemberList::Round::kFollowed) Follow(*gateway, *round.next, asked);
  gateway->hears = false;
}

// False: it is told only now, and the client comes again.
bool World::KnowsList(Gateway& gateway) {
  gateway.asked_at = executor_.Now();
  if (gateway.engine->MembersInForce() || member_random_.OneIn(8)) return true;
  if (!std::exchange(gateway.hears, true)) gateway.scope->Spawn(Hear(&gateway));
  return false;
}

Task<void> World::CarryOutMemberChange(Gateway* gateway) {
  Turn turn = [this, gateway](WalkPoint) -> Task<bool> {
    if (faults_ && !traits_.calm && member_random_.OneIn(kDiesOverOneIn)) gateway->dying = true;
    co_return true;
  };
  const Status done = co_await CarryOutChange(
      [gateway] { return ListInUse{*gateway->engine, gateway->list}; }, std::move(turn));
  Say(fmt::format("g{}", gateway->index),
      "has carried out a change of members: " + (done ? std::string("OK") : done.error().ToString()));
  gateway->carries_out = false;
}

void World::ScheduleRounds(Gateway& gateway) {
  if (!traits_.members) return;
  executor_.RunAt(executor_.Now() + kRoundInterval, [this, &gateway] {
    if (gateway.dead || members_settled_) return;
    const bool under_way = !NeedSettled(gateway.list);
    // Nothing is gained by what it hears while nobody asks.
    const bool asked = at_rest_ || executor_.Now() - gateway.asked_at < minutes(2);
    if ((under_way || asked) && gateway.TakesWork() && !std::exchange(gateway.hears, true))
      gateway.scope->Spawn(Hear(&gateway));
    if (under_way && gateway.TakesWork() && !std::exchange(gateway.carries_out, true))
      gateway.scope->Spawn(CarryOutMemberChange(&gateway));
    ScheduleRounds(gateway);
  });
}

void World::ScheduleMemberChange() {
  const auto pause = seconds(5 + member_random_.Below(member_random_.OneIn(2) ? 60 : 600));
  executor_.RunAt(executor_.Now() + pause, [this] {
    if (at_rest_) return;
    Gateway* const gateway = gateways_[member_random_.Below(kGateways)].get();
    if (gateway != nullptr && gateway->AnswersClients() && KnowsList(*gateway))
      gateway->scope->Spawn(ChangeMembers(gateway));
    ScheduleMemberChange();
  });
}

// What somebody may want who goes by the list.
std::vector<Result<StoreDescriptor>> World::PossibleLists(Gateway& gateway) {
  const StoreDescriptor& list = gateway.list;
  std::vector<Result<StoreDescriptor>> lists;
  if (list.IsChanging() && member_random_.OneIn(8)) lists.push_back(Undone(list));
  if (!NeedSettled(list)) return lists;
  const size_t count = list.members.size();
  if (count < servers_.size()) {
    lists.push_back(Joining(list, std::string(kLocalAddress), fmt::format("h{:02}", count)));
    return lists;
  }
  const auto horizon =
      std::chrono::duration_cast<seconds>(gateway.engine->options().tombstone_horizon).count();
  for (const Member& member : list.members) {
    if (member.role == MemberRole::kFull)
      lists.push_back(Leaving(list, member.id, NowSeconds(*gateway.engine), static_cast<uint64_t>(horizon)));
  }
  // That of the last one only: all others keep their numbers.
  if (list.members.back().role == MemberRole::kEmptied)
    lists.push_back(Removed(list, list.members.back().id));
  return lists;
}

Task<void> World::ChangeMembers(Gateway* gateway) {
  for (const Member& member : gateway->list.members) {
    if (member.role != MemberRole::kEmptying || !NeedSettled(gateway->list)) continue;
    co_return co_await EmptyMember(gateway, member.id);
  }
  std::vector<Result<StoreDescriptor>> lists = PossibleLists(*gateway);
  std::erase_if(lists, [](const auto& list) { return !list; });
  if (lists.empty()) co_return;
  co_await Decide(gateway, *lists[member_random_.Below(lists.size())]);
}

Task<void> World::Decide(Gateway* gateway, StoreDescriptor next) {
  const uint64_t epoch = next.epoch;
  const Status begun =
      co_await BeginChange([gateway] { return ListInUse{*gateway->engine, gateway->list}; }, std::move(next));
  Say(fmt::format("g{}", gateway->index),
      fmt::format("has begun the list of epoch {}: {}", epoch, begun ? "OK" : begun.error().ToString()));
}

// As `xec server drain` goes on once the names have left.
Task<void> World::EmptyMember(Gateway* gateway, std::string id) {
  RebuildOptions options;
  const Result<RebuildReport> rebuilt =
      co_await Rebuild(*gateway->engine, *gateway->store, std::move(options));
  const bool done = rebuilt && rebuilt->Done() && rebuilt->silent.empty();
  Say(fmt::format("g{}", gateway->index), fmt::format("empties {}: {}", id, done ? "done" : "not done"));
  if (!done) co_return;
  Result<StoreDescriptor> next = Emptied(gateway->list, id);
  if (next) co_await Decide(gateway, std::move(*next));
}

// At rest what is under way comes to its end; then gateways start anew that nobody tells of lists any more.
void World::EndMemberChanges() {
  if (!traits_.members) return;
  const auto settled = [this](const auto& gateway) {
    return gateway && !gateway->carries_out && gateway->list.epoch == descriptor_.epoch &&
           NeedSettled(gateway->list).has_value();
  };
  const auto all_settled = [&] { return std::all_of(gateways_.begin(), gateways_.end(), settled); };
  // What was begun before may begin one more.
  for (bool ended = false; !ended; ended = all_settled()) {
    bool over = RunUntil(all_settled, kLongestNap + kLongestChange);
    if (!over && traits_.ahead) {
      // A version of a clock that was far ahead is refused, and holds a change up, until it is the past.
      SetClocksRight();
      over = RunUntil(all_settled, kLongestNap + kLongestChange);
    }
    if (!over) return Break("a change of members does not come to an end");
    if (!RunUntil([this] { return AllAwake(); }, kLongestNap)) return Break("a gateway does not go on");
    LetBackgroundEnd();
  }
  members_settled_ = true;
  Say("----", "the members are settled: " + Roles(descriptor_));
  for (auto& gateway : gateways_) gateway->dying = true;
  RunUntil(
      [&] {
        return std::all_of(gateways_.begin(), gateways_.end(), [](const auto& g) { return g && !g->dying; });
      },
      minutes(1));
}

}  // namespace xec::sim

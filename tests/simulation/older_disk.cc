// SPDX-License-Identifier: LGPL-3.0-or-later
// A disk in whose place an older copy of it is put, again and again. From then on its server is one of those
// that may be bad, until everything was compared and repaired: here until all is well. Gateways watch the
// clocks of the disks (docs/protocol/disks.md), in worlds with such a disk only.
#include <algorithm>
#include <span>

#include "protocol/look.hh"
#include "world.hh"

namespace xec::sim {
namespace {

// In reality they do so all the time.
constexpr int kRoundsInARow = 4;
constexpr Duration kRoundsApart = minutes(5);
// So long after the copy was made each disk's clock has gone on, and all others have noted it.
constexpr Duration kCopyIsOld = 4 * kClockInterval;
constexpr Duration kOffFor = seconds(6);
constexpr Duration kAskAgain = seconds(5);
// Then it comes also if no other server has come back.
constexpr Duration kSwapAtLast = minutes(20);
constexpr int kComparisonsMax = 20;

DiskTime ReadingOn(const MemoryServer& server) {
  DiskTime latest = 0;
  for (const auto& [path, size] : server.Files()) {
    if (path.starts_with(kDiskClockFolder))
      latest = std::max(latest, ParseDiskTime(path.substr(path.rfind('/') + 1)).value_or(0));
  }
  return latest;
}

}  // namespace

void World::ChooseOlderDisk() {
  // Where one may be bad no other one is while it is that one, so it can hardly do harm.
  const uint64_t one_in = descriptor_.tolerance > 1 ? 3 : 12;
  traits_.older_disk =
      traits_.ailments && !traits_.loses_disk && !traits_.blackouts && clock_random_.OneIn(one_in);
  if (!traits_.older_disk) return;
  // What is lost with the newer disk leaves nothing over for what rots.
  traits_.rot = false;
  traits_.liars.assign(servers_.size(), false);
  WatchAllClocks(0);
  ScheduleCopy();
}

void World::ScheduleCopy() {
  const auto pause = seconds(1 + clock_random_.Below(clock_random_.OneIn(2) ? 30 : 600));
  executor_.RunAt(executor_.Now() + pause, [this] {
    if (at_rest_) return;
    const size_t server = clock_random_.Below(servers_.size());
    if (down_[server]) return ScheduleCopy();
    TakeCopy(server);
    WatchAllClocks(0);
    ScheduleSwap();
  });
}

void World::TakeCopy(size_t server) {
  older_.server = server;
  older_.copy = servers_[server]->Take();
  older_.reading = ReadingOn(*servers_[server]);
  Say(fmt::format("s{}", server), fmt::format("its disk is copied, as of {}", older_.reading));
}

void World::ScheduleSwap() {
  const auto wait =
      seconds(1) * static_cast<int64_t>(clock_random_.Below(clock_random_.OneIn(2) ? 20 : 1800));
  executor_.RunAt(executor_.Now() + kCopyIsOld + wait, [this] {
    older_.due = true;
    executor_.RunAt(executor_.Now() + kSwapAtLast, [this] { SwitchOffForCopy(); });
  });
}

// The changes that this server has missed stand on fewer homes than any others.
void World::SwapAfterReturnOf(size_t server) {
  if (!older_.due || older_.server == server) return;
  const auto moment = milliseconds(clock_random_.Below(2000));
  executor_.RunAt(executor_.Now() + moment, [this] { SwitchOffForCopy(); });
}

void World::SwitchOffForCopy() {
  if (at_rest_ || !faults_ || !older_.due) return;
  const size_t server = *older_.server;
  if (!HasOlderDisk(server) && !MayGoDown(server)) {
    executor_.RunAt(executor_.Now() + kAskAgain, [this] { SwitchOffForCopy(); });
    return;
  }
  older_.due = false;
  SwitchOffUntilTold(server);
  const auto off =
      kOffFor + seconds(1) * static_cast<int64_t>(clock_random_.OneIn(2) ? 0 : clock_random_.Below(60));
  executor_.RunAt(executor_.Now() + off, [this] { PutCopyInPlace(); });
}

// Only of what everybody knows to be newer can the copy be told.
void World::PutCopyInPlace() {
  const size_t server = *older_.server;
  if (at_rest_ || !faults_ || !servers_[server]->down()) return;
  if (!EverybodyKnowsLater(server, older_.reading)) {
    servers_[server]->SetDown(false);
    if (!HasOlderDisk(server)) SwitchOn(server);
    return;
  }
  servers_[server]->Restore(older_.copy);
  older_.in_place = true;
  servers_[server]->SetDown(false);
  Say(fmt::format("s{}", server), "is back with the older copy of its disk");
  // What stood on the two of them and one more stands on one home now.
  if (clock_random_.OneIn(2)) TakeDown(clock_random_.Below(servers_.size()), false);
  WatchAllClocks(0);
  ScheduleSwap();
}

// Processes that run, and so many disks that whoever asks a majority hears it.
bool World::EverybodyKnowsLater(size_t server, DiskTime reading) const {
  for (const auto& gateway : gateways_) {
    if (gateway && gateway->clocks->Latest(descriptor_.members[server].id) <= reading) return false;
  }
  size_t noted = 0;
  for (size_t other = 0; other < servers_.size(); ++other) {
    if (other == server) continue;
    const DiskTime newest = ReadingOn(*servers_[other]);
    const std::string path = fmt::format("{}/{}", kDiskClockFolder, FormatDiskTime(newest));
    const auto table = ParseClockTable(descriptor_, newest, servers_[other]->Content(path).value_or(""));
    if (!table) continue;
    const auto of_server = table->find(static_cast<MemberIndex>(server));
    noted += of_server != table->end() && of_server->second > reading ? 1 : 0;
  }
  return noted > servers_.size() - Quorum(servers_.size());
}

// Some rounds one soon after the other, then a pause. `round`: of those in a row.
void World::WatchAllClocks(int round) {
  const Duration pause = round < kRoundsInARow ? kClockInterval : kRoundsApart;
  const uint64_t series = round == 0 ? ++clock_series_ : clock_series_;
  executor_.RunAt(executor_.Now() + (round == 0 ? Duration(0) : pause), [this, round, series] {
    if (at_rest_ || series != clock_series_) return;
    for (auto& gateway : gateways_) {
      if (gateway && gateway->TakesWork()) gateway->scope->Spawn(WatchClocks(gateway.get()));
    }
    WatchAllClocks(round < kRoundsInARow ? round + 1 : 1);
  });
}

Task<void> World::WatchClocks(Gateway* gateway) { (void)co_await LeavesOut(gateway); }

// One round, with what follows from it. Does the gateway leave out a disk, or not know of one?
Task<bool> World::LeavesOut(Gateway* gateway) {
  ClockRound round = co_await ReadDiskClocks(*gateway->beneath, gateway->clocks);
  gateway->knows_clocks |= round.heard() >= Quorum(servers_.size());
  const bool all = round.heard() == servers_.size();
  const std::vector<MemberIndex> back = round.back;
  co_await AdvanceDiskClocks(*gateway->beneath, gateway->clocks, std::move(round));
  for (const MemberIndex member : back) {
    Say(fmt::format("g{}", gateway->index), fmt::format("s{} went back in time", member));
    const Status done =
        co_await ReconcileDisk(*gateway->engine, *gateway->beneath, gateway->clocks, member, nullptr);
    Say(fmt::format("g{}", gateway->index),
        done ? fmt::format("s{} is compared", member) : "it cannot be compared: " + done.error().message);
  }
  co_return !all || !back.empty();
}

// A gateway answers nothing before it has read them.
void World::ReadClocksFirst(size_t index) {
  Gateway* const gateway = gateways_[index].get();
  if (gateway == nullptr || gateway->knows_clocks) return;
  gateway->scope->Spawn(WatchClocks(gateway));
  executor_.RunAt(executor_.Now() + kAskAgain, [this, index] { ReadClocksFirst(index); });
}

void World::CompareDisks() {
  executor_.RunUntilTime(executor_.Now() + kLongestNap);
  if (gateways_[0] == nullptr || gateways_[1] == nullptr) return Break("a gateway did not start again");
  bool left_out = true;
  for (int i = 0; left_out && i < kComparisonsMax && !outcome_.broken; ++i) {
    left_out = false;
    for (auto& gateway : gateways_) {
      const std::optional<bool> leaves = Wait(LeavesOut(gateway.get()), *gateway);
      left_out = left_out || leaves.value_or(true);
    }
    executor_.RunUntilTime(executor_.Now() + kClockInterval);
  }
  if (left_out && !outcome_.broken) Break("a disk that went back in time is never compared");
}

// All else is well: m homes miss a change, another one gets an older copy of its disk, and all others go that
// know of the change. Those that are left must not answer as if nothing had changed.
void World::GoBackAtRest() {
  Op first;
  first.kind = OpKind::kPut;
  first.name = names_[both_.size()];  // never a directory
  first.content = next_content_++;
  std::vector<MemberIndex> homes = gateways_[0]->engine->Homes(PathOf(first.name));
  Shuffle(homes, clock_random_);
  const size_t server = homes.front();
  const auto missing = std::span(homes).subspan(1, descriptor_.tolerance);
  const auto knowing = std::span(homes).subspan(1 + descriptor_.tolerance);
  if (!DoAtRest(*gateways_[0], first)) return Break("at rest " + first.name + " cannot be written");
  LetBackgroundEnd();
  TakeCopy(server);
  for (const MemberIndex home : missing) SwitchOffUntilTold(home);
  Op change = first;
  change.kind = clock_random_.OneIn(2) ? OpKind::kPut : OpKind::kRemove;
  change.content = change.kind == OpKind::kPut ? next_content_++ : kNothing;
  if (!DoAtRest(*gateways_[1], change))
    return Break("with m homes away " + first.name + " cannot be changed");
  for (int i = 0; i < kComparisonsMax && !EverybodyKnowsLater(server, older_.reading); ++i) {
    for (auto& gateway : gateways_) (void)Wait(LeavesOut(gateway.get()), *gateway);
    executor_.RunUntilTime(executor_.Now() + kClockInterval);
  }
  if (!EverybodyKnowsLater(server, older_.reading)) return Break("at rest the clocks of disks do not go on");
  SwitchOffUntilTold(server);
  executor_.RunUntilTime(executor_.Now() + kOffFor);
  servers_[server]->Restore(older_.copy);
  Say(fmt::format("s{}", server), "is back with the older copy of its disk");
  SwitchOn(server);
  for (const MemberIndex home : missing) SwitchOn(home);
  for (const MemberIndex home : knowing) SwitchOffUntilTold(home);
  Op read;
  read.name = first.name;
  read.kind = OpKind::kRead;
  for (auto& gateway : gateways_) DoAtRest(*gateway, read);
  for (const MemberIndex home : knowing) SwitchOn(home);
  CompareDisks();
  if (outcome_.broken) return;
  const bool there = DoAtRest(*gateways_[0], read);
  if (!there && history_.ops().back().error != Code::kNotFound)
    Break("at rest " + read.name + " cannot be read once all disks are compared");
}

void World::SwitchOffUntilTold(size_t server) {
  Say(fmt::format("s{}", server), "is off");
  down_[server] = true;
  servers_[server]->SetDown(true);
}

}  // namespace xec::sim

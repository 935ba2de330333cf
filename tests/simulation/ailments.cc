// SPDX-License-Identifier: LGPL-3.0-or-later
// What servers suffer from for a while, other than being away: full and read-only disks, requests that hang
// or take a hundred times as long, an empty disk or another store's in place of their own. A server that
// suffers counts among those that are away: no more than m at any time, where worlds keep to that.
#include <algorithm>
#include <numeric>

#include "commit/engine/access.hh"
#include "server/decorators/identity_guard.hh"
#include "world.hh"

namespace xec::sim {
namespace {

constexpr std::array kAilments = {Fault::kNoSpace, Fault::kReadOnly,  Fault::kHangs,
                                  Fault::kSlow,    Fault::kEmptyDisk, Fault::kForeignDisk};
// No disk is replaced faster, nor while its server runs: what a gateway has read of it is good for so long.
constexpr Duration kSwapTime = seconds(6);

// Requests that hang hold the memory they were given, until their connection breaks at the latest.
constexpr Duration kHangsMax = minutes(10);

// Above most versions of a seed, and not so far ahead that nobody would go above it.
constexpr int64_t kForeignAheadMillis = 30 * 60 * 1000;

// Those that take nothing but a moment to come.
constexpr std::array kSudden = {Fault::kNoSpace, Fault::kReadOnly, Fault::kHangs, Fault::kSlow};
// A step that has been seen this often in a seed is common. One in so many of its requests finds its server
// falling ill: of those to which few seeds come at all, of a rare step, of a common one, and where the step
// has met that ailment.
constexpr uint64_t kCommonStep = 20;
constexpr uint64_t kSuddenInRarest = 1;
constexpr uint64_t kSuddenInRare = 16;
constexpr uint64_t kSuddenInCommon = 400;
constexpr uint64_t kSuddenAgain = 8000;

// Does a request meet the ailment?
bool Hinders(Fault ailment, Operation operation) {
  const bool needs_space = operation == Operation::kCreate || operation == Operation::kWrite ||
                           operation == Operation::kMakeDirectory;
  if (ailment == Fault::kNoSpace) return needs_space;
  return ailment != Fault::kReadOnly || IsMutating(operation);
}

std::string IdentityOf(const std::string& store, size_t server) {
  return fmt::format("member s{:02} of store {}\n", server, store);
}

}  // namespace

void World::ChooseAilments() {
  traits_.ailments = !traits_.calm && ailment_random_.OneIn(4);
  if (!traits_.ailments) return;
  traits_.loses_disk = ailment_random_.OneIn(4);
  // What is lost for good leaves nothing over for what rots.
  if (traits_.loses_disk) {
    traits_.rot = false;
    traits_.liars.assign(servers_.size(), false);
  }
  for (size_t i = 0; i < servers_.size(); ++i) {
    MakeForeignDisk(i);
    WriteIdentity(i, descriptor_.store_id);
  }
  ScheduleAilment();
  ChooseOlderDisk();
}

// The disk of another store that happens to have the same names: it says that all of them were removed just
// now.
void World::MakeForeignDisk(size_t server) {
  WriteIdentity(server, std::string(32, 'b'));
  Version removed;
  removed.clock = static_cast<uint64_t>(executor_.WallNow() + kForeignAheadMillis) << kLogicalBits;
  const std::string tombstone = FormatState(TombstoneState(removed));
  for (const std::string& name : names_) {
    const ObjectPath path = PathOf(name);
    std::vector<std::string> entries = path.LongNameEntries();
    entries.push_back(tombstone);
    for (const std::string& entry : entries) {
      servers_[server]->MakeDirectory({}, StatePath(path, entry),
                                      [](Status made) { XEC_CHECK(made.has_value()); });
    }
  }
  executor_.RunUntilIdle(kStepsMax);
  illnesses_[server].foreign_disk = servers_[server]->Take();
  servers_[server]->Wipe();
}

// The file by which a server is known, as written when its store was made.
void World::WriteIdentity(size_t server, const std::string& store) {
  PutFile(server, std::string(kIdentityPath), IdentityOf(store, server));
  executor_.RunUntilIdle(kStepsMax);
}

DataServerPtr World::Guarded(DataServerPtr line, Gateway& gateway, size_t server, bool watch_clock) {
  if (!traits_.ailments) return line;
  IdentityOptions options;
  options.path = kIdentityPath;
  options.content = IdentityOf(descriptor_.store_id, server);
  options.description = fmt::format("member s{:02}", server);
  DataServerPtr known =
      std::make_shared<IdentityGuard>(std::move(line), *gateway.process, std::move(options));
  if (!watch_clock) return known;
  return WatchDiskClock(std::move(known), *gateway.process,
                        ClockOf(descriptor_, descriptor_.members[server].id, gateway.clocks));
}

void World::ScheduleAilment() {
  const auto pause = seconds(1 + ailment_random_.Below(ailment_random_.OneIn(2) ? 60 : 900));
  executor_.RunAt(executor_.Now() + pause, [this] {
    if (at_rest_) return;
    const size_t server = ailment_random_.Below(servers_.size());
    if (MayGoDown(server)) FallIll(server, kAilments[ailment_random_.Below(kAilments.size())]);
    ScheduleAilment();
  });
}

Duration World::IllFor() {
  const bool long_time = ailment_random_.OneIn(3);
  return seconds(1) * (1 + static_cast<int64_t>(ailment_random_.Below(long_time ? 2400 : 60)));
}

void World::FallIll(size_t server, Fault ailment) {
  Illness& ill = illnesses_[server];
  down_[server] = true;
  ++ill.serial;
  ill.ailment = ailment;
  Say(fmt::format("s{}", server), fmt::format("suffers: {}", FaultName(ailment)));
  const bool disk = ailment == Fault::kEmptyDisk || ailment == Fault::kForeignDisk;
  if (disk) return TakeDiskAway(server);
  const auto recover = [this, server, serial = ill.serial] {
    if (illnesses_[server].serial == serial) SwitchOn(server);
  };
  const Duration time = ailment == Fault::kHangs ? std::min(IllFor(), kHangsMax) : IllFor();
  executor_.RunAt(executor_.Now() + time, recover);
}

// The server is off, comes up with another disk, and later with its own again; or never.
void World::TakeDiskAway(size_t server) {
  Illness& ill = illnesses_[server];
  servers_[server]->SetDown(true);
  ill.own_disk = servers_[server]->Take();
  if (traits_.loses_disk && !lost_) lost_ = server;
  const auto swap = [this, server, serial = ill.serial] {
    if (illnesses_[server].serial == serial) PutOtherDisk(server);
  };
  executor_.RunAt(executor_.Now() + kSwapTime + IllFor(), swap);
}

void World::PutOtherDisk(size_t server) {
  Illness& ill = illnesses_[server];
  ill.other_disk = true;
  if (ill.ailment == Fault::kForeignDisk)
    servers_[server]->Restore(ill.foreign_disk);
  else
    servers_[server]->Wipe();
  servers_[server]->SetDown(false);
  Say(fmt::format("s{}", server), "has another disk");
  if (lost_ == server) return;
  const auto recover = [this, server, serial = ill.serial] {
    if (illnesses_[server].serial == serial) SwitchOn(server);
  };
  executor_.RunAt(executor_.Now() + IllFor(), recover);
}

void World::Recover(size_t server) {
  Illness& ill = illnesses_[server];
  if (ill.ailment == Fault::kNone) return;
  ++ill.serial;
  const bool hung = ill.ailment == Fault::kHangs;
  ill.ailment = Fault::kNone;
  if (std::exchange(ill.other_disk, false)) servers_[server]->Restore(ill.own_disk);
  ill.own_disk.reset();
  std::vector<Closure> hanging = std::exchange(ill.hanging, {});
  // It goes on where it was stopped, or was killed with all that it had not looked at.
  if (hung && ailment_random_.OneIn(4)) {
    servers_[server]->Restart();
    hanging.clear();
  }
  for (Closure& request : hanging) executor_.Post(std::move(request));
}

// Everything is well but for m servers that have just stopped: all that is asked succeeds, and nobody waits
// for them (promise P8).
void World::AskWhileServersHang() {
  if (outcome_.broken) return;
  // Of names that may be directories the next ones are none.
  const std::string first = names_[both_.size()], second = names_[both_.size() + 1];
  // What a rename that died has left there ends only with all homes (docs/protocol/rename.md).
  if (RenameSealAt(first) || RenameSealAt(second)) LetCleanersCome();
  if (outcome_.broken) return;
  // Requests that nobody answers keep their memory; in the least there is they leave no room for a stripe.
  if (traits_.crowded) {
    StopServers();
  } else {
    PutSeveralInTime();
  }
  for (const std::string& name : {first, second}) {
    Op op;
    op.name = name;
    op.kind = OpKind::kPut;
    op.content = next_content_++;
    AskInTime(op);
    for (const OpKind kind : {OpKind::kStat, OpKind::kRead, OpKind::kSetAttribute, OpKind::kGetAttributes}) {
      op.kind = kind;
      op.content = kNothing;
      op.attributes = {};
      if (kind == OpKind::kSetAttribute) op.attributes[0] = next_value_++;
      AskInTime(op);
    }
  }
  Op rename;
  rename.kind = OpKind::kRename;
  rename.name = first;
  rename.to = second;
  AskInTime(rename);
  Op remove;
  remove.kind = OpKind::kRemove;
  remove.name = second;
  AskInTime(remove);
  SwitchAllOn();
}

void World::StopServers() {
  for (size_t i = 0; i < descriptor_.tolerance; ++i) {
    const size_t server = ailment_random_.Below(servers_.size());
    illnesses_[server].ailment = Fault::kHangs;
    Say(fmt::format("s{}", server), "hangs while all else is well");
  }
}

// Each of several stripes, when servers stop in the middle.
void World::PutSeveralInTime() {
  constexpr size_t kUploads = 3;
  constexpr uint64_t kLong = 60'000;
  std::vector<size_t> ids;
  for (size_t i = 0; i < kUploads; ++i) {
    Op put;
    put.kind = OpKind::kPut;
    put.name = names_[both_.size()];
    while (SizeOf(next_content_) < kLong) ++next_content_;
    put.content = next_content_++;
    ids.push_back(history_.Begin(put, moment_++));
    gateways_[0]->scope->Spawn(AskAlone(gateways_[0].get(), ids.back()));
  }
  LetTimePass(milliseconds(ailment_random_.Below(100)));
  StopServers();
  // Servers may be found late one after the other, as archives are sealed.
  constexpr Duration kUntilFoundLate = seconds(3);
  const TimePoint until =
      executor_.Now() + kLongestWhileServersHang + (descriptor_.tolerance - 1) * kUntilFoundLate;
  for (const size_t id : ids) {
    RunUntil([&] { return history_.at(id).ended != kNever; }, kLongestOperation);
    if (executor_.Now() > until || history_.at(id).error)
      return Break(fmt::format("while at most m servers hang {} waits or fails", history_.at(id).ToString()));
  }
}

void World::AskInTime(Op op) {
  if (outcome_.broken) return;
  const TimePoint asked = executor_.Now();
  const bool done = DoAtRest(*gateways_[0], op);
  const Duration took = executor_.Now() - asked;
  const std::string what = history_.ops().back().ToString();
  if (!done) return Break(fmt::format("while at most m servers hang {}", what));
  if (took > kLongestWhileServersHang)
    Break(fmt::format("{} waited {} ms for servers that hang", what,
                      std::chrono::duration_cast<milliseconds>(took).count()));
}

// What a request to the server meets.
Fault World::AilmentOf(size_t server, Operation operation) const {
  const Illness& ill = illnesses_[server];
  // The server answers; whether it is asked is the gateway's business.
  const bool disk = ill.ailment == Fault::kEmptyDisk || ill.ailment == Fault::kForeignDisk;
  const bool met = disk ? ill.other_disk : Hinders(ill.ailment, operation);
  return met ? ill.ailment : Fault::kNone;
}

// Servers that fall ill at any time are soon known to be ill, and asked last: what is rare would never meet
// it. So some fall ill under a request.
void World::FallIllUnder(size_t server, const FaultCounts& met, Operation operation, bool rarest) {
  if (!faults_ || !traits_.ailments) return;
  Fault ailment = kSudden[ailment_random_.Below(kSudden.size())];
  if (!Hinders(ailment, operation)) {
    if (!rarest) return;
    ailment = Fault::kHangs;
  }
  const uint64_t times = std::accumulate(met.begin(), met.end(), uint64_t{0});
  const bool first = met[static_cast<size_t>(ailment)] == 0;
  const uint64_t seldom = times < kCommonStep ? kSuddenInRare : kSuddenInCommon;
  const uint64_t one_in = !first ? kSuddenAgain : rarest ? kSuddenInRarest : seldom;
  if (!ailment_random_.OneIn(one_in)) return;
  if (times < kCommonStep) BringBackFor(server);
  if (MayGoDown(server)) FallIll(server, ailment);
}

}  // namespace xec::sim

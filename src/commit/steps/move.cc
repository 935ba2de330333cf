// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/steps/move.hh"

#include "archive/manifest.hh"
#include "base/contains.hh"
#include "base/failpoint.hh"
#include "base/mutant.hh"
#include "commit/engine/server_gather.hh"
#include "commit/steps/given_up_seal.hh"
#include "commit/steps/manifest_text.hh"
#include "commit/steps/roll_forward.hh"
#include "commit/steps/witness.hh"
#include "protocol/archive_states.hh"

namespace xec {
namespace {

constexpr int kFinishTriesMax = 3;

// The version at the new name, as its first homes accept it.
Accepted TargetOf(const MoveRecord& record, const Accepted& moved) {
  State witness = WitnessState(*moved.target, record.oid, record.size, record.given);
  witness.origin = moved.oid;
  return AcceptedFrom(witness);
}

// Answers which of the homes accept the goal or have something higher. A late home is not waited for once
// there are `enough` of these, nor if another look may find homes that were late to the last one
// (`late_ones`).
Task<std::vector<MemberIndex>> RollOn(Engine& engine, ObjectPath path, Look look, Accepted goal,
                                      std::vector<MemberIndex> homes, size_t enough, Late late_ones) {
  ServerGather<RollResult> gather(engine, RequestKind::kSync);
  for (const MemberIndex home : homes) {
    std::optional<States> listing = look.listings().at(home);
    gather.Start(home, RollForward(engine, path, home, goal, std::move(listing)));
  }
  const auto passed_over = UnlessTooMany(engine, late_ones);
  std::vector<MemberIndex> have;
  while (gather.pending() > 0) {
    const bool all_late = gather.OnlyLateOnes();
    if (all_late && (have.size() >= enough || passed_over(gather.pending()))) break;
    const auto event = co_await gather.Next();
    if (event.value && Stands(*event.value)) have.push_back(event.member);
  }
  co_return std::move(have);
}

// Proved homes that may keep their seal: they were not heard, or they were asked to make the target of
// it and have not said that they did.
std::vector<MemberIndex> SilentHomes(const Look& look, const FinishPlan& plan,
                                     const std::vector<MemberIndex>& proved,
                                     const std::vector<MemberIndex>& rolled) {
  std::vector<MemberIndex> silent;
  for (const MemberIndex home : proved) {
    const bool failed =
        plan.kind == FinishPlan::kRoll && Contains(plan.first, home) && !Contains(rolled, home);
    if (failed || !look.listings().contains(home)) silent.push_back(home);
  }
  return silent;
}

// Seals that nobody will make the target become witnesses of it as well, which nobody sees below what a
// quorum has. Those on the homes `overtaken` do at once, those on the homes `silent` when they are back. A
// witness tells that its rename is history (IsHistory), where a seal would stand in the way of exclusive
// creations until the rename is retired. It keeps the name from being forgotten as the seal did.
Task<void> EndSeals(Engine& engine, ObjectPath to, Accepted target, std::vector<MemberIndex> overtaken,
                    std::vector<MemberIndex> silent) {
  State witness = WitnessState(target.version, target.oid, target.size, target.given);
  witness.origin = target.origin;
  const std::string entry = FormatState(witness);
  const std::string seal = FormatState(MoveInState(target.origin));
  ServerGather<Status> gather(engine, RequestKind::kSync);
  for (const MemberIndex home : overtaken) gather.Start(home, RenameState(engine, home, to, seal, entry));
  while (gather.timely() > 0) {
    const auto event = co_await gather.Next();
    if (event.value && *event.value) std::erase(overtaken, event.member);
  }
  silent.insert(silent.end(), overtaken.begin(), overtaken.end());
  for (const MemberIndex home : silent)
    engine.given_up_files().Add(home, StatePath(to, seal), StatePath(to, entry));
}

// Answers which homes that the plan names have taken the goal.
Task<std::vector<MemberIndex>> RollPlanned(Engine& engine, ObjectPath path, Look look, FinishPlan plan,
                                           Late late_ones) {
  // A copy needs one home that accepted before.
  const size_t first = plan.have > 0 ? 0 : 1;
  std::vector<MemberIndex> rolled =
      co_await RollOn(engine, path, look, plan.goal, std::move(plan.first), first, late_ones);
  XEC_FAILPOINT("rename.target_first");
  const size_t have = plan.have + rolled.size();
  if (have == 0) co_return std::move(rolled);
  const size_t missing = have < look.quorum() ? look.quorum() - have : 0;
  std::vector<MemberIndex> more =
      co_await RollOn(engine, path, std::move(look), plan.goal, std::move(plan.then), missing, late_ones);
  rolled.insert(rolled.end(), more.begin(), more.end());
  co_return std::move(rolled);
}

// What a home of the source has for good of a move.
struct MovedHere {
  bool heard = false;
  bool above = false;  // the moved tombstone or something higher
  bool itself = false;
  bool retired = false;
};

Task<MovedHere> FindMoved(Engine& engine, ObjectPath from, MemberIndex home, Accepted moved) {
  MovedHere here;
  const Result<States> states = co_await ListStates(engine, home, from);
  here.heard = states.has_value();
  if (!states || HighestAccepted(*states) < moved) co_return here;
  const Status synced = co_await SyncStates(engine, home, from);
  if (!synced) co_return here;
  here.above = true;
  here.itself = HasAccepted(*states, moved);
  here.retired = HasAccepted(*states, moved.version.Unmoved().MoveDone());
  co_return here;
}

// Answers how many of the homes take a copy of the moved tombstone.
Task<size_t> CopyMoved(Engine& engine, ObjectPath from, std::vector<MemberIndex> homes, Accepted moved) {
  ServerGather<RollResult> gather(engine, RequestKind::kSync);
  for (const MemberIndex home : homes) gather.Start(home, MakeWitness(engine, from, home, moved));
  size_t taken = 0;
  while (gather.timely() > 0) {
    const auto event = co_await gather.Next();
    if (event.value && *event.value == RollResult::kAccepted) ++taken;
  }
  co_return taken;
}

Task<Status> AcceptTarget(Engine& engine, ObjectPath from, Accepted moved, MoveRecord record,
                          Tombstone tombstone, Late late_ones) {
  const ObjectPath& to = record.to;
  const Accepted target = TargetOf(record, moved);
  bool durable = tombstone == Tombstone::kDurable;
  for (int tries = 0; tries < kFinishTriesMax; ++tries) {
    const TimePoint begun = engine.executor().Now();
    Look look = co_await LookAt(engine, to, LookWidth::kAll);
    const std::vector<MemberIndex> proved = MarkedHomes(engine.descriptor(), look.homes(), moved.proved);
    FinishPlan plan = PlanFinish(look, target, proved);
    if (plan.kind == FinishPlan::kCannotTell) break;
    const bool done = plan.kind == FinishPlan::kDone;
    const bool changes = !done || !plan.overtaken.empty();
    if (!durable && changes) durable = co_await KeepMoved(engine, from, moved, late_ones);
    if (!durable && !done) {
      co_return Fail(Code::kNoQuorum,
                     "cannot tell whether {} has moved to {} for good: too few of its homes answer or can "
                     "write to their disks; retry",
                     from.text(), to.text());
    }
    std::vector<MemberIndex> rolled;
    const Late late_now = tries + 1 < kFinishTriesMax ? Late::kPassedOver : late_ones;
    if (!done) rolled = co_await RollPlanned(engine, to, look, plan, late_now);
    if (!done && plan.have + rolled.size() < look.quorum()) continue;
    if (TookTooLong(engine, begun)) continue;
    std::vector<MemberIndex> silent = SilentHomes(look, plan, proved, rolled);
    if (durable) co_await EndSeals(engine, to, target, std::move(plan.overtaken), std::move(silent));
    co_return OkStatus();
  }
  co_return Fail(Code::kNoQuorum,
                 "cannot tell whether an object has moved to {}: too few of its homes answer; retry",
                 to.text());
}

Task<Status> FinishShown(Engine& engine, ObjectPath from, Accepted moved, std::vector<MemberIndex> shown,
                         Tombstone tombstone, Late late_ones) {
  Result<MoveRecord> record = co_await ReadRecordFrom(engine, from, moved, std::move(shown), late_ones);
  if (!record && record.code() == Code::kNotFound) co_return record.error();
  // A seal that was cut short was never proved. The proved ones have gone with the rename, so nothing is owed
  // any more.
  if (!record && record.code() == Code::kCorruption) co_return OkStatus();
  if (!record) {
    co_return Fail(Code::kNoQuorum, "cannot tell where {} was moved to: {}", from.text(),
                   record.error().message);
  }
  co_return co_await AcceptTarget(engine, from, moved, std::move(*record), tombstone, late_ones);
}

// What one home says to ReadOrigin.
struct OriginHere {
  std::optional<ObjectPath> from;
  std::optional<Error> problem;
};

Task<OriginHere> ReadOriginOn(Engine& engine, MemberIndex home, std::vector<std::string> files) {
  OriginHere here;
  for (const std::string& file : files) {
    Result<std::string> text = co_await ReadManifestText(engine, home, file);
    Result<Manifest> manifest = text ? Manifest::Parse(*text) : Result<Manifest>(text.error());
    if (!manifest && manifest.code() != Code::kCorruption) here.problem = manifest.error();
    if (!manifest || !manifest->from) continue;
    Result<ObjectPath> from = ObjectPath::ParseStored(manifest->from->path);
    if (from) here.from = std::move(*from);
    if (here.from) break;
  }
  co_return std::move(here);
}

// Removes the seals that must not follow in place of an archive: those beside a promoted one, and a lone one
// of a server that its writer had given up. False: one was removed in place of `archive`, or may still be
// there.
Task<bool> RemoveLeftOverSeals(Engine& engine, ObjectPath from, Accepted moved, MoveRecord record,
                               MemberIndex member, States states, State archive) {
  if (archive.kind != StateKind::kPromoted) {
    const State place = PromotedState(moved.version.Unmoved(), record.oid, record.size, record.given);
    VersionAt there{record.to, TargetOf(record, moved)};
    const GivenUp given_up = co_await RemoveIfGivenUp(engine, from, member, FormatState(archive),
                                                      AcceptedFrom(place), std::move(there));
    co_return given_up == GivenUp::kNo;
  }
  for (const State& state : states) {
    if (!IsSealOf(state, moved.version.Unmoved(), record.oid)) continue;
    const Status removed = co_await RemoveState(engine, member, from, FormatState(state));
    if (!removed) co_return false;
  }
  co_return true;
}

Task<bool> NoArchiveLeft(Engine& engine, ObjectPath from, Accepted moved, MoveRecord record,
                         MemberIndex member) {
  const Result<States> states = co_await ListStates(engine, member, from);
  co_return states && !HasArchiveOf(*states, moved.version.Unmoved(), record.oid);
}

// Does F2 on one server. True: no archive of the version is left there.
Task<bool> MoveArchive(Engine& engine, ObjectPath from, Accepted moved, MoveRecord record,
                       MemberIndex member) {
  Result<States> states = co_await ListStates(engine, member, from);
  if (!states) co_return false;
  const State* found = ArchiveOf(*states, moved.version.Unmoved(), record.oid);
  if (found == nullptr) co_return true;
  const State archive = *found;
  const std::string source = StatePath(from, FormatState(archive));
  const Homes homes = engine.Homes(from);
  if (Contains(homes, member)) {
    // What a home accepts must never sink: it takes the tombstone before its archive leaves.
    const RollResult rolled = co_await RollForward(engine, from, member, moved, *states);
    if (!Stands(rolled)) co_return false;
  }
  const bool follows =
      co_await RemoveLeftOverSeals(engine, from, moved, record, member, std::move(*states), archive);
  if (!follows) co_return co_await NoArchiveLeft(engine, from, moved, record, member);
  const Status named = co_await KeepLongName(engine, member, record.to);
  if (!named) co_return false;
  const std::string target = FormatState(PromotedState(*moved.target, record.oid, record.size, record.given));
  XEC_FAILPOINT("rename.move_archive");
  const Status renamed =
      co_await Rename(engine.MetadataCall(), engine.server(member), source, StatePath(record.to, target));
  XEC_FAILPOINT("rename.archive");
  if (renamed) {
    const Status again = co_await KeepLongName(engine, member, record.to);
    (void)again;  // the homes have it as well
  }
  Status gone = renamed;
  if (!renamed && renamed.code() == Code::kAlreadyExists) {
    // The archive was repaired at the new name meanwhile.
    gone = co_await Remove(engine.MetadataCall(), engine.server(member), source);
  }
  if (!gone) co_return false;
  co_return co_await NoArchiveLeft(engine, from, moved, record, member);
}

}  // namespace

Task<Status> FinishTarget(Engine& engine, ObjectPath from, Accepted moved, Tombstone tombstone) {
  co_return co_await FinishShown(engine, from, moved, engine.Homes(from), tombstone, Late::kWaitedFor);
}

Task<Status> FinishMovesShown(Engine& engine, ObjectPath from, std::map<MemberIndex, States> listings,
                              Accepted highest, std::vector<MemberIndex> holders, Late late_ones) {
  const std::vector<Accepted> moves = MovesIn(listings);
  for (const Accepted& moved : moves) {
    std::vector<MemberIndex> shown;
    if (moved == highest) shown = holders;
    for (const auto& [home, states] : listings) {
      if (HasAccepted(states, moved) && !Contains(shown, home)) shown.push_back(home);
    }
    Status finished =
        co_await FinishShown(engine, from, moved, std::move(shown), Tombstone::kSeen, late_ones);
    if (!finished) co_return std::move(finished);
  }
  co_return OkStatus();
}

Task<bool> KeepMoved(Engine& engine, ObjectPath from, Accepted moved, Late late_ones) {
  const TimePoint begun = engine.executor().Now();
  const Homes homes = engine.Homes(from);
  ServerGather<MovedHere> gather(engine, RequestKind::kSync);
  for (const MemberIndex home : homes) gather.Start(home, FindMoved(engine, from, home, moved));
  size_t above = 0;
  size_t itself = 0;
  bool retired = false;
  std::vector<MemberIndex> without;
  const auto enough = [&] { return (retired ? above : itself) >= homes.quorum(); };
  while (gather.pending() > 0 && !enough()) {
    if (late_ones == Late::kPassedOver && gather.OnlyLateOnes()) break;
    const auto event = co_await gather.Next();
    if (!event.value || !event.value->heard) continue;
    above += event.value->above ? 1 : 0;
    retired = retired || event.value->retired;
    itself += event.value->itself ? 1 : 0;
    if (!event.value->itself) without.push_back(event.member);
  }
  if (!enough() && !retired && itself > 0 && !MutantActive(Mutant::kLeaveMovedHidden))
    itself += co_await CopyMoved(engine, from, std::move(without), moved);
  co_return enough() && !TookTooLong(engine, begun);
}

Task<size_t> MoveArchives(Engine& engine, ObjectPath from, Accepted moved, MoveRecord record,
                          std::vector<MemberIndex> servers) {
  ServerGather<bool> gather(engine, RequestKind::kSync);
  for (const MemberIndex member : servers) {
    gather.Start(member, MoveArchive(engine, from, moved, record, member));
  }
  size_t clear = 0;
  while (gather.timely() > 0) {
    const auto event = co_await gather.Next();
    if (event.value && *event.value) ++clear;
  }
  co_return clear;
}

Task<void> BringFrom(Engine& engine, ObjectPath from, std::vector<Accepted> moves, std::string oid,
                     MemberIndex home) {
  for (const Accepted& moved : moves) {
    Result<MoveRecord> record = co_await ReadMoveRecord(engine, from, moved);
    if (!record || record->oid != oid) continue;
    const Status finished = co_await FinishTarget(engine, from, moved, Tombstone::kSeen);
    const bool durable = finished && co_await KeepMoved(engine, from, moved, Late::kPassedOver);
    if (!durable) continue;
    std::vector<MemberIndex> one = {home};
    co_await MoveArchives(engine, from, moved, std::move(*record), std::move(one));
  }
}

std::vector<MemberIndex> ServersOfMove(const Engine& engine, const ObjectPath& from,
                                       const MoveRecord& record) {
  std::vector<MemberIndex> servers = engine.Homes(from);
  for (const std::string& id : record.servers) {
    const std::optional<MemberIndex> member = engine.FindMember(id);
    if (member && !Contains(servers, *member)) servers.push_back(*member);
  }
  return servers;
}

Task<Result<std::optional<ObjectPath>>> ReadOrigin(Engine& engine, ObjectPath path,
                                                   std::map<MemberIndex, States> listings, std::string rid) {
  std::map<MemberIndex, std::vector<std::string>> files;
  std::vector<MemberIndex> homes;
  for (const auto& [home, states] : listings) {
    for (const State& state : states) {
      const bool knows = state.origin == rid || (state.kind == StateKind::kMoveIn && state.oid == rid);
      if (knows) files[home].push_back(StatePath(path, FormatState(state)));
    }
    if (files.contains(home)) homes.push_back(home);
  }
  std::optional<Error> problem;
  std::optional<ObjectPath> origin;
  const bool read = co_await AskInTurn<OriginHere>(
      engine, std::move(homes),
      [&](MemberIndex home) { return ReadOriginOn(engine, home, std::move(files.at(home))); },
      [&](MemberIndex, OriginHere& here) {
        if (here.problem) problem = std::move(here.problem);
        origin = std::move(here.from);
        return origin.has_value();
      });
  if (read) co_return std::move(origin);
  if (problem) co_return Fail(Code::kUnavailable, "{}", problem->message);
  co_return std::nullopt;
}

}  // namespace xec

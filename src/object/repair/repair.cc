// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/repair/repair.hh"

#include <algorithm>
#include <map>
#include <set>

#include "base/contains.hh"
#include "commit/engine/pause.hh"
#include "commit/steps/place_copy.hh"
#include "object/layout.hh"
#include "object/repair/damage_survey.hh"
#include "object/repair/repair_copies.hh"
#include "object/repair/surplus.hh"
#include "object/spares.hh"

namespace xec {
namespace {

// An object is begun with anew where servers turn out to be full while they are written to.
constexpr int kRoundsMax = 3;
// An archive that was opened, but not read, is read again so much later: readers remember a failure for less.
constexpr Duration kReadAgainAfter = std::chrono::milliseconds(2500);

// What a round leaves to the next one.
struct Learnt {
  // Servers that took a copy's file, but not its bytes, and what they said: they are full, say.
  std::map<MemberIndex, std::string> refusing;
  // Servers that have to be listed as well: a bad archive beside its copy was met there.
  std::set<MemberIndex> also_listed;
  // Chunks that were read, and are damaged.
  std::vector<DamagedChunk> damaged;
};

// One round: from looking what is bad to copies in their places.
class Repair {
 public:
  Repair(RepairedVersion version, RepairReport before, Learnt learnt, bool last_round)
      : version_(std::move(version)),
        learnt_(std::move(learnt)),
        last_round_(last_round),
        report_(std::move(before)) {
    report_.problems.clear();
    survey_.Suspect(std::exchange(learnt_.damaged, {}));
  }
  Repair(const Repair&) = delete;
  Repair& operator=(const Repair&) = delete;

  Task<Result<RepairReport>> Run();
  const Learnt& learnt() const { return learnt_; }

 private:
  void PlanOnly(uint32_t lane);
  void TellPlaces();
  Status TakeMoves();
  Task<void> Place(ArchiveCopy& copy);
  Task<bool> Stands(const ArchiveCopy& copy);
  Task<void> RemoveBadOf(uint32_t lane, MemberIndex server);
  Task<void> RemoveSurplus();

  const RepairedVersion version_;
  Learnt learnt_;
  const bool last_round_;
  RepairReport report_;
  DamageSurvey survey_{version_};
  RepairCopies copies_{version_, survey_, learnt_.refusing};
};

// Gives the copy its place.
Task<void> Repair::Place(ArchiveCopy& copy) {
  bool keep_draft = false;
  if (copy.status) {
    Placed placed = co_await PlaceCopy(version_.engine, version_.info.path, copy.server, copy.draft,
                                       version_.info.accepted, copy.replaces);
    copy.status = std::move(placed.status);
    keep_draft = placed.keep_draft;
  }
  if (copy.status) {
    ++report_.archives_made;
    report_.copies.push_back({copy.server, LaneBytes(version_.manifest.Stripes(), copy.lane)});
    report_.made.push_back(fmt::format("archive {} is on {} now (it was lost: {})", copy.lane,
                                       version_.engine.server_id(copy.server),
                                       survey_.wrong().at(copy.lane)));
    const auto found = survey_.found_on().find(copy.lane);
    if (found == survey_.found_on().end()) co_return;
    bool stands = true;
    if (!version_.options.moves.empty()) stands = co_await Stands(copy);
    if (stands) co_await RemoveBadOf(copy.lane, found->second);
    co_return;
  }
  const Error& error = copy.status.error();
  const bool refused = error.code == Code::kNoSpace || error.code == Code::kPermissionDenied ||
                       error.code == Code::kAlreadyExists;
  if (refused) learnt_.refusing[copy.server] = error.message;
  // Another server has its turn first.
  if (!refused || last_round_) {
    report_.problems.push_back(fmt::format("archive {} of {} on {}: {}", copy.lane, version_.info.path.text(),
                                           version_.engine.server_id(copy.server), error.message));
  }
  if (keep_draft) co_return;
  version_.engine.scope().Spawn(DropDraft(version_.engine, copy.server, std::move(copy.file),
                                          StatePath(version_.info.path, FormatState(copy.draft))));
}

// Is the copy of a good archive in its place still? Another repair that finds both removes one of them.
Task<bool> Repair::Stands(const ArchiveCopy& copy) {
  const Result<States> states = co_await ListStates(version_.engine, copy.server, version_.info.path);
  co_return states&& ArchiveInPlace(*states, version_.info.accepted).has_value();
}

// Once the lane's copy stands: its bad archive on another server goes.
Task<void> Repair::RemoveBadOf(uint32_t lane, MemberIndex server) {
  const std::vector<ArchiveCopy>& copies = copies_.copies();
  const bool taken = std::any_of(copies.begin(), copies.end(),
                                 [&](const ArchiveCopy& copy) { return copy.server == server; });
  const std::optional<State> bad = survey_.Listed(server);
  if (taken || !bad) co_return;
  const Status removed =
      co_await RemoveBad(version_.engine, version_.info.path, server, version_.info.accepted, *bad);
  if (removed || removed.code() == Code::kConflict) co_return;
  report_.problems.push_back(
      fmt::format("archive {} of {} stays damaged on {}, though its copy is elsewhere now: {}", lane,
                  version_.info.path.text(), version_.engine.server_id(server), removed.error().message));
}

Task<void> Repair::RemoveSurplus() {
  const std::vector<SurplusArchive> surplus = co_await FindSurplus(version_, survey_);
  for (const SurplusArchive& archive : surplus) {
    if (!archive.archive) {
      ++report_.archives_twice;
      continue;
    }
    Status removed;
    if (!version_.options.dry_run) {
      removed = co_await RemoveBad(version_.engine, version_.info.path, archive.server,
                                   version_.info.accepted, *archive.archive);
    }
    if (removed) ++report_.archives_surplus;
    if (removed || removed.code() == Code::kConflict) continue;
    report_.problems.push_back(fmt::format(
        "archive {} of {} stays on {}, though another server has it: {}", archive.lane,
        version_.info.path.text(), version_.engine.server_id(archive.server), removed.error().message));
  }
}

Task<Result<RepairReport>> Repair::Run() {
  std::set<MemberIndex> listed = learnt_.also_listed;
  listed.insert(version_.options.shown_on.begin(), version_.options.shown_on.end());
  co_await survey_.ListArchives(std::move(listed));
  Status found = co_await survey_.FindBad();
  if (found && survey_.read_again()) {
    co_await Pause(version_.engine, kReadAgainAfter);
    found = co_await survey_.FindBad();
  }
  // An earlier repair has left bad archives beside their copies. Up to where the damage was met they were
  // read themselves: now the copies are read whole.
  if (found && !version_.reader->DamagedBeside().empty()) found = co_await survey_.FindBad();
  if (!found) co_return found.error();
  report_.survives = survey_.survives();
  if (!version_.options.deep || version_.options.dry_run) {
    const Status enough = survey_.EnoughLeft();
    if (!enough) co_return enough.error();
  }
  if (version_.options.dry_run && survey_.whole()) TellPlaces();
  if (!version_.options.moves.empty()) {
    const Status moves = TakeMoves();
    if (!moves) co_return moves.error();
  }
  // What was bad and was not made by an earlier round is found again.
  report_.archives_bad = report_.archives_made + survey_.bad().size();
  report_.archives_silent = survey_.archives_silent();
  report_.silent.assign(survey_.silent().begin(), survey_.silent().end());
  const bool whole = survey_.bad().empty() && survey_.archives_silent() == 0;
  if (whole && !version_.options.shown_on.empty()) co_await RemoveSurplus();
  if (version_.options.dry_run) {
    for (const uint32_t lane : survey_.bad()) PlanOnly(lane);
    co_return std::move(report_);
  }
  const std::vector<std::pair<uint32_t, MemberIndex>> beside = version_.reader->DamagedBeside();
  for (const auto& [lane, server] : beside) {
    if (!survey_.HasListed(server)) learnt_.also_listed.insert(server);
    if (!survey_.wrong().contains(lane)) co_await RemoveBadOf(lane, server);
  }
  for (const uint32_t lane : survey_.bad()) {
    const Status opened = co_await copies_.Open(lane);
    if (!opened) report_.problems.push_back(opened.error().message);
  }
  if (copies_.copies().empty()) co_return std::move(report_);
  co_await copies_.Write();
  learnt_.damaged = copies_.damaged();
  // One after the other: see PlaceCopy.
  std::optional<Error> lost;
  for (ArchiveCopy& copy : copies_.copies()) {
    co_await Place(copy);
    if (!copy.status && copy.status.code() == Code::kDataLoss) lost = copy.status.error();
  }
  if (lost && !version_.options.deep) co_return *lost;
  co_return std::move(report_);
}

void Repair::TellPlaces() {
  const StripeMap stripes = version_.manifest.Stripes();
  for (const auto& [lane, server] : survey_.found_on())
    report_.lanes.push_back({lane, server, LaneBytes(stripes, lane)});
  report_.spares = SparesFor(version_.engine, version_.info.path, version_.manifest, survey_.holders(),
                             version_.manifest.geometry.parity_chunks);
  // Nothing moves to where readers look last.
  const std::vector<MemberIndex> first =
      SparesSearched(version_.engine, version_.info.path, version_.manifest);
  std::erase_if(report_.spares, [&](MemberIndex spare) { return !Contains(first, spare); });
}

// The archives that are to be moved are made as if they were bad. Those of an earlier round have been moved.
Status Repair::TakeMoves() {
  const std::string& path = version_.info.path.text();
  if (!survey_.whole())
    return Fail(Code::kUnavailable, "{} lacks archives: it is to be repaired first", path);
  for (const LaneMove& move : version_.options.moves) {
    const auto found = survey_.found_on().find(move.lane);
    const bool there = found != survey_.found_on().end() && found->second == move.from;
    if (there && !Contains(survey_.holders(), move.to)) survey_.Leave(move);
  }
  return OkStatus();
}

void Repair::PlanOnly(uint32_t lane) {
  const std::optional<MemberIndex> target = copies_.Plan(lane);
  if (target) {
    report_.copies.push_back({*target, LaneBytes(version_.manifest.Stripes(), lane)});
  } else {
    report_.problems.push_back(
        fmt::format("no server could take archive {} of {}", lane, version_.info.path.text()));
  }
}

// Reads everything once more, with eyes that have not seen what was bad. Answers how many chunks still are.
Task<Result<uint64_t>> VerifyAgain(Engine& engine, NameInfo info, RepairOptions options) {
  Result<NameInfo> now = co_await LookUpLive(engine, info.path);
  if (!now) co_return now.error();
  // Another version lives there by now.
  if (now->accepted.oid != info.accepted.oid) co_return uint64_t{0};
  Result<std::shared_ptr<ObjectReader>> reader = co_await ObjectReader::Open(engine, std::move(*now));
  if (!reader) co_return reader.error();
  Result<Manifest> manifest = co_await (*reader)->GetManifest();
  if (!manifest) co_return manifest.error();
  uint64_t bad = 0;
  const Status verified = co_await (*reader)->Verify([&](const ChunkReport& chunk) {
    options.progress(chunk.bytes);
    const bool silent = IsAway(chunk) && !IsGone(engine, *manifest, options, chunk);
    if (chunk.health != ChunkHealth::kGood && !silent) ++bad;
  });
  if (!verified) co_return verified.error();
  co_return bad;
}

Task<Result<std::shared_ptr<ObjectReader>>> OpenFor(Engine& engine, NameInfo info,
                                                    const RepairOptions& options) {
  if (options.deep) return ObjectReader::Open(engine, std::move(info));
  return ObjectReader::OpenEnds(engine, std::move(info));
}

}  // namespace

Task<Result<RepairReport>> RepairObject(Engine& engine, NameInfo info, RepairOptions options) {
  if (options.version && *options.version != info.accepted.version) co_return RepairReport{};
  Learnt learnt;
  for (const LaneMove& move : options.moves) learnt.also_listed.insert(move.from);
  Result<RepairReport> report = RepairReport{};
  for (int round = 1; round <= kRoundsMax; ++round) {
    Result<std::shared_ptr<ObjectReader>> reader = co_await OpenFor(engine, info, options);
    if (!reader) co_return reader.error();
    Result<Manifest> manifest = co_await (*reader)->GetManifest();
    if (!manifest) co_return manifest.error();
    RepairedVersion version{engine, info, std::move(*reader), std::move(*manifest), options};
    Repair repair(std::move(version), std::move(*report), learnt, round == kRoundsMax);
    report = co_await repair.Run();
    if (!report) co_return std::move(report);
    const Learnt before = std::exchange(learnt, repair.learnt());
    const bool news = learnt.refusing.size() > before.refusing.size() ||
                      learnt.also_listed.size() > before.also_listed.size() || !learnt.damaged.empty();
    if (!news) break;
  }
  for (const DamagedChunk& left : learnt.damaged) report->problems.push_back(left.problem);
  if (report->archives_made == 0 || !options.deep) co_return std::move(report);
  const std::string path = info.path.text();
  const Result<uint64_t> bad = co_await VerifyAgain(engine, std::move(info), std::move(options));
  if (!bad) co_return bad.error();
  if (*bad > 0 && report->problems.empty())
    report->problems.push_back(fmt::format("{} chunks of {} are still bad", *bad, path));
  co_return std::move(report);
}

uint64_t RepairMemoryBytes(const Geometry& geometry) {
  StripeBuffer::Shape stripe;
  stripe.geometry = geometry;
  stripe.data_bytes_max = geometry.StripeSize();
  // What is read and what is made of it are no more than a stripe, but for what is copied.
  return kStripesAtOnce * stripe.BufferBytes();
}

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/repair/repair.hh"

#include <algorithm>
#include <map>
#include <set>

#include "commit/engine/pause.hh"
#include "commit/steps/place_copy.hh"
#include "object/repair/damage_survey.hh"
#include "object/repair/repair_copies.hh"

namespace xec {
namespace {

// An object is begun with anew where servers turn out to be full while they are written to.
constexpr int kRoundsMax = 3;
// An archive that was opened, but not read, is read again so much later: readers remember a failure for less.
constexpr Duration kReadAgainAfter = std::chrono::milliseconds(2500);

// One round: from looking what is bad to copies in their places.
class Repair {
 public:
  Repair(RepairedVersion version, RepairReport before, std::map<MemberIndex, std::string> refusing,
         std::set<MemberIndex> also_listed, bool last_round)
      : version_(std::move(version)),
        refusing_(std::move(refusing)),
        also_listed_(std::move(also_listed)),
        last_round_(last_round),
        report_(std::move(before)) {
    report_.problems.clear();
  }
  Repair(const Repair&) = delete;
  Repair& operator=(const Repair&) = delete;

  Task<Result<RepairReport>> Run();
  // Servers that took a copy's file, but not its bytes, and what they said: they are full, say.
  const std::map<MemberIndex, std::string>& refusing() const { return refusing_; }
  // Servers that have to be listed as well, next time: a bad archive beside its copy was met there.
  const std::set<MemberIndex>& also_listed() const { return also_listed_; }

 private:
  Task<void> Place(ArchiveCopy& copy);
  Task<void> RemoveBadOf(uint32_t lane, MemberIndex server);

  const RepairedVersion version_;
  std::map<MemberIndex, std::string> refusing_;
  std::set<MemberIndex> also_listed_;
  const bool last_round_;
  RepairReport report_;
  DamageSurvey survey_{version_};
  RepairCopies copies_{version_, survey_, refusing_};
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
    report_.made.push_back(fmt::format("archive {} is on {} now (it was lost: {})", copy.lane,
                                       version_.engine.server_id(copy.server),
                                       survey_.wrong().at(copy.lane)));
    const auto found = survey_.found_on().find(copy.lane);
    if (found != survey_.found_on().end()) co_await RemoveBadOf(copy.lane, found->second);
    co_return;
  }
  const Error& error = copy.status.error();
  const bool refused = error.code == Code::kNoSpace || error.code == Code::kPermissionDenied;
  if (refused) refusing_[copy.server] = error.message;
  // Another server has its turn first.
  if (!refused || last_round_) {
    report_.problems.push_back(fmt::format("archive {} of {} on {}: {}", copy.lane, version_.info.path.text(),
                                           version_.engine.server_id(copy.server), error.message));
  }
  if (keep_draft) co_return;
  version_.engine.scope().Spawn(DropDraft(version_.engine, copy.server, std::move(copy.file),
                                          StatePath(version_.info.path, FormatState(copy.draft))));
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

Task<Result<RepairReport>> Repair::Run() {
  co_await survey_.ListArchives(also_listed_);
  Status found = co_await survey_.FindBad();
  if (found && survey_.read_again()) {
    co_await Pause(version_.engine, kReadAgainAfter);
    found = co_await survey_.FindBad();
  }
  // An earlier repair has left bad archives beside their copies. Up to where the damage was met they were
  // read themselves: now the copies are read whole.
  if (found && !version_.reader->DamagedBeside().empty()) found = co_await survey_.FindBad();
  if (!found) co_return found.error();
  // What was bad and was not made by an earlier round is found again.
  report_.archives_bad = report_.archives_made + survey_.bad().size();
  report_.archives_silent = survey_.archives_silent();
  report_.silent.assign(survey_.silent().begin(), survey_.silent().end());
  const std::vector<std::pair<uint32_t, MemberIndex>> beside = version_.reader->DamagedBeside();
  for (const auto& [lane, server] : beside) {
    if (!survey_.HasListed(server)) also_listed_.insert(server);
    if (!survey_.wrong().contains(lane)) co_await RemoveBadOf(lane, server);
  }
  for (const uint32_t lane : survey_.bad()) {
    const Status opened = co_await copies_.Open(lane);
    if (!opened) report_.problems.push_back(opened.error().message);
  }
  if (copies_.copies().empty()) co_return std::move(report_);
  co_await copies_.Write();
  // One after the other: see PlaceCopy.
  for (ArchiveCopy& copy : copies_.copies()) co_await Place(copy);
  co_return std::move(report_);
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

}  // namespace

Task<Result<RepairReport>> RepairObject(Engine& engine, NameInfo info, RepairOptions options) {
  if (options.version && *options.version != info.accepted.version) co_return RepairReport{};
  std::map<MemberIndex, std::string> refusing;
  std::set<MemberIndex> also_listed;
  Result<RepairReport> report = RepairReport{};
  for (int round = 1; round <= kRoundsMax; ++round) {
    NameInfo of_reader = info;
    Result<std::shared_ptr<ObjectReader>> reader = co_await ObjectReader::Open(engine, std::move(of_reader));
    if (!reader) co_return reader.error();
    Result<Manifest> manifest = co_await (*reader)->GetManifest();
    if (!manifest) co_return manifest.error();
    const size_t refused = refusing.size();
    RepairedVersion version{engine, info, std::move(*reader), std::move(*manifest), options};
    Repair repair(std::move(version), std::move(*report), refusing, also_listed, round == kRoundsMax);
    report = co_await repair.Run();
    if (!report) co_return std::move(report);
    const size_t listed = also_listed.size();
    refusing = repair.refusing();
    also_listed = repair.also_listed();
    if (refusing.size() == refused && also_listed.size() == listed) break;
  }
  if (report->archives_made == 0) co_return std::move(report);
  const std::string path = info.path.text();
  const Result<uint64_t> bad = co_await VerifyAgain(engine, std::move(info), std::move(options));
  if (!bad) co_return bad.error();
  if (*bad > 0 && report->problems.empty())
    report->problems.push_back(fmt::format("{} chunks of {} are still bad", *bad, path));
  co_return std::move(report);
}

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/repair/repair.hh"

#include <algorithm>
#include <map>

#include "base/log.hh"
#include "commit/pause.hh"
#include "commit/place_copy.hh"
#include "commit/server_gather.hh"
#include "object/layout.hh"
#include "object/read/chunk_reader.hh"
#include "object/repair/repair_run.hh"

namespace xec {
namespace {

// An object is begun with anew where servers turn out to be full while they are written to.
constexpr int kRoundsMax = 3;
// An archive that was opened, but not read, is read again so much later: readers remember a failure for less.
constexpr Duration kReadAgainAfter = std::chrono::milliseconds(2500);
constexpr int kListTriesMax = 3;
constexpr Duration kListAgainAfter = std::chrono::milliseconds(500);

// Does the chunk's server not answer now? What such a server has is left alone, unless it is gone.
bool IsAway(const ChunkReport& chunk) { return chunk.health == ChunkHealth::kUnavailable && !chunk.doubted; }

// Will the chunk's server never answer again?
bool IsGone(const Engine& engine, const Manifest& manifest, const RepairOptions& options,
            const ChunkReport& chunk) {
  if (!IsAway(chunk)) return false;
  if (chunk.server < engine.server_count()) return Contains(options.gone, chunk.server);
  const uint32_t lane = LaneOfChunk(chunk.stripe, chunk.chunk, manifest.geometry.Total());
  return lane < manifest.servers.size() && !engine.FindMember(manifest.servers[lane]);
}

}  // namespace

// What the servers that the manifest names have, before it is read: what comes there later is not what was
// read, but another repair's. Where the listing fails nothing counts as listed. Servers that were bad when
// they were last asked are waited for as well: they may be back, and what they have is read then.
Task<void> Repair::ListArchives() {
  for (const auto& [home, states] : info_.listings) listed_[home] = ArchiveInPlace(states, info_.accepted);
  std::set<MemberIndex> wanted = also_listed_;
  for (const std::string& id : manifest_.servers) {
    const std::optional<MemberIndex> server = engine_.FindMember(id);
    if (server) wanted.insert(*server);
  }
  ServerGather<Result<States>> lists(engine_, RequestKind::kMetadata, kRepairPatience);
  for (const MemberIndex server : wanted) {
    if (listed_.emplace(server, std::nullopt).second)
      lists.Start(server, ListStates(engine_, server, info_.path));
  }
  const TimePoint until = engine_.executor().Now() + kRepairPatience;
  while (lists.pending() > 0) {
    const bool for_all = engine_.executor().Now() < until;
    if (!for_all && lists.timely() == 0) break;
    const TimePoint next = for_all ? until : TimePoint::max();
    const auto event = co_await lists.Next(next);
    if (event.value && *event.value) listed_[event.member] = ArchiveInPlace(**event.value, info_.accepted);
  }
}

// A connection that was lost is made anew before a listing is answered.
Task<bool> Repair::Answers(MemberIndex server) {
  for (int tries = 1; tries <= kListTriesMax; ++tries) {
    const Result<States> states = co_await ListStates(engine_, server, info_.path);
    if (states) co_return true;
    co_await Pause(engine_, kListAgainAfter);
  }
  co_return false;
}

// An archive that its server opens, but twice, with time in between, did not give the bytes of is bad if the
// server answers otherwise: one that meets a bad sector may say nothing, but drop the connection.
Task<void> Repair::NoteUnread(std::map<uint32_t, ChunkReport> unread, std::vector<bool>& silent,
                              std::vector<bool>& bad) {
  read_again_ = false;
  for (auto& [lane, chunk] : unread) {
    const bool answers = co_await Answers(chunk.server);
    if (!answers) continue;
    if (chunk.times_unread < 2) {
      read_again_ = true;
      continue;
    }
    unread_.insert(lane);
    silent[lane] = false;
    bad[lane] = true;
    wrong_.emplace(lane, chunk.problem);
  }
}

// A lane is bad when a chunk of it is; it is silent when its server does not answer, but may come back.
Task<Status> Repair::FindBad() {
  bad_.clear();
  unread_.clear();
  wrong_.clear();
  found_on_.clear();
  holders_.clear();
  report_.archives_silent = 0;
  report_.silent.clear();
  const uint32_t total = manifest_.geometry.Total();
  std::vector<bool> bad(total, false), silent(total, false);
  std::map<uint32_t, ChunkReport> unread;  // by lane
  std::map<uint32_t, std::set<MemberIndex>> silent_on;
  Status verified = co_await reader_->Verify([&](const ChunkReport& chunk) {
    options_.progress(chunk.bytes);
    const uint32_t lane = LaneOfChunk(chunk.stripe, chunk.chunk, total);
    const bool gone = IsGone(engine_, manifest_, options_, chunk);
    const bool nowhere = chunk.health == ChunkHealth::kMissing || chunk.doubted;
    if (IsAway(chunk) && !gone) {
      silent[lane] = true;
      if (chunk.times_unread > 0) unread.insert_or_assign(lane, chunk);
      if (chunk.server < engine_.server_count()) silent_on[lane].insert(chunk.server);
    } else if (chunk.health != ChunkHealth::kGood) {
      bad[lane] = true;
      wrong_.emplace(lane, chunk.problem);
    }
    if (chunk.server < engine_.server_count() && !nowhere && !gone) found_on_[lane] = chunk.server;
  });
  co_await NoteUnread(std::move(unread), silent, bad);
  for (uint32_t lane = 0; lane < total; ++lane) {
    if (silent[lane]) {
      ++report_.archives_silent;
      for (const MemberIndex server : silent_on[lane]) NoteSilent(server);
    }
    if (bad[lane] && !silent[lane]) bad_.push_back(lane);
    const auto found = found_on_.find(lane);
    if ((!bad[lane] || unread_.contains(lane)) && found != found_on_.end()) holders_.push_back(found->second);
  }
  // What was bad and was not made by an earlier round is found again.
  report_.archives_bad = report_.archives_made + bad_.size();
  co_return std::move(verified);
}

void Repair::NoteSilent(MemberIndex server) {
  std::vector<MemberIndex>& silent = report_.silent;
  const auto place = std::lower_bound(silent.begin(), silent.end(), server);
  if (place == silent.end() || *place != server) silent.insert(place, server);
}

// Gives the copy its place.
Task<void> Repair::Place(ArchiveCopy& copy) {
  bool keep_draft = false;
  if (copy.status) {
    Placed placed =
        co_await PlaceCopy(engine_, info_.path, copy.server, copy.draft, info_.accepted, copy.replaces);
    copy.status = std::move(placed.status);
    keep_draft = placed.keep_draft;
  }
  if (copy.status) {
    ++report_.archives_made;
    report_.made.push_back(fmt::format("archive {} is on {} now (it was lost: {})", copy.lane,
                                       engine_.server_id(copy.server), wrong_[copy.lane]));
    const auto found = found_on_.find(copy.lane);
    if (found != found_on_.end()) co_await RemoveBadOf(copy.lane, found->second);
    co_return;
  }
  const Error& error = copy.status.error();
  const bool refused = error.code == Code::kNoSpace || error.code == Code::kPermissionDenied;
  if (refused) refusing_[copy.server] = error.message;
  // Another server has its turn first.
  if (!refused || last_round_) {
    report_.problems.push_back(fmt::format("archive {} of {} on {}: {}", copy.lane, info_.path.text(),
                                           engine_.server_id(copy.server), error.message));
  }
  if (keep_draft) co_return;
  engine_.scope().Spawn(
      DropDraft(engine_, copy.server, std::move(copy.file), StatePath(info_.path, FormatState(copy.draft))));
}

// Once the lane's copy stands: its bad archive on another server goes.
Task<void> Repair::RemoveBadOf(uint32_t lane, MemberIndex server) {
  const bool taken = std::any_of(copies_.begin(), copies_.end(),
                                 [&](const ArchiveCopy& copy) { return copy.server == server; });
  const std::optional<State> bad = listed_[server];
  if (taken || !bad) co_return;
  const Status removed = co_await RemoveBad(engine_, info_.path, server, info_.accepted, *bad);
  if (removed || removed.code() == Code::kConflict) co_return;
  report_.problems.push_back(
      fmt::format("archive {} of {} stays damaged on {}, though its copy is elsewhere now: {}", lane,
                  info_.path.text(), engine_.server_id(server), removed.error().message));
}

Task<Result<RepairReport>> Repair::Run() {
  co_await ListArchives();
  Status found = co_await FindBad();
  if (found && read_again_) {
    co_await Pause(engine_, kReadAgainAfter);
    found = co_await FindBad();
  }
  // An earlier repair has left bad archives beside their copies. Up to where the damage was met they were
  // read themselves: now the copies are read whole.
  if (found && !reader_->DamagedBeside().empty()) found = co_await FindBad();
  if (!found) co_return found.error();
  const std::vector<std::pair<uint32_t, MemberIndex>> beside = reader_->DamagedBeside();
  for (const auto& [lane, server] : beside) {
    if (!listed_.contains(server)) also_listed_.insert(server);
    if (!wrong_.contains(lane)) co_await RemoveBadOf(lane, server);
  }
  for (const uint32_t lane : bad_) co_await OpenCopy(lane);
  if (copies_.empty()) co_return std::move(report_);
  Result<ObjectDigests> digests = ObjectDigests::Create({});
  Status written = digests ? OkStatus() : Status(digests.error());
  const TimePoint started = engine_.executor().Now();
  if (written) written = co_await WriteStripes(*digests);
  for (ArchiveCopy& copy : copies_) {
    if (!written) copy.status = written;
  }
  co_await EndArchives(engine_.executor().Now() - started);
  // One after the other: see PlaceCopy.
  for (ArchiveCopy& copy : copies_) co_await Place(copy);
  co_return std::move(report_);
}

namespace {

// Reads everything once more, with eyes that have not seen what was bad.
Task<Status> VerifyAgain(Engine& engine, NameInfo info, RepairOptions options, RepairReport& report) {
  const std::string path = info.path.text();
  Result<NameInfo> now = co_await LookUpLive(engine, info.path);
  if (!now) co_return now.error();
  // Another version lives there by now.
  if (now->accepted.oid != info.accepted.oid) co_return OkStatus();
  Result<std::shared_ptr<ObjectReader>> reader = co_await ObjectReader::Open(engine, std::move(*now));
  if (!reader) co_return reader.error();
  Result<Manifest> manifest = co_await (*reader)->GetManifest();
  if (!manifest) co_return manifest.error();
  uint64_t bad = 0;
  Status verified = co_await (*reader)->Verify([&](const ChunkReport& chunk) {
    options.progress(chunk.bytes);
    const bool silent = IsAway(chunk) && !IsGone(engine, *manifest, options, chunk);
    if (chunk.health != ChunkHealth::kGood && !silent) ++bad;
  });
  if (bad > 0 && report.problems.empty())
    report.problems.push_back(fmt::format("{} chunks of {} are still bad", bad, path));
  co_return std::move(verified);
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
    NameInfo of_repair = info;
    const size_t refused = refusing.size();
    Repair repair(engine, std::move(of_repair), std::move(*reader), std::move(*manifest), options,
                  std::move(*report), refusing, also_listed, round == kRoundsMax);
    report = co_await repair.Run();
    if (!report) co_return std::move(report);
    const size_t listed = also_listed.size();
    refusing = repair.refusing();
    also_listed = repair.also_listed();
    if (refusing.size() == refused && also_listed.size() == listed) break;
  }
  if (report->archives_made == 0) co_return std::move(report);
  const Status verified = co_await VerifyAgain(engine, std::move(info), std::move(options), *report);
  if (!verified) co_return verified.error();
  co_return std::move(report);
}

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/repair/damage_survey.hh"

#include "base/contains.hh"
#include "commit/engine/pause.hh"
#include "commit/engine/server_gather.hh"
#include "commit/steps/place_copy.hh"
#include "object/layout.hh"

namespace xec {
namespace {

constexpr int kListTriesMax = 3;
constexpr Duration kListAgainAfter = std::chrono::milliseconds(500);

}  // namespace

bool IsAway(const ChunkReport& chunk) { return chunk.health == ChunkHealth::kUnavailable && !chunk.doubted; }

bool IsGone(const Engine& engine, const Manifest& manifest, const RepairOptions& options,
            const ChunkReport& chunk) {
  if (!IsAway(chunk)) return false;
  if (chunk.server < engine.server_count()) return Contains(options.gone, chunk.server);
  const uint32_t lane = LaneOfChunk(chunk.stripe, chunk.chunk, manifest.geometry.Total());
  return lane < manifest.servers.size() && !engine.FindMember(manifest.servers[lane]);
}

Task<void> DamageSurvey::ListArchives(std::set<MemberIndex> wanted) {
  for (const auto& [home, states] : version_.info.listings)
    listed_[home] = ArchiveInPlace(states, version_.info.accepted);
  for (const std::string& id : version_.manifest.servers) {
    const std::optional<MemberIndex> server = version_.engine.FindMember(id);
    if (server) wanted.insert(*server);
  }
  ServerGather<Result<States>> lists(version_.engine, RequestKind::kMetadata, kRepairPatience);
  for (const MemberIndex server : wanted) {
    if (listed_.emplace(server, std::nullopt).second)
      lists.Start(server, ListStates(version_.engine, server, version_.info.path));
  }
  const TimePoint until = version_.engine.executor().Now() + kRepairPatience;
  while (lists.pending() > 0) {
    const bool for_all = version_.engine.executor().Now() < until;
    if (!for_all && lists.timely() == 0) break;
    const TimePoint next = for_all ? until : TimePoint::max();
    const auto event = co_await lists.Next(next);
    if (event.value && *event.value)
      listed_[event.member] = ArchiveInPlace(**event.value, version_.info.accepted);
  }
}

// A connection that was lost is made anew before a listing is answered.
Task<bool> DamageSurvey::Answers(MemberIndex server) {
  for (int tries = 1; tries <= kListTriesMax; ++tries) {
    const Result<States> states = co_await ListStates(version_.engine, server, version_.info.path);
    if (states) co_return true;
    co_await Pause(version_.engine, kListAgainAfter);
  }
  co_return false;
}

// An archive that its server opens, but twice, with time in between, did not give the bytes of is bad if the
// server answers otherwise: one that meets a bad sector may say nothing, but drop the connection.
Task<void> DamageSurvey::NoteUnread(std::map<uint32_t, ChunkReport> unread) {
  read_again_ = false;
  for (auto& [lane, chunk] : unread) {
    const bool answers = co_await Answers(chunk.server);
    if (!answers) continue;
    if (chunk.times_unread < 2) {
      read_again_ = true;
      continue;
    }
    unread_.insert(lane);
    wrong_.emplace(lane, chunk.problem);
  }
}

Task<Status> DamageSurvey::FindBad() {
  bad_.clear();
  unread_.clear();
  wrong_.clear();
  found_on_.clear();
  holders_.clear();
  archives_silent_ = 0;
  silent_.clear();
  const uint32_t total = version_.manifest.geometry.Total();
  std::vector<bool> bad(total, false), silent(total, false);
  std::map<uint32_t, ChunkReport> unread;  // by lane
  std::map<uint32_t, std::set<MemberIndex>> silent_on;
  Status verified = co_await version_.reader->Verify([&](const ChunkReport& chunk) {
    version_.options.progress(chunk.bytes);
    const uint32_t lane = LaneOfChunk(chunk.stripe, chunk.chunk, total);
    const bool gone = IsGone(version_.engine, version_.manifest, version_.options, chunk);
    const bool nowhere = chunk.health == ChunkHealth::kMissing || chunk.doubted;
    if (IsAway(chunk) && !gone) {
      silent[lane] = true;
      if (chunk.times_unread > 0) unread.insert_or_assign(lane, chunk);
      if (chunk.server < version_.engine.server_count()) silent_on[lane].insert(chunk.server);
    } else if (chunk.health != ChunkHealth::kGood) {
      bad[lane] = true;
      wrong_.emplace(lane, chunk.problem);
    }
    if (chunk.server < version_.engine.server_count() && !nowhere && !gone) found_on_[lane] = chunk.server;
  });
  co_await NoteUnread(std::move(unread));
  for (const uint32_t lane : unread_) {
    silent[lane] = false;
    bad[lane] = true;
  }
  for (uint32_t lane = 0; lane < total; ++lane) {
    if (silent[lane]) {
      ++archives_silent_;
      silent_.insert(silent_on[lane].begin(), silent_on[lane].end());
    }
    if (bad[lane] && !silent[lane]) bad_.push_back(lane);
    const auto found = found_on_.find(lane);
    if ((!bad[lane] || unread_.contains(lane)) && found != found_on_.end()) holders_.push_back(found->second);
  }
  co_return std::move(verified);
}

std::optional<State> DamageSurvey::Listed(MemberIndex server) const {
  const auto listed = listed_.find(server);
  return listed == listed_.end() ? std::nullopt : listed->second;
}

}  // namespace xec

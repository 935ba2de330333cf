// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/repair/damage_survey.hh"

#include <algorithm>

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

// An archive is bad if its server opens it, has twice, with time in between, not given its bytes, and answers
// otherwise. A server that meets a bad sector may say nothing, but drop the connection.
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

// What is found out of the lanes, by lane.
struct DamageSurvey::Lanes {
  std::vector<bool> bad, silent, good;
  std::map<uint32_t, ChunkReport> unread;
  std::map<uint32_t, std::set<MemberIndex>> silent_on;
};

void DamageSurvey::Take(const ChunkReport& chunk, Lanes& lanes) {
  Count(chunk);
  const uint32_t lane = LaneOfChunk(chunk.stripe, chunk.chunk, version_.manifest.geometry.Total());
  const bool gone = IsGone(version_.engine, version_.manifest, version_.options, chunk);
  const bool nowhere = chunk.health == ChunkHealth::kMissing || chunk.doubted;
  const bool known = chunk.server < version_.engine.server_count();
  if (IsAway(chunk) && !gone) {
    lanes.silent[lane] = true;
    if (chunk.times_unread > 0) lanes.unread.insert_or_assign(lane, chunk);
    if (known) lanes.silent_on[lane].insert(chunk.server);
  } else if (chunk.health != ChunkHealth::kGood) {
    lanes.bad[lane] = true;
    wrong_.emplace(lane, chunk.problem);
  } else {
    lanes.good[lane] = true;
    // Good to read, but not where it is to stay.
    if (known && IsBeingEmptied(version_.engine.descriptor().members[chunk.server].role)) {
      lanes.bad[lane] = true;
      wrong_.emplace(lane, version_.engine.server_id(chunk.server) + " is being emptied");
    }
  }
  if (known && !nowhere && !gone) found_on_[lane] = chunk.server;
}

// What was damaged when it was read may be another repair's by now.
Task<Status> DamageSurvey::LookAtSuspects(Lanes& lanes) {
  if (suspects_.empty()) co_return OkStatus();
  Result<ReadContext> context = co_await version_.reader->GetContext();
  if (!context) co_return context.error();
  for (const DamagedChunk& suspect : suspects_) {
    const bool damaged = co_await IsDamaged(*context, suspect);
    if (!damaged) continue;
    const uint32_t lane = LaneOfChunk(suspect.stripe, suspect.chunk, version_.manifest.geometry.Total());
    lanes.bad[lane] = true;
    wrong_.emplace(lane, suspect.problem);
    --left_[suspect.stripe].good;
    left_[suspect.stripe].problems += suspect.problem;
  }
  co_return OkStatus();
}

Task<Status> DamageSurvey::FindBad() {
  bad_.clear();
  unread_.clear();
  wrong_.clear();
  found_on_.clear();
  holders_.clear();
  archives_silent_ = 0;
  silent_.clear();
  absent_.clear();
  silent_lanes_.clear();
  left_.clear();
  const uint32_t total = version_.manifest.geometry.Total();
  const std::vector<bool> none(total, false);
  Lanes lanes{none, none, none, {}, {}};
  Status looked;
  if (version_.options.deep) {
    looked = co_await version_.reader->Verify([&](const ChunkReport& chunk) {
      version_.options.progress(chunk.bytes);
      Take(chunk, lanes);
    });
  } else {
    looked = co_await version_.reader->Locate([&](const ChunkReport& chunk) { Take(chunk, lanes); });
  }
  if (looked) looked = co_await LookAtSuspects(lanes);
  co_await NoteUnread(std::move(lanes.unread));
  for (const uint32_t lane : unread_) {
    lanes.silent[lane] = false;
    lanes.bad[lane] = true;
  }
  for (uint32_t lane = 0; lane < total; ++lane) {
    if (lanes.silent[lane]) {
      ++archives_silent_;
      silent_.insert(lanes.silent_on[lane].begin(), lanes.silent_on[lane].end());
      silent_lanes_.insert(lane);
    }
    if (!lanes.good[lane]) absent_.insert(lane);
    if (lanes.bad[lane] && !lanes.silent[lane]) bad_.push_back(lane);
    const auto found = found_on_.find(lane);
    if ((!lanes.bad[lane] || unread_.contains(lane)) && found != found_on_.end())
      holders_.push_back(found->second);
  }
  co_return std::move(looked);
}

void DamageSurvey::Leave(const LaneMove& move) {
  bad_.push_back(move.lane);
  std::sort(bad_.begin(), bad_.end());
  wrong_.emplace(move.lane, fmt::format("it was to leave {}", version_.engine.server_id(move.from)));
  std::erase(holders_, move.from);
}

void DamageSurvey::Count(const ChunkReport& chunk) {
  Left& left = left_[chunk.stripe];
  if (left.needed == 0) {
    const StripeMap stripes = version_.manifest.Stripes();
    for (uint32_t data = 0; data < version_.manifest.geometry.data_chunks; ++data)
      left.needed += stripes.ChunkBytes(chunk.stripe, data) > 0 ? 1 : 0;
  }
  if (chunk.health == ChunkHealth::kGood) {
    ++left.good;
    return;
  }
  left.away = left.away || chunk.health == ChunkHealth::kUnavailable;
  left.problems += (left.problems.empty() ? "" : "; ") + chunk.problem;
}

int DamageSurvey::survives() const {
  int least = static_cast<int>(version_.manifest.geometry.parity_chunks);
  for (const auto& [stripe, left] : left_)
    least = std::min(least, static_cast<int>(left.good) - static_cast<int>(left.needed));
  return least;
}

Status DamageSurvey::EnoughLeft() const {
  for (const auto& [stripe, left] : left_) {
    if (left.good >= left.needed) continue;
    const std::string& path = version_.info.path.text();
    if (left.away)
      return Fail(Code::kUnavailable,
                  "stripe {} of {} cannot be had now: {} of the {} chunks needed are good ({})", stripe, path,
                  left.good, left.needed, left.problems);
    return Fail(Code::kDataLoss, "stripe {} of {} is lost: {} of the {} chunks needed are good ({})", stripe,
                path, left.good, left.needed, left.problems);
  }
  return OkStatus();
}

std::optional<State> DamageSurvey::Listed(MemberIndex server) const {
  const auto listed = listed_.find(server);
  return listed == listed_.end() ? std::nullopt : listed->second;
}

}  // namespace xec

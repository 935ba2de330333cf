// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/clean/idle_names.hh"

#include <algorithm>

#include "base/check.hh"
#include "base/contains.hh"
#include "base/mutant.hh"
#include "commit/clean/clean_times.hh"

namespace xec {
namespace {

// They are few, so that little of what another cleaner has done since is missed.
constexpr size_t kNamesAtOnceMax = 64;

// The state that is all a server may show of an idle name.
const State* OnlyState(const States& states) {
  if (states.size() != 1) return nullptr;
  const State& state = states.front();
  const bool plain = state.kind == StateKind::kPromoted || state.kind == StateKind::kDirectory ||
                     (state.kind == StateKind::kWitness && state.origin.empty());
  return plain ? &state : nullptr;
}

// The first millisecond for which IsPast holds.
int64_t DueMs(int64_t since_ms, Duration wait) {
  return since_ms + std::chrono::duration_cast<std::chrono::milliseconds>(wait).count() + 1;
}

// What lives at a name that is idle or removed; all servers that show something show the same.
RestingName LivesThere(const std::map<MemberIndex, States>& shown) {
  Accepted accepted;
  for (const auto& [member, states] : shown) accepted = std::max(accepted, HighestAccepted(states));
  RestingName lives;
  lives.kind = accepted.kind == Accepted::kDirectory ? RestingName::kDirectory
               : accepted.Live()                     ? RestingName::kObject
                                                     : RestingName::kRemoved;
  lives.size = accepted.size;
  lives.version = accepted.version;
  lives.settings = accepted.given.settings;
  return lives;
}

}  // namespace

size_t ArchivesIn(const Geometry& wanted, uint64_t size) {
  const Result<Geometry> geometry = FitGeometry(wanted, size);
  if (!geometry) return 0;
  size_t archives = 0;
  for (uint32_t lane = 0; lane < geometry->Total(); ++lane) {
    if (geometry->ChunkBytes(size, 0, lane) > 0) ++archives;
  }
  return archives;
}

size_t ArchivesMax(const Engine& engine, uint64_t size) {
  size_t most = ArchivesIn(engine.descriptor().geometry, size);
  for (const PathRule& rule : engine.descriptor().rules)
    most = std::max(most, ArchivesIn(rule.geometry, size));
  return most;
}

bool IsIdle(const std::map<MemberIndex, States>& shown, const std::vector<MemberIndex>& homes,
            const std::function<size_t(uint64_t size)>& archives_min) {
  const State* first = nullptr;
  size_t archives = 0, on_homes = 0;
  for (const auto& [member, states] : shown) {
    const State* state = OnlyState(states);
    if (state == nullptr) return false;
    if (first == nullptr) first = state;
    const bool same = state->version == first->version && state->oid == first->oid &&
                      state->size == first->size &&
                      (state->kind == StateKind::kDirectory) == (first->kind == StateKind::kDirectory);
    const bool home = Contains(homes, member);
    if (!same || (!home && state->kind != StateKind::kPromoted)) return false;
    archives += state->kind == StateKind::kPromoted ? 1 : 0;
    on_homes += home ? 1 : 0;
  }
  if (on_homes < Quorum(homes.size())) return false;
  return first->kind == StateKind::kDirectory || archives >= archives_min(first->size);
}

bool IsRemoved(const std::map<MemberIndex, States>& shown, const std::vector<MemberIndex>& homes) {
  std::optional<Version> version;
  size_t have = 0;
  for (const auto& [member, states] : shown) {
    if (!Contains(homes, member) || states.size() > 1) return false;
    if (states.empty()) continue;
    const State& state = states.front();
    if (state.kind != StateKind::kTombstone || state.IsMoved()) return false;
    if (version && *state.version != *version) return false;
    version = state.version;
    ++have;
  }
  return have >= Quorum(homes.size());
}

bool IsForgettable(const std::map<MemberIndex, States>& shown, const std::vector<MemberIndex>& homes) {
  const bool all =
      std::none_of(shown.begin(), shown.end(), [](const auto& home) { return home.second.empty(); });
  return all && shown.size() == homes.size() && IsRemoved(shown, homes);
}

std::optional<Superseding> WithoutSuperseded(const std::map<MemberIndex, States>& shown,
                                             const std::vector<MemberIndex>& homes, int64_t now_ms) {
  Version highest;
  for (const auto& [member, states] : shown) highest = std::max(highest, HighestAccepted(states).version);
  Superseding result;
  result.current = highest;
  result.since_ms = CurrentSinceMs(highest, shown, homes, now_ms);
  const State* before = nullptr;
  for (const auto& [member, states] : shown) {
    States rest;
    for (const State& state : states) {
      const bool archive =
          state.kind == StateKind::kPromoted || (state.kind == StateKind::kWitness && state.origin.empty());
      if (archive && *state.version < highest) {
        if (before && (before->version != state.version || before->oid != state.oid)) return std::nullopt;
        before = &state;
        continue;
      }
      rest.push_back(state);
    }
    // A home that has only the earlier one is to learn of the current one, some day.
    if (!rest.empty() || Contains(homes, member)) result.shown.emplace(member, std::move(rest));
  }
  if (!before) return std::nullopt;
  return result;
}

std::optional<Superseding> OnlySuperseded(const Engine& engine, const std::map<MemberIndex, States>& shown,
                                          const std::vector<MemberIndex>& homes) {
  std::optional<Superseding> found = WithoutSuperseded(shown, homes, engine.executor().WallNow());
  if (!found) return std::nullopt;
  const auto archives_min = [&](uint64_t size) { return ArchivesMax(engine, size); };
  const bool waits = IsRemoved(found->shown, homes) || IsIdle(found->shown, homes, archives_min);
  return waits ? std::move(found) : std::nullopt;
}

IdleNames::IdleNames(Engine& engine, const FolderUnion& found, NamesAtRest::Pass& rests,
                     const std::optional<ObjectPath>& first)
    : engine_(engine), found_(found), rests_(rests) {
  for (const auto& name : found.names) names_.push_back(&name);
  if (names_.empty()) return;
  auto begin = names_.begin() + static_cast<std::ptrdiff_t>(engine.RandomBelow(names_.size()));
  if (first) {
    begin = std::find_if(names_.begin(), names_.end(), [&](Name name) { return !(name->first < *first); });
  }
  std::rotate(names_.begin(), begin, names_.end());
}

CleanVerdict IdleNames::Judge(Name name, const std::map<MemberIndex, std::optional<States>>& shown) const {
  if (shown.size() < name->second.members.size()) return {ToClean::kNow};
  std::map<MemberIndex, States> there;
  for (const auto& [member, states] : shown) {
    if (states) there.emplace(member, *states);
  }
  const size_t silent = engine_.server_count() - found_.heard.size();
  CleanVerdict if_idle = {silent == 0 ? ToClean::kNothing : ToClean::kLater};
  if (there.empty()) return if_idle;
  std::vector<MemberIndex> homes = engine_.Homes(name->first);
  const auto archives_min = [&](uint64_t size) {
    const size_t all = ArchivesMax(engine_, size);
    return all - std::min(all, silent);
  };
  if (IsIdle(there, homes, archives_min)) {
    if_idle.lives = LivesThere(there);
    return if_idle;
  }
  const auto superseding = OnlySuperseded(engine_, there, homes);
  if (superseding && silent == 0 && !MutantActive(Mutant::kSweepSupersededAtOnce)) {
    const Duration grace = engine_.options().superseded_grace;
    if (IsPast(engine_.executor().WallNow(), superseding->since_ms, grace))
      return {.what = ToClean::kPurge, .current = superseding->current};
    return {.what = ToClean::kLater,
            .due_ms = DueMs(superseding->since_ms, grace),
            .lives = LivesThere(superseding->shown)};
  }
  const size_t quorum = Quorum(homes.size());
  std::erase_if(homes, [&](MemberIndex home) { return !found_.heard.contains(home); });
  if (homes.size() < quorum || !IsForgettable(there, homes)) return {ToClean::kNow};
  if (silent > 0) return {ToClean::kLater};
  const int64_t made_ms = TombstoneMadeMs(*there.begin()->second.front().version, there);
  const Duration horizon = engine_.options().tombstone_horizon;
  // Was the horizon past when the others told that they have nothing?
  if (IsPast(found_.asked_ms, made_ms, horizon)) {
    const bool stray_file = found_.files.contains(name->first.ObjectDirectory());
    return {stray_file ? ToClean::kNow : ToClean::kForget};
  }
  return {.what = ToClean::kLater, .due_ms = DueMs(made_ms, horizon), .lives = LivesThere(there)};
}

Task<void> IdleNames::LookAhead() {
  verdicts_.clear();
  asked_from_ = asked_;
  const TimePoint began = engine_.executor().Now();
  std::vector<std::optional<ToClean>> known;
  NamesByServer wanted;
  for (; asked_ < names_.size() && asked_ - asked_from_ < kNamesAtOnceMax; ++asked_) {
    known.push_back(rests_.Known(ShownAs(*names_[asked_])));
    if (known.back()) continue;
    const auto& [path, shown] = *names_[asked_];
    for (const MemberIndex member : shown.members) wanted[member].push_back(path);
  }
  StatesByName heard = co_await ListManyStates(engine_, std::move(wanted), kCleanerPatience);
  for (size_t i = asked_from_; i < asked_; ++i) {
    const std::optional<ToClean> before = known[i - asked_from_];
    const CleanVerdict verdict = before ? CleanVerdict{*before} : Judge(names_[i], heard[names_[i]->first]);
    if (!before) rests_.Learn(ShownAs(*names_[i]), began, verdict);
    verdicts_.push_back(verdict);
  }
}

std::optional<ObjectPath> IdleNames::Next() {
  if (given_ == names_.size()) return std::nullopt;
  return names_[given_++]->first;
}

bool IdleNames::CanTell() const {
  const TimePoint now = engine_.executor().Now();
  for (size_t i = 0; i < engine_.server_count(); ++i) {
    const auto member = static_cast<MemberIndex>(i);
    if (!found_.heard.contains(member) && engine_.health().At(member, now).state == ServerState::kUp)
      return false;
  }
  return true;
}

Task<ToClean> IdleNames::Look() {
  XEC_CHECK(given_ > 0, "there was no name yet");
  if (!CanTell()) co_return ToClean::kNow;
  while (asked_ < given_) co_await LookAhead();
  co_return verdicts_[given_ - 1 - asked_from_].what;
}

Purgeable IdleNames::ToPurge() const {
  return {verdicts_[given_ - 1 - asked_from_].current, names_[given_ - 1]->second.members};
}

}  // namespace xec

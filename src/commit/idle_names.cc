// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/idle_names.hh"

#include <algorithm>

#include "base/contains.hh"
#include "commit/clean_pass.hh"

namespace xec {
namespace {

constexpr size_t kNamesAtOnceMax = 256;

// The state that is all a server may show of an idle name.
const State* OnlyState(const States& states) {
  if (states.size() != 1) return nullptr;
  const State& state = states.front();
  const bool plain = state.kind == StateKind::kPromoted || state.kind == StateKind::kDirectory ||
                     (state.kind == StateKind::kWitness && state.origin.empty());
  return plain ? &state : nullptr;
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

Task<void> IdleNames::LookAhead() {
  asked_.clear();
  idle_.clear();
  NamesByServer wanted;
  for (; next_ != found_.names.end() && asked_.size() < kNamesAtOnceMax; ++next_) {
    asked_.insert(next_->first);
    for (const MemberIndex member : next_->second) wanted[member].push_back(next_->first);
  }
  const StatesByName heard = co_await ListManyStates(engine_, std::move(wanted), kCleanerPatience);
  const auto archives_max = [this](uint64_t size) { return ArchivesMax(engine_, size); };
  for (const auto& [path, states] : heard) {
    const bool complete = states.size() == found_.names.at(path).size();
    if (complete && IsIdle(states, engine_.Homes(path), archives_max)) idle_.insert(path);
  }
}

Task<bool> IdleNames::Has(ObjectPath name) {
  if (found_.heard.size() < engine_.server_count()) co_return false;
  if (!asked_.contains(name)) co_await LookAhead();
  co_return idle_.contains(name);
}

}  // namespace xec

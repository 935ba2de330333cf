// SPDX-License-Identifier: LGPL-3.0-or-later
// Names that are used as objects and as directories, by several clients at a time, and what is asked of them.
#include <algorithm>

#include "commit/rename.hh"
#include "world.hh"

namespace xec::sim {
namespace {

const std::string kInner = "/o";

}  // namespace

// The names themselves, what may be below each, and two that are always objects.
void World::UseBothKinds() {
  traits_.kinds = true;
  const bool alone = kind_random_.OneIn(2);  // nothing else is asked for
  both_ = {kNames[0], kNames[1]};
  if (alone && kind_random_.OneIn(2)) both_.pop_back();
  traits_.below = kind_random_.OneIn(3) ? 3 : 12;
  tops_ = both_;
  if (!alone) tops_.assign(kNames.begin(), kNames.end());
  names_ = both_;
  names_.insert(names_.end(), {kNames[2], kNames[3]});
  for (const std::string& name : both_) names_.push_back(name + kInner);
  traits_.names = names_.size();
  directories_.insert(directories_.end(), both_.begin(), both_.end());
}

bool World::IsBoth(const std::string& name) const {
  return std::find(both_.begin(), both_.end(), name) != both_.end();
}

std::string World::PickName() {
  if (!traits_.kinds) return names_[random_.Below(traits_.names)];
  if (kind_random_.OneIn(traits_.below)) return both_[kind_random_.Below(both_.size())] + kInner;
  return tops_[kind_random_.Below(tops_.size())];
}

// To what an operation on this name may rename it; empty: to nothing. What may be a directory goes only where
// another may be.
std::string World::PickTarget(const std::string& name) {
  if (IsBoth(name) && both_.size() < 2) return {};
  std::string target;
  do target = IsBoth(name) ? both_[kind_random_.Below(both_.size())] : PickName();
  while (target == name);
  return target;
}

Op World::ChooseKindOp() {
  Op op;
  op.name = both_[kind_random_.Below(both_.size())];
  const uint64_t how = kind_random_.Below(10);
  op.kind = how < 5 ? OpKind::kMakeDirectory : how < 9 ? OpKind::kRemoveDirectory : OpKind::kRename;
  if (op.kind != OpKind::kRename) return op;
  op.to = PickTarget(op.name);
  if (op.to.empty() || !options_.renames) {
    op.kind = OpKind::kMakeDirectory;
    op.to.clear();
  }
  return op;
}

// As BeginParts, but nothing below moves unless it turns out that a directory is renamed.
void World::HoldParts(size_t id, bool hold) {
  const Moment invoked = history_.at(id).invoked;
  for (size_t part = id + 1; part < history_.ops().size() && history_.at(part).part > 0; ++part) {
    if (history_.at(part).invoked != invoked) break;
    history_.at(part).ended = hold ? invoked : kNever;
    history_.at(part).error = hold ? std::optional(Code::kConflict) : std::nullopt;
  }
}

// As Store::Rename, but the history learns which of the two it is: a directory does not move in one step.
Task<Status> World::RenameEither(Gateway* gateway, size_t id) {
  const Op op = history_.at(id);
  Engine& engine = *gateway->engine;
  const ObjectPath from = *ObjectPath::Parse(op.name);
  const ObjectPath to = *ObjectPath::Parse(op.to);
  Result<NameInfo> info = co_await LookUpLive(engine, from);
  if (!info) co_return info.error();
  if (info->accepted.kind != Accepted::kDirectory) co_return co_await RenameObject(engine, from, to);
  // Of the attributes of a directory those may be lost that are set while it is renamed.
  if (traits_.attributes) co_return Fail(Code::kConflict, "a directory with attributes is not renamed here");
  history_.at(id).kind = OpKind::kRenameDirectory;
  HoldParts(id, false);
  co_return co_await RenameDirectory(engine, from, to);
}

}  // namespace xec::sim

// SPDX-License-Identifier: LGPL-3.0-or-later
// Names that are used as objects and as directories, by several clients at a time, and what is asked of them.

#include "base/contains.hh"
#include "commit/rename/rename.hh"
#include "commit/rename/rename_directory.hh"
#include "world.hh"

namespace xec::sim {
namespace {

const std::string kInner = "/o";
// Clients mostly ask at about the same time, of the same name.
constexpr Duration kBout = milliseconds(150);
constexpr Duration kBoutSpread = milliseconds(15);
// Also once others have sealed: a rename has looked at its target by then, and has not yet committed.
constexpr Duration kLongSpread = milliseconds(120);

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

bool World::IsBoth(const std::string& name) const { return Contains(both_, name); }

std::string World::PickName() {
  if (!traits_.kinds) return names_[random_.Below(traits_.names)];
  if (kind_random_.OneIn(traits_.below)) return both_[kind_random_.Below(both_.size())] + kInner;
  return tops_[kind_random_.Below(tops_.size())];
}

// To what an operation on this name may rename it; empty: to nothing. What may be a directory goes only where
// another may be.
std::string World::PickTarget(const std::string& name) {
  if (IsBoth(name) ? both_.size() < 2 : traits_.names < 2) return {};
  std::string target;
  do target = IsBoth(name) ? both_[kind_random_.Below(both_.size())] : PickName();
  while (target == name);
  return target;
}

// Its number.
uint64_t World::Bout() const {
  return static_cast<uint64_t>((executor_.Now() - VirtualExecutor::kStart) / kBout);
}

// Or at once.
TimePoint World::NextBout() {
  const Duration longest = traits_.small && kind_random_.OneIn(2) ? kLongSpread : kBoutSpread;
  const auto spread =
      Duration(static_cast<int64_t>(kind_random_.Below(static_cast<uint64_t>(longest.count()))));
  if (kind_random_.OneIn(4)) return executor_.Now() + spread;
  const Duration past = (executor_.Now() - VirtualExecutor::kStart) % kBout;
  return executor_.Now() + kBout - past + spread;
}

// Requests that decide often take longer than what others look at meanwhile.
Duration World::DeciderDelay(Operation operation) {
  const bool decides = operation == Operation::kMakeDirectory || operation == Operation::kRename;
  if (!Races() || !decides || !faults_) return Duration(0);
  // For a while, on all servers: then others may do all they want between a rename's looks and its commit.
  constexpr uint64_t kBoutsOfAWhile = 10;
  const bool on_all = traits_.small && Mix64(options_.seed + Bout() / kBoutsOfAWhile) % 2 == 0;
  if (on_all) return milliseconds(100 + kind_random_.Below(500));
  return kind_random_.OneIn(5) ? milliseconds(kind_random_.Below(80)) : milliseconds(0);
}

// Some exclusive creators take long to seal, others to promote, all their homes alike: so one may seal and
// look while the other has looked and not promoted yet. So do some that make a directory: uploads come
// meanwhile. And some renames take long to commit: others set attributes meanwhile.
Duration World::Hesitation(const std::string& step, const std::string& path) {
  const bool seals = Races() && step == "exclusive seal: create";
  const bool promotes = (Races() || paces_) && step == "promote exclusive";
  const bool makes = traits_.kinds && step == "promote directory";
  const bool commits = (traits_.attributes || paces_) && step == "rename: commit";
  if (paces_ && step == "finish: move archive") return paces_->move;
  if (paces_) return promotes ? paces_->promote : commits ? paces_->commit : Duration(0);
  if (!faults_ || traits_.calm || (!seals && !promotes && !makes && !commits)) return Duration(0);
  uint64_t hash = options_.seed;
  for (const char c : path.substr(path.rfind('/'))) hash = Mix64(hash + static_cast<unsigned char>(c));
  const uint64_t who = hash % 4;
  const bool hesitates = seals ? who == 0 : promotes ? who != 0 : makes ? who == 2 : who < 2;
  return hesitates ? milliseconds((seals ? 50 : 200) + hash / 4 % 800) : milliseconds(0);
}

// Does the gateway stop after it has looked at a name, and before it changes it as it was asked to? Seldom,
// but often enough for others to change it meanwhile; they need longest where something is to be removed.
bool World::NodsOff(const Gateway& gateway, const std::string& step, const std::string& path) {
  if (!Races() || traits_.calm || !faults_ || !step.starts_with("look")) return false;
  uint64_t one_in = 0;
  for (const Client& client : clients_) {
    if (!client.busy || client.gateway != &gateway) continue;
    const Op& op = history_.at(client.op);
    if (op.kind >= OpKind::kSetAttribute || !(traits_.small || IsBoth(op.name))) continue;
    if (path != PathOf(traits_.small && !op.to.empty() ? op.to : op.name).ObjectDirectory()) continue;
    const bool removes = op.kind == OpKind::kRemove || op.kind == OpKind::kRemoveDirectory;
    one_in = removes ? 8 : one_in == 0 ? 30 : one_in;
  }
  return one_in > 0 && kind_random_.OneIn(one_in);
}

// As long as a few operations of others take.
Duration World::ShortNap() { return milliseconds(50 + kind_random_.Below(2000)); }

// Mostly what may succeed, so that names change their kind often: what several try at a time that think a
// name free, and what several remove that think it is used.
Op World::ChooseKindOp() {
  constexpr size_t kThoughts = 3;  // as in Thought
  constexpr OpKind kKinds[] = {OpKind::kMakeDirectory,   OpKind::kPut,
                               OpKind::kExclusivePut,    OpKind::kRemove,
                               OpKind::kRemoveDirectory, OpKind::kRename};
  constexpr uint64_t kWeights[kThoughts][std::size(kKinds)] = {
      {45, 20, 20, 3, 2, 10}, {10, 10, 5, 55, 5, 15}, {10, 5, 5, 10, 60, 10}};
  Op op;
  op.name = both_[Bout() % both_.size()];
  const auto& weights = kWeights[static_cast<size_t>(thoughts_[op.name])];
  uint64_t dice = kind_random_.Below(100);
  size_t kind = 0;
  while (dice >= weights[kind]) dice -= weights[kind++];
  op.kind = kKinds[kind];
  if (op.kind == OpKind::kRename) {
    op.to = PickTarget(op.name);
    // Onto what is thought free rather than away from it.
    if (thoughts_[op.name] == Thought::kFree && IsBoth(op.to)) std::swap(op.name, op.to);
    if (op.to.empty() || !options_.renames) op.kind = OpKind::kExclusivePut, op.to.clear();
  }
  if (op.kind == OpKind::kPut || op.kind == OpKind::kExclusivePut) {
    op.content = next_content_++;
    op.attributes = AttributesOfPut();
  }
  return op;
}

// What the answer says of the names.
void World::RememberKinds(const Op& op) {
  if (op.error == Code::kNotFound) thoughts_[op.name] = Thought::kFree;
  if (op.error == Code::kIsDirectory) thoughts_[op.name] = Thought::kDirectory;
  const bool exists = op.error == Code::kAlreadyExists && traits_.small;
  if (op.error == Code::kNotDirectory || exists) thoughts_[op.name] = Thought::kObject;
  if (op.error) return;
  switch (op.kind) {
    case OpKind::kPut:
    case OpKind::kExclusivePut:
    case OpKind::kRead: thoughts_[op.name] = Thought::kObject; break;
    case OpKind::kRemove:
    case OpKind::kRemoveDirectory: thoughts_[op.name] = Thought::kFree; break;
    case OpKind::kMakeDirectory:
    case OpKind::kList: thoughts_[op.name] = Thought::kDirectory; break;
    case OpKind::kRename:
    case OpKind::kRenameDirectory:
      thoughts_[op.name] = Thought::kFree;
      thoughts_[op.to] = op.kind == OpKind::kRename ? Thought::kObject : Thought::kDirectory;
      break;
    default: break;
  }
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
  const ObjectPath from = PathOf(op.name);
  const ObjectPath to = PathOf(op.to);
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

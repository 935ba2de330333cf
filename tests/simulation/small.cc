// SPDX-License-Identifier: LGPL-3.0-or-later
// Small worlds: one or two names, for which several clients race, mostly at about the same time: exclusive
// creation against renames onto the name, and against what takes it away.
#include <utility>

#include "world.hh"

namespace xec::sim {

void World::UseFewNames() {
  traits_.small = true;
  traits_.names = kind_random_.OneIn(4) ? 1 : 2;
  // What a creator leaves that died holds up all others: there fewer meet each other.
  if (kind_random_.OneIn(2)) traits_.intensity /= 20;
  if (!traits_.crowded) {
    constexpr size_t kWriters = 5, kReaders = 2;
    clients_.resize(kWriters + kReaders);
    for (size_t i = 0; i < clients_.size(); ++i) clients_[i].writes = i < kWriters;
  }
  const size_t others = clients_.size();
  clients_.resize(others + kGateways);
  for (size_t i = others; i < clients_.size(); ++i) clients_[i].rival = true;
}

// Others often create the same name exclusively, through each gateway, while this one is at it.
void World::Challenge(const Op& creation) {
  for (size_t i = 0; i < clients_.size(); ++i) {
    if (!clients_[i].rival || !kind_random_.OneIn(3)) continue;
    const auto pause = milliseconds(kind_random_.Below(100));
    executor_.RunAt(executor_.Now() + pause, [this, i, name = creation.name] {
      Gateway* const gateway = gateways_[i % kGateways].get();
      if (gateway == nullptr || !gateway->AnswersClients() || clients_[i].busy) return;
      Op op;
      op.kind = OpKind::kExclusivePut;
      op.name = name;
      op.content = next_content_++;
      Ask(i, gateway, std::move(op));
    });
  }
}

// Mostly what may succeed as far as somebody was told. Who has changed something often looks at it: else what
// is overwritten next would not be missed.
Op World::ChooseSmallOp(size_t client) {
  const size_t last = clients_[client].op;
  if (last < history_.ops().size() && kind_random_.OneIn(2)) {
    const Op& done = history_.at(last);
    Op look;
    look.kind = OpKind::kRead;
    look.name = done.to.empty() ? done.name : done.to;
    if (!done.error && done.kind < OpKind::kStat) return look;
  }
  constexpr OpKind kKinds[] = {OpKind::kExclusivePut, OpKind::kPut, OpKind::kRemove, OpKind::kRename};
  constexpr uint64_t kAlone[] = {90, 5, 5, 0}, kOnto[] = {45, 5, 5, 45}, kThere[] = {15, 10, 45, 30};
  const auto thought = [this](const std::string& name) { return thoughts_[name]; };
  Op op;
  op.name = names_[Bout() % traits_.names];
  const std::string other = PickTarget(op.name);
  const bool free = thought(op.name) == Thought::kFree;
  const bool can_come = !other.empty() && options_.renames && thought(other) == Thought::kObject;
  const uint64_t* const weights = !free ? kThere : can_come ? kOnto : kAlone;
  uint64_t dice = kind_random_.Below(100);
  size_t kind = 0;
  while (dice >= weights[kind]) dice -= weights[kind++];
  op.kind = kKinds[kind];
  if (op.kind == OpKind::kRename && (other.empty() || !options_.renames)) op.kind = OpKind::kRemove;
  // Onto what is thought free rather than away from it.
  if (op.kind == OpKind::kRename) op.to = free ? std::exchange(op.name, other) : other;
  // Something that can be renamed onto the name.
  if (free && !can_come && !other.empty() && kind_random_.OneIn(3)) {
    op.name = other;
    op.kind = OpKind::kPut;
  }
  if (op.kind == OpKind::kPut || op.kind == OpKind::kExclusivePut) {
    op.content = next_content_++;
    op.attributes = AttributesOfPut();
  }
  return op;
}

}  // namespace xec::sim

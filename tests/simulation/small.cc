// SPDX-License-Identifier: LGPL-3.0-or-later
// Small worlds: one or two names, for which several clients race, mostly at about the same time: exclusive
// creation against renames onto the name, and against what takes it away.
#include "world.hh"

namespace xec::sim {

void World::UseFewNames() {
  traits_.small = true;
  traits_.names = 1 + kind_random_.Below(2);
  if (traits_.crowded) return;
  constexpr size_t kWriters = 5;
  clients_.resize(kWriters + 1);
  for (size_t i = 0; i < clients_.size(); ++i) clients_[i].writes = i < kWriters;
}

// Mostly what may succeed as far as somebody was told.
Op World::ChooseSmallOp() {
  constexpr OpKind kKinds[] = {OpKind::kExclusivePut, OpKind::kPut, OpKind::kRemove, OpKind::kRename};
  constexpr uint64_t kIfFree[] = {55, 10, 5, 30}, kIfThere[] = {15, 10, 40, 35};
  Op op;
  op.name = names_[Bout() % traits_.names];
  const bool free = thoughts_[op.name] == Thought::kFree;
  uint64_t dice = kind_random_.Below(100);
  size_t kind = 0;
  for (const uint64_t* weights = free ? kIfFree : kIfThere; dice >= weights[kind]; ++kind)
    dice -= weights[kind];
  op.kind = kKinds[kind];
  if (op.kind == OpKind::kRename) {
    op.to = PickTarget(op.name);
    // Onto what is thought free rather than away from it.
    if (free) std::swap(op.name, op.to);
    if (op.to.empty() || op.name.empty() || !options_.renames) {
      op.name = names_[Bout() % traits_.names];
      op.to.clear();
      op.kind = free ? OpKind::kExclusivePut : OpKind::kRemove;
    }
  }
  if (op.kind == OpKind::kPut || op.kind == OpKind::kExclusivePut) {
    op.content = next_content_++;
    op.attributes = AttributesOfPut();
  }
  return op;
}

}  // namespace xec::sim

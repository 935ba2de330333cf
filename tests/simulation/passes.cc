// SPDX-License-Identifier: LGPL-3.0-or-later
// How often the rename of a directory may have come to each name below it.
#include <algorithm>

#include "base/contains.hh"
#include "history.hh"

namespace xec::sim {
namespace {

Moment End(const Op& op) { return op.Open() ? kNever : op.ended; }

bool Changes(const Op& op) {
  const bool writes =
      op.kind == OpKind::kPut || op.kind == OpKind::kExclusivePut || op.kind == OpKind::kRename;
  return writes && (!op.error || op.Open());
}

}  // namespace

// A pass that moves something leaves nothing there: so there are as many, and one more, as anything may have
// come to the name while the rename was under way.
void History::AddPasses() {
  std::vector<int> passes(ops_.size(), 1);
  const auto arrivals = [&](const Op& part) {
    int count = 0;
    for (const Op& op : ops_) {
      const std::string& target = op.kind == OpKind::kRename ? op.to : op.name;
      const bool meanwhile = op.invoked < End(part) && End(op) > part.invoked;
      if (Changes(op) && target == part.name && meanwhile) count += passes[op.id];
    }
    return count;
  };
  for (bool grown = true; grown;) {
    grown = false;
    for (const Op& op : ops_) {
      if (op.part == 0 || !Changes(op)) continue;
      const int more = std::min(1 + arrivals(op), kPassesMax);
      grown |= more > passes[op.id];
      passes[op.id] = std::max(passes[op.id], more);
    }
  }
  for (size_t id = 0; id < passes.size(); ++id) {
    for (int pass = 2; pass <= passes[id]; ++pass) {
      Op again = ops_[id];
      again.part = pass;
      const Moment invoked = again.invoked;
      Begin(std::move(again), invoked);
    }
  }
}

History::Verdict History::Judge(const std::vector<std::string>& names,
                                const std::vector<std::string>& directories) const {
  History whole = *this;
  for (const std::string& name : names) {
    if (Contains(directories, name)) whole.both_.insert(name);
  }
  whole.AddPasses();
  return whole.JudgeAllPasses(names, directories);
}

}  // namespace xec::sim

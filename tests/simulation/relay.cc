// SPDX-License-Identifier: LGPL-3.0-or-later
// One object that is renamed from name to name while nobody else disturbs, by gateways that die in the
// middle.
#include <utility>

#include "world.hh"

namespace xec::sim {
namespace {

// How long a gateway has for a rename until it is killed: longer than most take.
constexpr Duration kTimeToRename = milliseconds(400);
// Until cleaners come. Archives of the first rename may be where they were by then, names ago.
constexpr Duration kUntilCleaned = minutes(20);

}  // namespace

// Everybody else is at rest: the object stays whole, wherever it is in the end.
void World::RenameInARow() {
  std::vector<std::string> names = names_;
  for (size_t i = names.size(); i > 1; --i) std::swap(names[i - 1], names[kind_random_.Below(i)]);
  names.resize(3 + kind_random_.Below(names.size() - 2));
  Op put;
  put.kind = OpKind::kPut;
  put.name = names[0];
  put.content = next_content_++;
  if (!DoAtRest(*gateways_[0], put)) return Break("at rest " + put.name + " cannot be written");
  faults_ = kind_random_.OneIn(2);
  Say("----", faults_ ? "renames in a row, faults again" : "renames in a row");
  for (size_t i = 1; i < names.size() && !outcome_.broken; ++i) RenameAndDie(names[i - 1], names[i]);
  executor_.RunUntilTime(executor_.Now() + Between(Duration(0), kUntilCleaned));
  AllIsWell();
  TidyUpAndCheck();
}

void World::RenameAndDie(const std::string& from, const std::string& to) {
  RunUntil([&] { return gateways_[0] || gateways_[1]; }, kLongestNap);
  const size_t index = kind_random_.Below(kGateways);
  Gateway* const gateway = gateways_[index] ? gateways_[index].get() : gateways_[1 - index].get();
  if (gateway == nullptr) return Break("no gateway starts again");
  Op rename;
  rename.kind = OpKind::kRename;
  rename.name = from;
  rename.to = to;
  const size_t id = history_.Begin(rename, moment_++);
  gateway->scope->Spawn(AskAlone(gateway, id));
  if (kind_random_.OneIn(4)) {
    RunUntil([&] { return gateway->dead || history_.at(id).ended != kNever; }, kLongestOperation);
  } else {
    DieWithin(gateway->index, kTimeToRename);
  }
  Say(fmt::format("g{}", gateway->index), "was asked: " + history_.at(id).ToString());
}

}  // namespace xec::sim

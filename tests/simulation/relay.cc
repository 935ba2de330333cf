// SPDX-License-Identifier: LGPL-3.0-or-later
// One object that is renamed from name to name while nobody else disturbs, by gateways that die in the
// middle.
#include <algorithm>
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
  CleanUp();
  // As in ComeToRest.
  const bool lied = std::find(traits_.liars.begin(), traits_.liars.end(), true) != traits_.liars.end();
  if (!outcome_.broken && (lied || repairs_unfinished_ > 0)) RepairAll(*gateways_[1]);
  if (!outcome_.broken) CheckEverything();
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
  const auto ask = [](World* world, Gateway* on, size_t asked) -> Task<void> {
    const Op op = world->history_.at(asked);
    const Status status = co_await world->Other(on->store.get(), asked, op);
    world->history_.at(asked).ended = world->moment_++;
    if (!status) world->history_.at(asked).error = status.code();
  };
  gateway->scope->Spawn(ask(this, gateway, id));
  const bool dies = !kind_random_.OneIn(4);
  const auto gone = [&] { return gateway->dead || (!dies && history_.at(id).ended != kNever); };
  RunUntil(gone, dies ? Between(Duration(0), kTimeToRename) : kLongestOperation);
  if (dies && !gateway->dead) gateway->dying = true;
  KillTheDying();
  Say(fmt::format("g{}", gateway->index), "was asked: " + history_.at(id).ToString());
}

}  // namespace xec::sim

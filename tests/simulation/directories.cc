// SPDX-License-Identifier: LGPL-3.0-or-later
// What the clients ask about directories, and a rename of a directory that nobody else disturbs.
#include <algorithm>

#include "world.hh"

namespace xec::sim {
namespace {

constexpr const char* kTops[] = {"/a", "/b", "/c"};
constexpr const char* kBelow[] = {"/x", "/y", "/s/x"};
constexpr const char* kInner = "/s";
// Only renamed to when everything is at rest.
const std::string kLastTarget = "/e";
// How long a gateway has for a rename of a directory, or for going on with it, until it is killed: longer
// than most take.
constexpr Duration kTimeToRename = milliseconds(1500);

}  // namespace

void World::UseDirectories() {
  traits_.directories = true;
  names_.clear();
  directories_.clear();
  const auto add = [this](const std::string& top) {
    for (const char* below : kBelow) names_.push_back(top + below);
    directories_.push_back(top);
    directories_.push_back(top + kInner);
  };
  for (const char* top : kTops) add(top);
  traits_.names = names_.size();
  add(kLastTarget);
}

Op World::ChooseDirectoryOp() {
  Op op;
  const uint64_t how = random_.Below(10);
  op.kind = how < 2 ? OpKind::kMakeDirectory : how < 5 ? OpKind::kRemoveDirectory : OpKind::kRenameDirectory;
  op.parents = random_.OneIn(2);
  const std::string inner = random_.OneIn(4) ? kInner : "";
  // Mostly what may succeed.
  for (int tries = 0; tries < 5; ++tries) {
    const size_t from = random_.Below(std::size(kTops));
    const size_t other = 1 + random_.Below(std::size(kTops) - 1);
    op.name = kTops[from] + inner;
    op.to = kTops[(from + other) % std::size(kTops)] + inner;
    if (likely_.contains(op.name) && !likely_.contains(op.to)) break;
  }
  if (op.kind != OpKind::kRenameDirectory) op.to.clear();
  return op;
}

void World::RememberDirectories(const Op& op) {
  if (op.kind == OpKind::kRemoveDirectory || op.kind == OpKind::kRenameDirectory) likely_.erase(op.name);
  const bool makes = op.kind == OpKind::kMakeDirectory || op.kind == OpKind::kPut;
  if (makes || op.kind == OpKind::kRename || op.kind == OpKind::kRenameDirectory) {
    const std::string made = op.to.empty() ? op.name : op.to;
    for (const std::string& directory : directories_) {
      if (made == directory || made.starts_with(directory + "/")) likely_.insert(directory);
    }
  }
}

// Can a cleaner have found the log of a rename that began then, and is answered now, too old to be left
// alone? Its age is the cleaner's clock less the server's, in seconds.
bool World::MayBeTakenUp(TimePoint since) const {
  const Duration young = EngineOptions().operation_limit - seconds(1) - (executor_.Now() - since);
  const auto ahead = [&](const std::unique_ptr<Gateway>& gateway) {
    return gateway && gateway->died >= since && gateway->clock_ahead >= young && !IsFarAhead(*gateway);
  };
  return std::any_of(gateways_.begin(), gateways_.end(), ahead) ||
         std::any_of(graves_.begin(), graves_.end(), ahead);
}

// The parts of a directory's rename follow it in the history.
void World::BeginParts(size_t id) {
  const Op whole = history_.at(id);
  for (const std::string& name : names_) {
    if (!name.starts_with(whole.name + "/")) continue;
    Op part;
    part.kind = OpKind::kRename;
    part.name = name;
    part.to = whole.to + name.substr(whole.name.size());
    part.part = 1;
    history_.Begin(std::move(part), whole.invoked);
  }
}

void World::EndParts(size_t id, TimePoint since) {
  Op& whole = history_.at(id);
  whole.taken_up = whole.error == Code::kNotEmpty && MayBeTakenUp(since);
  for (size_t part = id + 1; part < history_.ops().size() && history_.at(part).part > 0; ++part) {
    if (history_.at(part).invoked != whole.invoked) break;
    history_.at(part).ended = whole.ended;
    history_.at(part).error = whole.error;
    // Some of it has moved before it turned out that not all can. What is not there says nothing about the
    // names below.
    if (whole.error == Code::kNotEmpty) history_.at(part).error.reset();
    if (whole.taken_up) history_.at(part).error = Code::kUnknown;
    if (whole.error == Code::kNotFound) history_.at(part).error = Code::kConflict;
  }
}

// Of an operation of which no client knows.
Task<void> World::AskAlone(Gateway* gateway, size_t id) {
  const TimePoint since = executor_.Now();
  const Status status = co_await Do(gateway, id, Duration(0));
  Op& op = history_.at(id);
  if (op.ended == kNever) op.ended = moment_++;
  if (!status) op.error = status.code();
  if (op.kind == OpKind::kRenameDirectory) EndParts(id, since);
  Say(fmt::format("g{}", gateway->index), "has done " + history_.at(id).ToString());
}

void World::DieWithin(size_t index, Duration longest) {
  RunUntil([&] { return gateways_[index] == nullptr; }, Between(Duration(0), longest));
  if (gateways_[index]) gateways_[index]->dying = true;
  KillTheDying();
}

// Everybody else is at rest: then a rename of a directory moves all or nothing, even if whoever does it dies
// in the middle, and the next one as well.
void World::RenameAlone() {
  for (const char* below : kBelow) {
    Op put;
    put.kind = OpKind::kPut;
    put.name = kTops[0] + std::string(below);
    put.content = next_content_++;
    if (!DoAtRest(*gateways_[0], put)) return Break("at rest " + put.name + " cannot be written");
  }
  CleanUp();
  CheckNames(*gateways_[0]);
  if (outcome_.broken) return;
  const std::map<std::string, Content> before = resting_;
  Op rename;
  rename.kind = OpKind::kRenameDirectory;
  rename.name = kTops[0];
  rename.to = kLastTarget;
  const size_t id = history_.Begin(rename, moment_++);
  BeginParts(id);
  Say("----", "faults again; " + history_.at(id).ToString());
  faults_ = true;
  Gateway* const gateway = gateways_[0].get();
  gateway->scope->Spawn(AskAlone(gateway, id));
  DieWithin(0, kTimeToRename);
  executor_.RunUntilTime(executor_.Now() + minutes(5));
  if (gateways_[1] && random_.OneIn(2)) {
    gateways_[1]->scope->Spawn(Clean(gateways_[1].get()));
    DieWithin(1, kTimeToRename);
  }
  AllIsWell();
  Say("g0", "had asked: " + history_.at(id).ToString());
  CleanUp();
  if (!outcome_.broken) CheckEverything();
  if (!outcome_.broken) CheckRenamedAlone(before, history_.at(id));
}

void World::CheckRenamedAlone(const std::map<std::string, Content>& before, const Op& rename) {
  const bool moved = resting_directories_.contains(rename.to);
  for (const char* below : kBelow) {
    const Content content = before.at(rename.name + below);
    const bool whole = resting_.at(rename.to + below) == (moved ? content : kNothing) &&
                       resting_.at(rename.name + below) == (moved ? kNothing : content);
    if (!whole)
      return Break(fmt::format("at rest {} has moved neither all nor nothing: {}", rename.ToString(), below));
  }
  const bool said = !rename.error && rename.ended != kNever;
  if ((said && !moved) || moved == resting_directories_.contains(rename.name))
    Break(fmt::format("at rest {} is where it should not be", rename.ToString()));
}

}  // namespace xec::sim

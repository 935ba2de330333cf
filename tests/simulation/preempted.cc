// SPDX-License-Identifier: LGPL-3.0-or-later
// Before all is tidied up, and while nothing else goes wrong, gateways are stopped or killed in the middle of
// what they do at one name, between any two requests, and the other one acts there meanwhile. Few requests
// decide, and few acts matter between them: by chance, beside everything else, they hardly ever meet.
#include <algorithm>
#include <utility>

#include "placement/homes.hh"
#include "server/path.hh"
#include "steps.hh"
#include "world.hh"

namespace xec::sim {
namespace {

constexpr int kRounds = 3;
// Most operations ask so often, and have so many steps that change names.
constexpr uint64_t kRequests = 40, kSteps = 6;
// So many requests after the first one of such a step, to the homes mostly, belong to it.
constexpr uint64_t kRequestsOfStep = 4;
// What is half done is an old matter to cleaners then, mostly also an upload.
constexpr Duration kIsOld = minutes(9);
constexpr Duration kLongestStop = kIsOld + minutes(2);

bool IsCommit(const std::string& step) { return step.starts_with("promote") || step == "rename: commit"; }

Task<void> Tell(Task<void> task, std::shared_ptr<bool> done) {
  co_await std::move(task);
  *done = true;
}

}  // namespace

void World::PreemptAtRest() {
  if (!RunUntil([this] { return AllAwake(); }, kLongestNap)) return Break("a gateway does not go on");
  may_spoil_ = !AnybodyLied() && kind_random_.OneIn(2);
  spoiled_ = AnybodyLied();
  for (int round = 0; round < kRounds && !outcome_.broken; ++round) {
    const std::string name = names_[kind_random_.Below(traits_.names)];
    Say("----", "gateways are stopped while they act at " + name);
    const Op op = ChooseChangeAt(name);
    if (kind_random_.OneIn(5)) {
      PreemptCopier(name);
    } else {
      PreemptOne(name, op);
    }
    SwitchAllOn();
    if (!RunUntil([this] { return AllAwake(); }, 2 * kLongestStop)) return Break("a gateway does not go on");
    LetBackgroundEnd();
    spoiled_ = AnybodyLied();
    for (auto& gateway : gateways_) {
      Op read;
      for (const std::string& at : {op.name, op.to}) {
        read.name = at;
        if (!at.empty()) DoAtRest(*gateway, read);
      }
    }
  }
}

bool World::AllAwake() const {
  return std::all_of(gateways_.begin(), gateways_.end(),
                     [](const auto& gateway) { return gateway && gateway->TakesWork(); });
}

// The one is stopped while the other does one or two things, often first as a cleaner to whom all is old;
// then it goes on, unless it died. The other one is stopped seldom.
void World::PreemptOne(const std::string& name, const Op& op) {
  Prepare(name, op);
  const size_t first = kind_random_.Below(kGateways);
  const bool waits = kind_random_.OneIn(2);
  Stop stop = ChooseStop();
  stop.length = waits ? kLongestStop : Between(seconds(1), minutes(2));
  if (kind_random_.OneIn(spoiled_ ? 2 : 10)) {
    Tidy(first, name, stop);
  } else {
    AskOne(first, op, stop);
  }
  // What it has changed last may be known to this one only.
  const auto changed = stops_[first] ? stops_[first]->changed : std::nullopt;
  if (kind_random_.OneIn(2)) SwitchOne(changed && kind_random_.OneIn(2) ? *changed : HomeOf(name));
  if (waits) {
    LetTimePass(kIsOld);
    Tidy(1 - first, name, SeldomStop());
    // Who was away meanwhile has seen nothing of it.
    if (kind_random_.OneIn(2)) SwitchAllOn();
  }
  for (uint64_t acts = 1 + kind_random_.Below(2); acts > 0; --acts) {
    if (kind_random_.OneIn(3)) {
      LookAt(1 - first, op);
    } else {
      AskOne(1 - first, ChooseChangeAt(name), SeldomStop());
    }
  }
  LetTimePass(stop.length);
  if (kind_random_.OneIn(2)) LookAt(first, op);
  stops_.fill(std::nullopt);
}

// Who copies the object to a home that has missed it is stopped before that, until the object is gone
// and even that it was there is forgotten.
void World::PreemptCopier(const std::string& name) {
  Op put, remove, read;
  put.kind = OpKind::kPut;
  remove.kind = OpKind::kRemove;
  put.name = remove.name = read.name = name;
  put.content = next_content_++;
  if (IsBoth(name)) {
    Op clear = remove;
    clear.kind = OpKind::kRemoveDirectory;
    DoAtRest(*gateways_[0], clear);
  }
  DoAtRest(*gateways_[0], remove);
  Say("----", "one is stopped that copies it to homes that missed it");
  std::vector<MemberIndex> homes = HomeFinder(descriptor_).Of(PathOf(name).Last());
  Shuffle(homes, kind_random_);
  const size_t missed = homes.size() - Quorum(homes.size());
  for (size_t i = 0; i < missed; ++i) SwitchOne(homes[i]);
  DoAtRest(*gateways_[0], put);
  SwitchAllOn();
  LetBackgroundEnd();
  // So that those which missed it are asked.
  for (size_t i = 0; i < missed; ++i) SwitchOne(homes[missed + i]);
  const size_t copier = kind_random_.Below(kGateways);
  const Duration horizon = gateways_[copier]->engine->options().tombstone_horizon;
  Stop stop;
  stop.before = IsCopy;
  stop.length = horizon + minutes(4);
  AskOne(copier, read, stop);
  SwitchAllOn();
  AskOne(1 - copier, remove, std::nullopt);
  const auto tidy = [&] { Await(1 - copier, [&](Gateway* gateway) { return Clean(gateway); }); };
  // Every home must have had the tombstone for that long; what it is above goes first.
  tidy();
  LetTimePass(horizon + minutes(1));
  for (int passes = 0; passes < 3; ++passes) tidy();
  LetTimePass(minutes(4));
  LookAt(copier, read);
  stops_.fill(std::nullopt);
}

// So that the operation may succeed. What is there may have missed one home, and what it replaced be there
// still; or something of it goes bad.
void World::Prepare(const std::string& name, const Op& op) {
  const auto ask = [&](size_t gateway, const std::string& at, OpKind kind) {
    Op prior;
    prior.kind = kind;
    prior.name = at;
    if (kind == OpKind::kPut) prior.content = next_content_++;
    DoAtRest(*gateways_[gateway], prior);
    LetBackgroundEnd();
  };
  const bool onto = op.to == name;
  if (onto) ask(0, op.name, OpKind::kPut);
  if (IsBoth(name)) ask(0, name, OpKind::kRemoveDirectory);
  const bool creates = op.kind == OpKind::kExclusivePut || op.kind == OpKind::kMakeDirectory;
  if (creates || (onto && kind_random_.OneIn(2))) return ask(0, name, OpKind::kRemove);
  if (op.kind == OpKind::kRemoveDirectory && op.name == name) return ask(0, name, OpKind::kMakeDirectory);
  ask(0, name, OpKind::kPut);
  if (kind_random_.OneIn(2)) {
    SwitchOne(HomeOf(name));
    ask(1, name, OpKind::kPut);
    SwitchAllOn();
  }
  if (may_spoil_) SpoilOne(name);
}

// An object that was renamed has its archives at the old name, so one that is spoiled here may have lost some
// to another scene.
bool World::MaySpoil(const std::string& path) const {
  const auto found = spoiled_archives_.find(ParseState(LastPart(path))->oid);
  return found == spoiled_archives_.end() || found->second < descriptor_.geometry.parity_chunks;
}

// Once in a seed, or once on each of these servers.
void World::SpoilOne(const std::string& name, std::optional<size_t> on) {
  std::vector<std::pair<size_t, std::string>> archives;
  for (size_t i = 0; i < servers_.size(); ++i) {
    for (const auto& [path, size] : servers_[i]->Files()) {
      if (i != on.value_or(i)) break;
      const bool of_name = path.starts_with(PathOf(name).ObjectDirectory() + "/");
      if (size > 0 && of_name && IsArchive(path) && MaySpoil(path)) archives.emplace_back(i, path);
    }
  }
  if (archives.empty()) return;
  may_spoil_ = false;
  spoiled_ = true;
  ++repairs_unfinished_;
  const auto& [server, path] = archives[kind_random_.Below(archives.size())];
  servers_[server]->Tamper(path, [&](std::string& bytes) {
    char& byte = bytes[kind_random_.Below(bytes.size())];
    byte = static_cast<char>(byte ^ 1);
  });
  ++spoiled_archives_[ParseState(LastPart(path))->oid];
  Say(fmt::format("s{}", server), path + " has a wrong byte");
}

size_t World::HomeOf(const std::string& name) {
  const Homes homes = HomeFinder(descriptor_).Of(PathOf(name).Last());
  return homes[kind_random_.Below(homes.size())];
}

// This one is away as well, or all are back.
void World::SwitchOne(size_t server) {
  const auto away = static_cast<size_t>(std::count(down_.begin(), down_.end(), true));
  if (!down_[server] && away < descriptor_.tolerance) return SwitchOffUntilTold(server);
  SwitchAllOn();
}

void World::LetTimePass(Duration time) {
  const TimePoint until = executor_.Now() + time;
  executor_.RunAt(until, [] {});  // else it would go on to whatever comes next
  RunUntil([&] { return executor_.Now() >= until; }, time);
}

void World::Tidy(size_t index, const std::string& name, std::optional<Stop> stop) {
  stops_[index] = std::move(stop);
  const bool repairs = repairs_unfinished_ > 0 && kind_random_.OneIn(2);
  Await(index, [&](Gateway* gateway) { return repairs ? Repair(gateway, InStore(name)) : Clean(gateway); });
}

void World::AskOne(size_t index, const Op& op, std::optional<Stop> stop) {
  stops_[index] = std::move(stop);
  Await(index, [&](Gateway* gateway) {
    const size_t id = history_.Begin(op, moment_++);
    Say(fmt::format("g{}", index), "is asked: " + history_.at(id).ToString());
    return AskAlone(gateway, id);
  });
}

// What others see of it meanwhile.
void World::LookAt(size_t index, const Op& change) {
  Op look;
  look.kind = kind_random_.OneIn(2) ? OpKind::kList : OpKind::kRead;
  std::vector<std::string> names = {change.name};
  if (!change.to.empty()) names.push_back(change.to);
  // Of what is left out twice nobody can say that it was just on its way.
  for (int times = look.kind == OpKind::kList ? 2 : 1; times > 0; --times) {
    for (const std::string& name : names) {
      look.name = look.kind == OpKind::kList ? name.substr(0, name.rfind('/')) : name;
      if (!look.name.empty()) AskOne(index, look, std::nullopt);
    }
  }
}

// Until the gateway has done or is stopped; nothing, if it sleeps or has died.
void World::Await(size_t index, const std::function<Task<void>(Gateway*)>& start) {
  Gateway* const gateway = gateways_[index].get();
  if (gateway == nullptr || !gateway->TakesWork() || outcome_.broken) return;
  const auto done = std::make_shared<bool>(false);
  gateway->scope->Spawn(Tell(start(gateway), done));
  const auto over = [&] { return *done || gateway->dead || (stops_[index] && stops_[index]->stopped); };
  if (!RunUntil(over, kLongestOperation)) Break("while gateways are stopped an operation does not end");
  KillTheDying();
}

Op World::ChooseChangeAt(const std::string& name) {
  constexpr OpKind kKinds[] = {OpKind::kPut,          OpKind::kPut,           OpKind::kExclusivePut,
                               OpKind::kExclusivePut, OpKind::kRemove,        OpKind::kRename,
                               OpKind::kRename,       OpKind::kMakeDirectory, OpKind::kRemoveDirectory};
  Op op;
  op.kind = kKinds[kind_random_.Below(std::size(kKinds))];
  const bool of_directory = op.kind == OpKind::kMakeDirectory || op.kind == OpKind::kRemoveDirectory;
  const bool may_be_one = IsBoth(name) || traits_.directories;
  if (of_directory && !may_be_one) op.kind = OpKind::kRename;
  op.name = name;
  if (of_directory && !IsBoth(name)) op.name = name.substr(0, name.rfind('/'));
  if (op.kind == OpKind::kRename) {
    op.name = name;
    op.to = PickTarget(name);
    if (kind_random_.OneIn(2)) std::swap(op.name, op.to);
    // Of these it would be several steps.
    if (op.to.empty() || op.name.empty() || IsBoth(op.name) || IsBoth(op.to) || !options_.renames)
      op.kind = OpKind::kExclusivePut, op.name = name, op.to.clear();
  }
  if (op.kind == OpKind::kPut || op.kind == OpKind::kExclusivePut) {
    op.content = next_content_++;
    op.attributes = AttributesOfPut();
  }
  return op;
}

World::Stop World::ChooseStop() {
  Stop stop;
  if (kind_random_.OneIn(4)) {
    stop.before = IsCommit;
  } else if (kind_random_.OneIn(4)) {
    stop.requests = kind_random_.Below(kRequests);
  } else {
    stop.steps = kind_random_.Below(kSteps);
    stop.requests = kind_random_.Below(kind_random_.OneIn(4) ? kRequestsOfStep : 2);
  }
  stop.dies = kind_random_.OneIn(4);
  return stop;
}

std::optional<World::Stop> World::SeldomStop() {
  if (!kind_random_.OneIn(4)) return std::nullopt;
  Stop stop = ChooseStop();
  stop.length = Between(seconds(1), kLongestStop);
  return stop;
}

// Is the gateway stopped before this request, or was it before one that it would have sent at the same time?
bool World::StopsBefore(Gateway& gateway, size_t server, Operation operation, const std::string& step) {
  std::optional<Stop>& stop = stops_[gateway.index];
  if (!stop) return false;
  if (stop->stopped) return gateway.process->asleep();
  const bool names = IsMutating(operation) && operation != Operation::kWrite;
  const bool begins = names && std::exchange(stop->step, step) != step;
  if (begins && stop->steps > 0) --stop->steps;
  const bool not_yet =
      stop->before ? !stop->before(step) || stop->of_these-- > 0 : stop->steps > 0 || stop->requests-- > 0;
  if (not_yet) {
    if (names) stop->changed = server;
    return false;
  }
  stop->stopped = true;
  gateway.dying = stop->dies;
  if (!stop->dies) Sleep(gateway, stop->length);
  return true;
}

}  // namespace xec::sim

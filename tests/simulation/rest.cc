// SPDX-License-Identifier: LGPL-3.0-or-later
// What must hold once everybody is back and nothing goes wrong any more.
#include <algorithm>

#include "base/contains.hh"
#include "commit/clean/clean_times.hh"
#include "commit/engine/access.hh"
#include "object/read/object_reader.hh"
#include "store/take_census.hh"
#include "world.hh"

namespace xec::sim {
namespace {

// What every server has of a name, however slow it is now.
Task<ServerStates> ListOnAll(Engine& engine, ObjectPath path) {
  ServerStates servers;
  for (size_t i = 0; i < engine.server_count(); ++i) {
    Result<States> states = co_await ListStates(engine, static_cast<MemberIndex>(i), path);
    if (states) servers[static_cast<MemberIndex>(i)] = std::move(*states);
  }
  co_return std::move(servers);
}

}  // namespace

void World::AllIsWell() {
  Say("----", "all servers are back, no faults from here on");
  faults_ = false;
  KillTheDying();
  SwitchAllOn();
}

// Everybody is back, nothing goes wrong any more: what was left half done must be brought to an end and
// tidied up.
void World::ComeToRest() {
  AllIsWell();
  at_rest_ = true;
  const bool ended = RunUntil(
      [&] { return std::none_of(clients_.begin(), clients_.end(), [](const Client& c) { return c.busy; }); },
      kLongestNap + kLongestOperation);
  if (!ended) {
    for (const Client& client : clients_) {
      if (client.busy) Break(history_.at(client.op).ToString() + " does not end");
    }
    return Break("the world does not come to rest");
  }
  EndMemberChanges();
  if (outcome_.broken) return;
  SetClocksRight();
  if (traits_.older_disk && !outcome_.broken) CompareDisks();
  if (!traits_.older_disk && !lost_ && kind_random_.OneIn(2)) PreemptAtRest();
  if (!traits_.older_disk && !lost_ && !outcome_.broken) AskFewHomesAtRest();
  TidyUpAndCheck();
}

bool World::AnybodyLied() const { return Contains(traits_.liars, true); }

void World::TidyUpAndCheck() {
  CleanUp();
  // As an operator does who takes a census. A repair that ends half way may leave less than it found, and who
  // is told wrong bytes of a good archive takes it away (seed 26349).
  const bool thin = AnybodyLied() || repairs_unfinished_ > 0 || lost_ || older_.in_place;
  if (thin && !outcome_.broken) RepairAll(*gateways_[1]);
  if (!outcome_.broken) CheckEverything();
}

// What was written by a clock that was far ahead is the past by then.
void World::SetClocksRight() {
  if (!traits_.ahead) return;
  for (auto& gateway : gateways_) {
    if (!gateway) continue;
    gateway->process->SetWallSkew(Duration(0));
    gateway->clock_ahead = Duration(0);
  }
  Say("----", "all clocks are set right");
  executor_.RunUntilTime(executor_.Now() + kFarAheadMax);
}

void World::CleanUp() {
  executor_.RunUntilTime(executor_.Now() + kLongestNap);
  if (gateways_[0] == nullptr || gateways_[1] == nullptr) return Break("a gateway did not start again");
  // Seals that a disk has lost by going back hold nobody off (docs/protocol/disks.md).
  const bool whole = !traits_.older_disk && !lost_;
  for (auto& gateway : gateways_) {
    if (whole && !outcome_.broken) CheckTree(*gateway);
  }
  if (whole && !outcome_.broken) BringBackLate(*gateways_[0]);
  if (whole && !outcome_.broken && tree_random_.OneIn(2)) PutBesideRemoval();
  if (whole && !outcome_.broken && replace_random_.OneIn(2)) ReplaceAtOnce();
  bool clean = false;
  // Without one of its servers no cleaner is ever done.
  const size_t passes = lost_ ? kPassesWithoutDisk : kLastPasses;
  for (size_t pass = 0; pass < passes && !clean && !outcome_.broken; ++pass) {
    clean = CleanAll(*gateways_[pass % kGateways]);
    executor_.RunUntilTime(executor_.Now() + minutes(90));
  }
  if (!clean && !lost_) Break(fmt::format("the cleaner is not done after {} passes", kLastPasses));
}

void World::CheckEverything() {
  for (auto& gateway : gateways_) CheckNames(*gateway);
  if ((traits_.directories || traits_.kinds) && !lost_) {
    for (auto& gateway : gateways_) CheckDirectories(*gateway);
  }
  if (!lost_) CheckNoOtherFiles();
  if (!outcome_.broken) CheckCensus(*gateways_[ailment_random_.Below(kGateways)]);
  // A read that nobody waits for any more holds its memory until it ends.
  const auto held = [](Engine& engine) {
    return engine.budget().in_use() + engine.budget().claimed() - engine.stripes()->kept_bytes();
  };
  const auto holds_nothing = [&](const auto& gateway) { return held(*gateway->engine) == 0; };
  RunUntil([&] { return std::all_of(gateways_.begin(), gateways_.end(), holds_nothing); }, minutes(1));
  for (auto& gateway : gateways_) {
    if (const uint64_t bytes = held(*gateway->engine); bytes != 0) {
      Break(fmt::format("g{} at rest still holds {} bytes of its memory budget", gateway->index, bytes));
    }
  }
}

// Every object that can be read is counted, and lacks nothing.
void World::CheckCensus(Gateway& gateway) {
  CensusOptions options;
  options.deep = true;
  auto census = Wait(TakeCensus(*gateway.engine, *gateway.store, std::move(options)), gateway);
  if (!census) return;
  if (!*census) return Break("at rest no census can be taken: " + census->error().ToString());
  for (const Census::Unlisted& unlisted : (*census)->unlisted()) {
    return Break(fmt::format("at rest the census cannot list {}: {}", unlisted.directory, unlisted.problem));
  }
  for (const Census::Thin& thin : (*census)->names()) {
    return Break(fmt::format("at rest the census says that {} survives {} losses: {}", thin.path,
                             thin.left.survives, thin.left.problem));
  }
  const auto live = std::count_if(resting_.begin(), resting_.end(),
                                  [](const auto& name) { return name.second != kNothing; });
  if ((*census)->total().objects != static_cast<uint64_t>(live))
    Break(fmt::format("at rest the census counts {} objects of {}", (*census)->total().objects, live));
}

bool World::CleanAll(Gateway& gateway) {
  Say(fmt::format("g{}", gateway.index), "cleans");
  const auto report = Wait(gateway.store->Clean(), gateway);
  if (!report) return false;
  Say(fmt::format("g{}", gateway.index),
      *report ? fmt::format("has cleaned: removed {}, left {}", (*report)->removed, (*report)->left)
              : "cleaning ends: " + report->error().message);
  if (!*report) return false;
  uint64_t made = 0;
  for (const ThinObject& object : (*report)->thin) {
    ++repairs_unfinished_;
    const auto repaired = Wait(gateway.store->Repair(object.path.text(), {}), gateway);
    if (repaired && *repaired) made += (*repaired)->archives_made;
    if (repaired && IsWhole(*repaired)) --repairs_unfinished_;
  }
  return (*report)->removed == 0 && (*report)->left == 0 && made == 0;
}

void World::CheckNames(Gateway& gateway) {
  for (const std::string& name : names_) {
    Op read;
    read.kind = OpKind::kRead;
    read.name = name;
    const size_t id = history_.Begin(read, moment_++);
    const auto status = Wait(Read(&gateway, id, name, Duration(0)), gateway);
    if (!status) return;
    if (history_.at(id).ended == kNever) history_.at(id).ended = moment_++;
    if (!*status) history_.at(id).error = status->code();
    resting_[name] = history_.at(id).content;
    const bool directory = !*status && status->code() == Code::kIsDirectory && IsBoth(name);
    if (directory) resting_directories_.insert(name);
    if (!directory && IsBoth(name)) resting_directories_.erase(name);
    Say(fmt::format("g{}", gateway.index), fmt::format("at rest {}{}", history_.at(id).ToString(),
                                                       *status ? "" : " " + status->error().message));
    if (!*status && !directory && status->code() != Code::kNotFound) {
      Break(fmt::format("at rest {} cannot be read: {}", name, status->error().ToString()));
    }
    if (lost_) continue;  // what was to be tidied up stays until all servers answer
    // Two that roll the same version to one home at a time leave a draft to the cleaner.
    LetBackgroundEnd();
    const ObjectPath path = PathOf(name);
    const auto info = Wait(LookUp(*gateway.engine, path), gateway);
    if (!info) return;
    if (!*info)
      return Break(fmt::format("at rest {} cannot be looked up: {}", name, info->error().ToString()));
    if (traits_.attributes) CheckAttributes(gateway, name);
    if (directory) continue;  // CheckDirectories looks at the rest of it
    CheckFiles(gateway, name, (*info)->accepted.Live() ? std::optional(**info) : std::nullopt);
  }
}

// What an operation left to servers that were late goes on after its answer.
void World::LetBackgroundEnd() {
  const bool ended = RunUntil(
      [&] {
        return std::all_of(gateways_.begin(), gateways_.end(),
                           [](const auto& gateway) { return gateway->scope->running() == 0; });
      },
      kLongestOperation);
  if (!ended) Break("at rest something goes on for ever");
}

// Exactly the archives and witnesses of what lives there.
void World::CheckFiles(Gateway& gateway, const std::string& name, const std::optional<NameInfo>& info) {
  LetBackgroundEnd();
  const ObjectPath path = PathOf(name);
  const auto servers = Wait(ListOnAll(*gateway.engine, path), gateway);
  if (!servers) return;
  size_t archives = 0, accepting = 0;
  const Homes homes = gateway.engine->Homes(path);
  for (const auto& [server, states] : *servers) {
    for (const State& state : states) {
      const bool of_version = info && state.version == info->accepted.version;
      const bool current = of_version && ((state.Accepted() && state.oid == info->accepted.oid) ||
                                          (state.kind == StateKind::kAttributes && traits_.attributes));
      if (!current)
        return Break(fmt::format("at rest {} is left over on s{} for {}", FormatState(state), server, name));
      if (state.Accepted()) CheckSettings(name, state.size, state.given.settings);
      if (state.kind == StateKind::kPromoted) ++archives;
      if (state.kind != StateKind::kPromoted && !Contains(homes, server))
        return Break(
            fmt::format("at rest {} is on s{}, which is no home of {}", FormatState(state), server, name));
    }
    if (!states.empty() && Contains(homes, server)) ++accepting;
  }
  if (!info) return;
  const Geometry& geometry = descriptor_.geometry;
  const size_t least = geometry.parity_chunks + 1;
  if (archives < least)
    Break(fmt::format("at rest {} has {} archives, {} are the least", name, archives, least));
  if (accepting < least) Break(fmt::format("at rest {} is accepted by {} homes only", name, accepting));
  Result<std::shared_ptr<ObjectReader>> reader = Fail(Code::kInternal, "not opened");
  auto opened = Wait(gateway.store->OpenRead(InStore(name)), gateway);
  if (!opened || !*opened) return Break(fmt::format("at rest {} does not open", name));
  std::string problem;
  const auto verified = Wait((**opened)->Verify([&](const ChunkReport& chunk) {
    if (chunk.health != ChunkHealth::kGood) problem = chunk.problem + " on " + chunk.archive_path;
  }),
                             gateway);
  if (!verified || !*verified) return Break(fmt::format("at rest {} does not verify", name));
  if (!problem.empty()) Break(fmt::format("at rest {} is not whole: {}", name, problem));
}

// Asks for one thing while all is well and nobody else asks. False: it did not succeed.
bool World::DoAtRest(Gateway& gateway, Op op) {
  const size_t id = history_.Begin(op, moment_++);
  const auto status = Wait(Do(&gateway, id, Duration(0)), gateway);
  if (!status) return false;
  if (history_.at(id).ended == kNever) history_.at(id).ended = moment_++;
  if (!*status) history_.at(id).error = status->code();
  Say(fmt::format("g{}", gateway.index), "at rest " + history_.at(id).ToString());
  TidyGivenUp(gateway);
  return status->has_value();
}

void World::CheckDirectories(Gateway& gateway) {
  for (const std::string& directory : traits_.directories ? directories_ : both_) {
    Op list;
    list.kind = OpKind::kList;
    list.name = directory;
    const bool there = DoAtRest(gateway, list);
    const Op& asked = history_.ops().back();
    const bool object = asked.error == Code::kNotDirectory && IsBoth(directory);
    if (!there && !object && asked.error != Code::kNotFound)
      return Break(fmt::format("at rest {} cannot be listed", directory));
    if (there) resting_directories_.insert(directory);
    if (!there) resting_directories_.erase(directory);
    if (!object) CheckDirectoryFiles(gateway, directory, there);
  }
}

// At rest: a directory is one mark, nothing else.
void World::CheckDirectoryFiles(Gateway& gateway, const std::string& directory, bool there) {
  LetBackgroundEnd();
  const ObjectPath path = PathOf(directory);
  const auto servers = Wait(ListOnAll(*gateway.engine, path), gateway);
  if (!servers) return;
  std::set<std::string> entries;
  size_t marks = 0;
  for (const auto& [server, states] : *servers) {
    for (const State& state : states) {
      if (there && traits_.kinds && state.kind == StateKind::kAttributes) continue;  // CheckAttributes
      marks += state.kind == StateKind::kDirectory;
      entries.insert(FormatState(state));
    }
  }
  const bool one_mark = entries.size() == 1 && entries.begin()->starts_with("d.");
  if (there ? !one_mark : !entries.empty())
    return Break(fmt::format("at rest {} is left over for {}", entries.empty() ? "nothing" : *entries.begin(),
                             directory));
  if (there && marks < gateway.engine->HomeQuorum(PathOf(directory)))
    Break(fmt::format("at rest the directory {} is on {} homes only", directory, marks));
}

// Files that belong to no name: CheckFiles has seen those that do.
void World::CheckNoOtherFiles() {
  std::vector<std::string> known;
  for (const std::string& name : names_) known.push_back(PathOf(name).ObjectDirectory() + "/");
  for (uint64_t epoch = 1; traits_.members && epoch <= descriptor_.epoch + 1; ++epoch)
    known.push_back(ObjectPath::OfList(epoch).ObjectDirectory() + "/");
  for (size_t i = 0; i < servers_.size(); ++i) {
    const bool has_left = i >= descriptor_.members.size();
    for (const auto& [file, size] : servers_[i]->Files()) {
      // All members get logs of renames, those that are emptied too. Nobody reads those of one that has left:
      // it can join again only when it is empty.
      if (has_left && file.starts_with("/.xec/moves/")) continue;
      if (file == kIdentityPath && traits_.ailments) continue;
      if (file.starts_with(kDescriptorPath) && traits_.members) continue;
      if (file.starts_with(kDiskClockFolder) && traits_.older_disk) continue;
      const bool of_a_name = std::any_of(known.begin(), known.end(),
                                         [&f = file](const std::string& k) { return f.starts_with(k); });
      if (!of_a_name) return Break(fmt::format("at rest {} is left over on s{}", file, i));
    }
  }
}

}  // namespace xec::sim

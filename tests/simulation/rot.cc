// SPDX-License-Identifier: LGPL-3.0-or-later
// Archives that go bad on the disks of at most m servers, and their repair. What a home knows of a name (its
// states) is not touched: a home that forgets counts as one that is away (docs/protocol/crashes.md).
#include <algorithm>

#include "base/contains.hh"
#include "object/repair/repair.hh"
#include "placement/homes.hh"
#include "steps.hh"
#include "store/rebuild.hh"
#include "world.hh"

namespace xec::sim {

void World::ScheduleRot() {
  const auto pause = seconds(1 + rot_random_.Below(rot_random_.OneIn(2) ? 20 : 900));
  executor_.RunAt(executor_.Now() + pause, [this] {
    if (!faults_) return;
    RotOnce();
    ScheduleRot();
  });
}

// Is it of a home, while another home has not got the version? Then the name may stand or fall with it.
bool World::IsOfThinName(size_t server, const std::string& archive) const {
  const size_t slash = archive.rfind('/');
  const std::optional<State> state = ParseState(std::string_view(archive).substr(slash + 1));
  if (!state || state->kind != StateKind::kPromoted) return false;
  const std::string directory = archive.substr(0, slash + 1);
  const auto knows = [&](MemberIndex home) {
    const auto files = servers_[home]->Files();
    return std::any_of(files.begin(), files.end(), [&](const auto& file) {
      if (!file.first.starts_with(directory)) return false;
      const std::optional<State> here = ParseState(std::string_view(file.first).substr(slash + 1));
      return here && here->Accepted() && here->version == state->version;
    });
  };
  for (const std::string& name : names_) {
    const ObjectPath path = PathOf(name);
    if (path.ObjectDirectory() + "/" != directory) continue;
    const Homes homes = HomeFinder(descriptor_).Of(path.Last());
    const bool home = Contains(homes, server);
    return home && !std::all_of(homes.begin(), homes.end(), knows);
  }
  return false;
}

// What is wrong with it from now on.
std::string_view World::Spoil(size_t server, const std::string& path, uint64_t size) {
  const size_t at = rot_random_.Below(size);
  if (rot_random_.OneIn(4)) {
    servers_[server]->Tamper(path, [&](std::string& bytes) { bytes.resize(at); });
    return "is cut short";
  }
  if (rot_random_.OneIn(4)) {
    // Others lose the connection over it. What they have is repaired only where another server can take it.
    const size_t others = servers_.size() - (traits_.loses_disk ? 1 : 0);
    const bool says_so = rot_random_.OneIn(2) || others <= descriptor_.geometry.Total();
    servers_[server]->SpoilSector(path, {at, says_so ? Code::kUnreadable : Code::kUnavailable});
    return says_so ? "has a bad sector" : "has a bad sector that nobody is told of";
  }
  const auto change = static_cast<char>(1 + rot_random_.Below(255));
  servers_[server]->Tamper(path,
                           [&](std::string& bytes) { bytes[at] = static_cast<char>(bytes[at] ^ change); });
  return "has a wrong byte";
}

void World::RotOnce() {
  std::vector<size_t> liars;
  for (size_t i = 0; i < servers_.size(); ++i) {
    if (traits_.liars[i]) liars.push_back(i);
  }
  if (liars.empty()) return;
  const size_t server = liars[rot_random_.Below(liars.size())];
  const auto all = servers_[server]->Files();
  std::vector<std::string> archives;
  for (const auto& [path, size] : all) {
    if (size > 0 && IsArchive(path)) archives.push_back(path);
  }
  if (archives.empty()) return;
  std::vector<std::string> thin;
  for (const std::string& path : archives) {
    if (IsOfThinName(server, path)) thin.push_back(path);
  }
  const bool of_thin = !thin.empty() && !rot_random_.OneIn(4);
  if (of_thin) archives = std::move(thin);
  const std::string path = archives[rot_random_.Below(archives.size())];
  Say(fmt::format("s{}", server), fmt::format("{} {}", path, Spoil(server, path, all.at(path))));
  for (const std::string& name : names_) {
    const bool of_it = path.starts_with(PathOf(name).ObjectDirectory() + "/");
    if (of_it && (of_thin || rot_random_.OneIn(2))) ScheduleRepair(InStore(name));
  }
}

// As a gateway that has met damage does, while everything else goes on.
void World::ScheduleRepair(const std::string& name) {
  executor_.RunAt(executor_.Now() + seconds(rot_random_.Below(30)), [this, name] {
    Gateway* const gateway = gateways_[rot_random_.Below(kGateways)].get();
    if (faults_ && gateway != nullptr && gateway->AnswersClients())
      gateway->scope->Spawn(Repair(gateway, name));
  });
}

// As an operator does.
Task<void> World::RepairSome(Gateway* gateway) {
  if (!faults_ || rot_random_.OneIn(2)) co_return;
  const std::string name = names_[rot_random_.Below(traits_.names)];
  const std::string told = InStore(name);
  if (repairs_begun_ % 4 == 3) {
    co_await RebuildSome(gateway);
  } else {
    co_await Repair(gateway, told);
  }
}

// Of all names: what it cannot have now, or does not see, is left to others.
Task<void> World::RebuildSome(Gateway* gateway) {
  ++repairs_unfinished_;
  ++repairs_begun_;
  RebuildOptions options;
  const Result<RebuildReport> rebuilt =
      co_await Rebuild(*gateway->engine, *gateway->store, std::move(options));
  const bool done = rebuilt && rebuilt->Done() && rebuilt->silent.empty();
  if (done) --repairs_unfinished_;
  Say(fmt::format("g{}", gateway->index),
      fmt::format("rebuilds: {}", rebuilt ? fmt::format("{} of {} objects of {}", rebuilt->total.repaired,
                                                        rebuilt->total.needed, rebuilt->total.objects)
                                          : rebuilt.error().message));
}

Task<void> World::Repair(Gateway* gateway, std::string name) {
  ++repairs_unfinished_;
  const std::string object_directory = ObjectPath::ParseStored(name)->ObjectDirectory();
  gateway->steps.BeginRepair(object_directory);
  RepairOptions options;
  options.deep = repairs_begun_++ % 2 == 0;
  const Result<RepairReport> repaired = co_await gateway->store->Repair(name, std::move(options));
  gateway->steps.EndRepair(object_directory);
  if (IsWhole(repaired)) --repairs_unfinished_;
  Say(fmt::format("g{}", gateway->index),
      fmt::format("repairs {}: {}", name,
                  repaired ? fmt::format("{} of {} archives", repaired->archives_made, repaired->archives_bad)
                           : repaired.error().message));
}

bool World::IsWhole(const Result<RepairReport>& repaired) {
  return repaired && repaired->archives_made == repaired->archives_bad;
}

std::optional<Result<RepairReport>> World::RepairAsAsked(Gateway& gateway, const std::string& name) {
  RepairOptions options;
  if (lost_) options.gone.push_back(static_cast<MemberIndex>(*lost_));
  return Wait(gateway.store->Repair(InStore(name), std::move(options)), gateway);
}

// A rebuild first; then everything is read.
void World::RepairAll(Gateway& gateway) {
  RebuildOptions options;
  if (lost_) options.gone.push_back(static_cast<MemberIndex>(*lost_));
  const auto rebuilt = Wait(Rebuild(*gateway.engine, *gateway.store, std::move(options)), gateway);
  if (!rebuilt) return;
  if (!*rebuilt) return Break(fmt::format("at rest nothing is rebuilt: {}", rebuilt->error().message));
  for (const std::string& name : names_) {
    auto repaired = RepairAsAsked(gateway, name);
    // A server that was silent over an archive although it is back: who is told so asks again.
    for (int again = 0; again < 2 && repaired && *repaired && (*repaired)->archives_silent > 0 && !lost_;
         ++again)
      repaired = RepairAsAsked(gateway, name);
    if (!repaired) return;
    const bool directory = !*repaired && repaired->code() == Code::kIsDirectory && IsBoth(name);
    if (!IsWhole(*repaired) && !directory && (*repaired || repaired->code() != Code::kNotFound)) {
      return Break(fmt::format(
          "at rest {} is not repaired: {}", name,
          *repaired
              ? fmt::format("{} of {} archives; {}", (*repaired)->archives_made, (*repaired)->archives_bad,
                            (*repaired)->problems.empty() ? "" : (*repaired)->problems.front())
              : repaired->error().ToString()));
    }
  }
}

}  // namespace xec::sim

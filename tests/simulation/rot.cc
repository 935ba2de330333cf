// SPDX-License-Identifier: LGPL-3.0-or-later
// Archives that go bad on the disks of at most m servers, and their repair. What a home knows of a name (its
// states) is not touched: a home that forgets counts as one that is away (docs/protocol.md 5).
#include "object/repair.hh"
#include "steps.hh"
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

void World::RotOnce() {
  const size_t server = rot_random_.Below(servers_.size());
  if (!traits_.liars[server]) return;
  const auto all = servers_[server]->Files();
  std::vector<std::string> archives;
  for (const auto& [path, size] : all) {
    if (size > 0 && IsArchive(path)) archives.push_back(path);
  }
  if (archives.empty()) return;
  const std::string path = archives[rot_random_.Below(archives.size())];
  const bool cut = rot_random_.OneIn(4);
  servers_[server]->Tamper(path, [&](std::string& bytes) {
    const size_t at = rot_random_.Below(bytes.size());
    if (cut) {
      bytes.resize(at);
    } else {
      bytes[at] = static_cast<char>(bytes[at] ^ static_cast<char>(1 + rot_random_.Below(255)));
    }
  });
  Say(fmt::format("s{}", server), fmt::format("{} {}", path, cut ? "is cut short" : "has a wrong byte"));
  for (const std::string& name : names_) {
    const bool of_it = path.starts_with(PathOf(name).ObjectDirectory() + "/");
    if (of_it && rot_random_.OneIn(2)) ScheduleRepair(InStore(name));
  }
}

// As a gateway that has met damage does, while everything else goes on.
void World::ScheduleRepair(const std::string& name) {
  executor_.RunAt(executor_.Now() + seconds(rot_random_.Below(30)), [this, name] {
    Gateway* const gateway = gateways_[rot_random_.Below(kGateways)].get();
    if (faults_ && gateway != nullptr && gateway->TakesWork()) gateway->scope->Spawn(Repair(gateway, name));
  });
}

// As an operator does.
Task<void> World::RepairSome(Gateway* gateway) {
  if (!faults_ || rot_random_.OneIn(2)) co_return;
  const std::string name = names_[rot_random_.Below(traits_.names)];
  const std::string told = InStore(name);
  co_await Repair(gateway, told);
}

Task<void> World::Repair(Gateway* gateway, std::string name) {
  ++repairs_unfinished_;
  const std::string object_directory = ObjectPath::ParseStored(name)->ObjectDirectory();
  gateway->steps.BeginRepair(object_directory);
  const Result<RepairReport> repaired = co_await gateway->store->Repair(name, {});
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

void World::RepairAll(Gateway& gateway) {
  for (const std::string& name : names_) {
    RepairOptions options;
    if (lost_) options.gone.push_back(static_cast<MemberIndex>(*lost_));
    const auto repaired = Wait(gateway.store->Repair(InStore(name), std::move(options)), gateway);
    if (!repaired) return;
    const bool directory = !*repaired && repaired->code() == Code::kIsDirectory && IsBoth(name);
    if (!IsWhole(*repaired) && !directory && (*repaired || repaired->code() != Code::kNotFound)) {
      return Break(fmt::format(
          "at rest {} is not repaired: {}", name,
          *repaired ? fmt::format("{} of {} archives", (*repaired)->archives_made, (*repaired)->archives_bad)
                    : repaired->error().ToString()));
    }
  }
}

}  // namespace xec::sim

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "assembly/log_health.hh"

#include "base/log.hh"

namespace xec {

void LogHealth(Engine& engine) {
  // The last one may be told while the engine goes.
  std::vector<std::string> names;
  std::vector<bool> expected;  // to be away
  for (size_t i = 0; i < engine.server_count(); ++i) {
    const Member& member = engine.descriptor().members[i];
    const bool in_maintenance = engine.InMaintenance(static_cast<MemberIndex>(i));
    names.push_back(
        fmt::format("{} ({}{})", member.id, member.address, in_maintenance ? "; in maintenance" : ""));
    expected.push_back(in_maintenance);
  }
  engine.monitor().SetListener([names = std::move(names), expected](const HealthChange& change) {
    const bool well = change.to == ServerState::kUp || expected[change.server];
    Log(well ? LogLevel::kInfo : LogLevel::kWarning, "health", "{}",
        DescribeChange(change, names[change.server]));
  });
}

}  // namespace xec

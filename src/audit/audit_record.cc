// SPDX-License-Identifier: LGPL-3.0-or-later
#include "audit/audit_record.hh"

#include <ctime>

#include <nlohmann/json.hpp>

namespace xec {
namespace {

// "2026-11-30T10:35:29.123Z"
std::string UtcTime(int64_t wall_ms) {
  const time_t seconds = wall_ms / 1000;
  std::tm parts = {};
  gmtime_r(&seconds, &parts);
  char text[sizeof "2026-11-30T10:35:29"];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  return fmt::format("{}.{:03}Z", text, wall_ms % 1000);
}

}  // namespace

std::string FormatAudit(const AuditRecord& record, const Caller* caller, int64_t wall_ms,
                        std::string_view process) {
  nlohmann::ordered_json line = {{"time", UtcTime(wall_ms)}, {"event", record.event}};
  const auto add = [&line](const char* name, std::string_view value) {
    if (!value.empty()) line[name] = value;
  };
  add("what", record.what);
  line["path"] = record.path;
  add("to", record.to);
  if (record.version) line["version"] = record.version->ToString();
  if (record.size) line["size"] = *record.size;
  line["result"] = record.result;
  if (caller != nullptr) {
    add("subject", caller->subject);
    add("dn", caller->dn);
    if (!caller->groups.empty()) line["groups"] = caller->groups;
    add("host", caller->host);
    add("door", caller->door);
  } else {
    line["door"] = "local";
  }
  add("claimed_subject", record.claimed);
  add("process", process);
  // Bytes of names that are not UTF-8 become replacement characters.
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "cli/space_report.hh"

#include <algorithm>

#include "base/units.hh"

namespace xec {
namespace {

constexpr int64_t kMillisPerSecond = 1000;

uint64_t UsedBytes(const GroupUse& of) { return of.used ? static_cast<uint64_t>(of.used->bytes) : 0; }

uint64_t FreeBytes(const SpaceReport& report, const GroupUse& of) {
  const uint64_t in_store = report.store.usable_free_bytes;
  if (!of.group.quota_bytes) return in_store;
  return std::min(in_store, *of.group.quota_bytes - std::min(*of.group.quota_bytes, UsedBytes(of)));
}

int64_t AgeSeconds(const SpaceReport& report, const GroupUse& of) {
  return std::max<int64_t>(0, report.now_ms - of.counted_ms) / kMillisPerSecond;
}

std::string InterfaceOf(const std::string& url) {
  const std::string scheme = url.substr(0, url.find(':'));
  if (scheme == "root" || scheme == "roots") return "xroot";
  return scheme == "http" || scheme == "davs" || scheme == "dav" ? "https" : scheme;
}

}  // namespace

Json SpaceJson(const SpaceReport& report) {
  const StoreSpace& store = report.store;
  Json groups = Json::array();
  for (const GroupUse& of : report.groups) {
    Json group = {{"group", of.group.name}, {"path", of.group.prefix}};
    group["quota_bytes"] = of.group.quota_bytes ? Json(*of.group.quota_bytes) : Json();
    group["free_bytes"] = FreeBytes(report, of);
    group["used_bytes"] = of.used ? Json(of.used->bytes) : Json();
    group["objects"] = of.used ? Json(of.used->objects) : Json();
    group["counted_ms"] = of.used ? Json(of.counted_ms) : Json();
    groups.push_back(std::move(group));
  }
  return {{"usable_total_bytes", store.usable_total_bytes},
          {"usable_free_bytes", store.usable_free_bytes},
          {"raw_total_bytes", store.raw_total_bytes},
          {"raw_free_bytes", store.raw_free_bytes},
          {"servers_heard", store.servers_heard},
          {"now_ms", report.now_ms},
          {"groups", std::move(groups)}};
}

void PrintSpace(const SpaceReport& report) {
  const StoreSpace& store = report.store;
  fmt::print("usable {} of {} free, raw {} of {} free, on {} data servers\n\n",
             FormatSize(store.usable_free_bytes), FormatSize(store.usable_total_bytes),
             FormatSize(store.raw_free_bytes), FormatSize(store.raw_total_bytes), store.servers_heard);
  fmt::print("{:<20} {:>12} {:>12} {:>12} {:>12}  {}\n", "group", "used", "objects", "quota", "free", "path");
  for (const GroupUse& of : report.groups) {
    fmt::print("{:<20} {:>12} {:>12} {:>12} {:>12}  {}\n", of.group.name,
               of.used ? FormatSize(UsedBytes(of)) : "not counted",
               of.used ? fmt::format("{}", of.used->objects) : "-",
               of.group.quota_bytes ? FormatSize(*of.group.quota_bytes) : "-",
               FormatSize(FreeBytes(report, of)), of.group.prefix);
  }
  if (report.groups.empty() || !report.groups.front().used) {
    fmt::print("\nno gateway has counted these groups yet: one does so soon after it was started\n");
    return;
  }
  fmt::print("\ncounted {} s ago; changes since then as the gateways told them\n",
             AgeSeconds(report, report.groups.front()));
}

Status NeedGroups(const std::map<std::string, std::string>& vos, const std::vector<GroupUse>& groups) {
  for (const auto& [name, vo] : vos) {
    const bool there = std::any_of(groups.begin(), groups.end(),
                                   [&name = name](const GroupUse& of) { return of.group.name == name; });
    if (!there) return Fail(Code::kInvalidArgument, "--vo {}={}: there is no group {}", name, vo, name);
  }
  return OkStatus();
}

Json SrrJson(const SpaceReport& report, const SiteWords& site, const std::string& version) {
  const int64_t now_s = report.now_ms / kMillisPerSecond;
  const Json all = {"all"};
  Json endpoints = Json::array(), shares = Json::array();
  for (const std::string& url : site.endpoints) {
    endpoints.push_back({{"name", InterfaceOf(url)},
                         {"endpointurl", url},
                         {"interfacetype", InterfaceOf(url)},
                         {"qualitylevel", "production"},
                         {"assignedshares", all}});
  }
  for (const GroupUse& of : report.groups) {
    const auto vo = site.vos.find(of.group.name);
    shares.push_back({{"name", of.group.name},
                      {"timestamp", now_s},
                      {"totalsize", of.group.quota_bytes.value_or(report.store.usable_total_bytes)},
                      {"usedsize", UsedBytes(of)},
                      {"numberoffiles", of.used ? of.used->objects : 0},
                      {"path", Json::array({of.group.prefix})},
                      {"assignedendpoints", all},
                      {"vos", Json::array({vo == site.vos.end() ? of.group.name : vo->second})}});
  }
  const uint64_t used = report.store.usable_total_bytes -
                        std::min(report.store.usable_total_bytes, report.store.usable_free_bytes);
  const Json online = {{"totalsize", report.store.usable_total_bytes}, {"usedsize", used}};
  return {{"storageservice",
           {{"name", site.name},
            {"id", site.id},
            {"servicetype", "disk"},
            {"implementation", "XEC"},
            {"implementationversion", version},
            {"qualitylevel", "production"},
            {"latestupdate", now_s},
            {"storagecapacity", {{"online", online}}},
            {"storageendpoints", std::move(endpoints)},
            {"storageshares", std::move(shares)}}}};
}

}  // namespace xec

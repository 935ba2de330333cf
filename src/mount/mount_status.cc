// SPDX-License-Identifier: LGPL-3.0-or-later
#include "mount/mount_status.hh"

#include <unistd.h>

#include <nlohmann/json.hpp>

namespace xec {
namespace {

using Json = nlohmann::ordered_json;

// Of one list, so that the rest has a place.
constexpr size_t kListBytesMax = kAttributeBytesMax / 3;

std::string Dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// The first of them that fit together.
template <typename List, typename Row>
Json Rows(const List& all, Row row) {
  Json rows = Json::array();
  size_t bytes = 0;
  for (const auto& one : all) {
    Json json = row(one);
    bytes += Dump(json).size() + 1;
    if (bytes > kListBytesMax) break;
    rows.push_back(std::move(json));
  }
  return rows;
}

}  // namespace

std::string FormatMountStatus(const MountStatus& status) {
  Json json;
  json["directory"] = status.identity.directory;
  json["source"] = status.identity.source;
  json["version"] = status.identity.version;
  json["pid"] = getpid();
  json["since_ms"] = status.since_ms;
  json["threads"] = status.threads;
  json["requests"] = status.requests;
  json["open_files"] = status.open_files;
  json["changed_files"] = status.changed.size();
  json["changed"] = Rows(
      status.changed, [](const ChangedFile& file) { return Json{{"path", file.path}, {"size", file.size}}; });
  if (status.tree.scratch_limit_bytes > 0) {
    json["scratch_bytes"] = status.tree.scratch_bytes;
    json["scratch_limit_bytes"] = status.tree.scratch_limit_bytes;
  }
  if (status.tree.workers) json["workers"] = *status.tree.workers;
  json["silent_servers"] =
      Rows(status.tree.silent_servers, [](const std::string& server) { return Json(server); });
  return Dump(json);
}

std::string FormatMountFlushed(const MountFlushed& flushed) {
  Json json;
  json["committed"] = flushed.committed;
  json["not_committed"] = flushed.failed.size();
  json["failed"] = Rows(flushed.failed, [](const UncommittedFile& file) {
    return Json{
        {"path", file.path}, {"code", static_cast<int>(file.error.code)}, {"error", file.error.message}};
  });
  return Dump(json);
}

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// ls, stat, rm, mv and mkdir.

#include "api/remove_many.hh"
#include "cli/commands.hh"
#include "cli/json_output.hh"
#include "cli/terminal.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

std::string Join(const std::string& directory, const std::string& name) {
  return directory.ends_with('/') ? directory + name : directory + "/" + name;
}

const char* TypeOf(bool directory, const Settings& settings) {
  if (directory) return "directory";
  return settings.link ? "link" : "object";
}

// What follows it in a listing.
const char* MarkOf(const ListedName& name) {
  if (name.directory) return "/";
  return name.settings.link ? "@" : "";
}

// Directories of layout xrdec have none.
bool HasTime(const ListedName& name) { return !name.directory || name.version != Version(); }

std::string WithoutSlashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

class Lister {
 public:
  Lister(const CommandLine& line, Store& store) : line_(line), store_(store) {}

  // `named`: the path itself was asked for, so an object is shown too.
  Status Show(const std::string& path, bool named) {
    Result<std::vector<ListedName>> names = SyncWait(ListAll(store_, path));
    if (!names && named && names.code() == Code::kNotDirectory) {
      XEC_ASSIGN_OR_RETURN(const ObjectInfo info, SyncWait(store_.Stat(path)));
      Print(path, ListedName{path, false, info.size, info.mtime_ms, info.version, info.settings});
      return OkStatus();
    }
    if (!names) return names.error();
    const bool heading = line_.recursive || line_.operands.size() > 1;
    if (heading && !line_.json) fmt::print("{}{}:\n", first_ ? "" : "\n", path);
    first_ = false;
    for (const ListedName& name : *names) Print(Join(path, name.name), name);
    for (const ListedName& name : *names) {
      if (name.directory && line_.recursive) XEC_TRY(Show(Join(path, name.name), false));
    }
    return OkStatus();
  }

  const Json& json() const { return json_; }

 private:
  void Print(const std::string& path, const ListedName& name) {
    if (line_.json) {
      Json entry = {{"path", path}, {"type", TypeOf(name.directory, name.settings)}};
      if (!name.directory) entry["size"] = name.size;
      if (HasTime(name)) entry["mtime_ms"] = name.mtime_ms;
      json_.push_back(std::move(entry));
    } else if (line_.long_form) {
      fmt::print("{:>15}  {:19}  {}{}\n", name.directory ? std::string("-") : fmt::format("{}", name.size),
                 HasTime(name) ? FormatTime(name.mtime_ms) : "", name.name, MarkOf(name));
    } else {
      fmt::print("{}{}\n", name.name, MarkOf(name));
    }
  }

  const CommandLine& line_;
  Store& store_;
  bool first_ = true;
  Json json_ = Json::array();
};

Result<Json> Describe(OpenedStore& store, const std::string& path) {
  XEC_ASSIGN_OR_RETURN(const ObjectDescription all, SyncWait(store.store().Describe(path)));
  Json json = {{"path", path}, {"type", TypeOf(all.info.directory, all.info.settings)}};
  if (all.info.directory) return json;
  json["size"] = all.info.size;
  json["mtime_ms"] = all.info.mtime_ms;
  json["version"] = all.info.version.ToString();
  if (!all.info.etag.empty()) json["etag"] = all.info.etag;
  json["geometry"] = all.geometry.ToString();
  json["chunk_size"] = all.geometry.chunk_size_bytes;
  json["object_id"] = all.object_id;
  json["checksums"] = all.checksums;
  json["attributes"] = all.attributes;
  json["servers"] = all.servers;
  json["debts"] = all.debts;
  return json;
}

void PrintDescription(const Json& json) {
  const auto row = [](const char* name, const std::string& value) { fmt::print("{:<12}{}\n", name, value); };
  const auto text = [&](const char* key) { return json[key].get<std::string>(); };
  row("path", text("path"));
  row("type", text("type"));
  if (!json.contains("size")) return;
  row("size", fmt::format("{} ({})", json["size"].get<uint64_t>(), FormatSize(json["size"].get<uint64_t>())));
  row("modified", FormatTime(json["mtime_ms"].get<int64_t>()) + " UTC");
  row("version", text("version"));
  if (json.contains("etag")) row("etag", text("etag"));
  row("geometry",
      fmt::format("{}, chunks of {}", text("geometry"), FormatSize(json["chunk_size"].get<uint64_t>())));
  row("object id", text("object_id"));
  std::string servers;
  for (const auto& server : json["servers"]) {
    const std::string id = server.get<std::string>();
    servers += (servers.empty() ? "" : " ") + (id.empty() ? "-" : id);
  }
  row("servers", servers);
  for (const auto& [name, value] : json["checksums"].items()) row(name.c_str(), value.get<std::string>());
  for (const auto& [name, value] : json["attributes"].items())
    row("attribute", name + "=" + value.get<std::string>());
  if (!json["debts"].empty()) row("debt", fmt::format("{} archives are still owed", json["debts"].size()));
}

}  // namespace

Result<int> RunList(const CommandLine& line, OpenedStore& store) {
  Lister lister(line, store.store());
  const std::vector<std::string> paths =
      line.operands.empty() ? std::vector<std::string>{"/"} : line.operands;
  for (const std::string& path : paths) XEC_TRY(lister.Show(path, true));
  if (line.json) PrintJson(lister.json());
  return kExitOk;
}

Result<int> RunStat(const CommandLine& line, OpenedStore& store) {
  Json all = Json::array();
  for (size_t i = 0; i < line.operands.size(); ++i) {
    XEC_ASSIGN_OR_RETURN(Json json, Describe(store, line.operands[i]));
    if (!line.json && i > 0) fmt::print("\n");
    if (!line.json) PrintDescription(json);
    all.push_back(std::move(json));
  }
  if (line.json) PrintJson(all);
  return kExitOk;
}

Result<int> RunRemove(const CommandLine& line, OpenedStore& store) {
  XEC_ASSIGN_OR_RETURN(const std::vector<std::string> directories,
                       RemoveObjects(store.store(), line.operands));
  for (const std::string& path : directories) {
    if (!line.recursive)
      return Fail(Code::kIsDirectory, "{} is a directory: xec rm -r removes it with all in it", path);
    XEC_TRY(RemoveTree(store.store(), WithoutSlashes(path)));
  }
  return kExitOk;
}

Result<int> RunMove(const CommandLine& line, OpenedStore& store) {
  const std::string& from = line.operands[0];
  std::string to = line.operands[1];
  const Result<ObjectInfo> info = SyncWait(store.store().Stat(to));
  if (!info && info.code() != Code::kNotFound) return info.error();
  const std::string name = WithoutSlashes(from);
  if (info && info->directory) to = Join(to, name.substr(name.rfind('/') + 1));
  XEC_TRY(SyncWait(store.store().Rename(from, to)));
  return kExitOk;
}

Result<int> RunMakeDirectory(const CommandLine& line, OpenedStore& store) {
  for (const std::string& path : line.operands) {
    const Status made = SyncWait(store.store().MakeDirectory(path, line.parents));
    if (made || (line.parents && made.code() == Code::kAlreadyExists)) continue;
    return made.error();
  }
  return kExitOk;
}

}  // namespace xec

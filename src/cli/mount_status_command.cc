// SPDX-License-Identifier: LGPL-3.0-or-later
// xec mount status and flush: what mounts of this machine tell of themselves, and that they store all.
#include "base/units.hh"
#include "cli/commands.hh"
#include "cli/json_output.hh"
#include "cli/mount_ask.hh"
#include "cli/terminal.hh"
#include "mount/mount_status.hh"

namespace xec {
namespace {

// A mount that has not answered then is told as silent.
constexpr Duration kStatusLimit = std::chrono::seconds(5);
// What a program has written may be much.
constexpr Duration kFlushLimit = std::chrono::hours(24);

Result<ListedMount> NeedMountAt(const std::string& path) {
  std::optional<ListedMount> mount = MountAt(path);
  if (!mount) return Fail(Code::kNotFound, "no store is mounted at {}", path);
  return *std::move(mount);
}

// In a word, what became of the question.
const char* StateWord(const Result<std::string>& answer) {
  if (answer) return "answers";
  switch (answer.code()) {
    case Code::kDeadlineExceeded: return "silent";
    case Code::kUnavailable: return "dead";
    case Code::kPermissionDenied: return "closed";
    default: return "unknown";
  }
}

Json StatusJson(const ListedMount& mount, const Result<std::string>& answer) {
  Json json = {{"directory", mount.directory}, {"source", mount.source}, {"user", mount.user}};
  json["state"] = StateWord(answer);
  if (!answer) {
    json["error"] = answer.error().message;
    return json;
  }
  const Json told = Json::parse(*answer, nullptr, /*allow_exceptions=*/false);
  if (told.is_object()) {
    for (const auto& [name, value] : told.items()) {
      if (!json.contains(name)) json[name] = value;
    }
  }
  return json;
}

uint64_t NumberIn(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
}

void PrintStatus(const Json& mount) {
  fmt::print("{}  {}\n", mount["directory"].get<std::string>(), mount["source"].get<std::string>());
  if (mount.contains("error")) {
    fmt::print("  {}: {}\n", mount["state"].get<std::string>(), mount["error"].get<std::string>());
    return;
  }
  fmt::print("  since {}, process {}, version {}\n",
             FormatTime(static_cast<int64_t>(NumberIn(mount, "since_ms"))), NumberIn(mount, "pid"),
             mount.value("version", "unknown"));
  fmt::print("  requests under way: {}; threads: {}", NumberIn(mount, "requests"),
             NumberIn(mount, "threads"));
  if (mount.contains("workers")) fmt::print("; workers: {}", NumberIn(mount, "workers"));
  fmt::print("\n  open files: {}; with changes that are not committed: {}", NumberIn(mount, "open_files"),
             NumberIn(mount, "changed_files"));
  if (mount.contains("scratch_limit_bytes")) {
    fmt::print("; scratch: {} of {}", FormatSize(NumberIn(mount, "scratch_bytes")),
               FormatSize(NumberIn(mount, "scratch_limit_bytes")));
  }
  fmt::print("\n");
  for (const Json& file : mount["changed"])
    fmt::print("    {}  {}\n", file.value("path", ""), FormatSize(NumberIn(file, "size")));
  for (const Json& server : mount["silent_servers"])
    fmt::print("  does not answer: {}\n", server.get<std::string>());
}

}  // namespace

Result<int> RunMountStatus(const CommandLine& line) {
  std::vector<ListedMount> mounts;
  if (line.operands.size() > 1) {
    XEC_ASSIGN_OR_RETURN(ListedMount mount, NeedMountAt(line.operands[1]));
    mounts.push_back(std::move(mount));
  } else {
    mounts = MountsOfMachine();
  }
  Json all = Json::array();
  int code = kExitOk;
  for (const ListedMount& mount : mounts) {
    const Result<std::string> answer = AskMount(mount, kStatusAttribute, kStatusLimit);
    if (!answer && code == kExitOk) code = ExitCodeOf(answer.code());
    all.push_back(StatusJson(mount, answer));
  }
  if (line.json) {
    PrintJson(all);
  } else {
    for (const Json& mount : all) PrintStatus(mount);
  }
  return code;
}

Result<int> RunMountFlush(const CommandLine& line) {
  if (line.operands.size() != 2)
    return Fail(Code::kInvalidArgument, "say what to flush: xec mount flush DIRECTORY");
  XEC_ASSIGN_OR_RETURN(const ListedMount mount, NeedMountAt(line.operands[1]));
  // That it answers is known before it is waited for.
  const Result<std::string> status = AskMount(mount, kStatusAttribute, kStatusLimit);
  if (!status) return status.error();
  XEC_ASSIGN_OR_RETURN(const std::string answer, AskMount(mount, kFlushAttribute, kFlushLimit));
  const Json flushed = Json::parse(answer, nullptr, /*allow_exceptions=*/false);
  if (!flushed.is_object() || !flushed.contains("failed"))
    return Fail(Code::kInternal, "the mount at {} answers nonsense", mount.directory);
  if (line.json) PrintJson(flushed);
  int code = kExitOk;
  for (const Json& file : flushed["failed"]) {
    if (code == kExitOk) code = ExitCodeOf(static_cast<Code>(NumberIn(file, "code")));
    if (!line.json)
      fmt::print(stderr, "xec: {} is not committed: {}\n", file.value("path", ""), file.value("error", ""));
  }
  return code;
}

}  // namespace xec

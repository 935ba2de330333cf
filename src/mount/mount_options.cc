// SPDX-License-Identifier: LGPL-3.0-or-later
#include "mount/mount_options.hh"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <unistd.h>

#include "base/text.hh"
#include "base/units.hh"

namespace xec {
namespace {

// What the FUSE library or the kernel understands, and does no harm.
constexpr std::string_view kOfFuse[] = {
    "allow_other", "allow_root", "auto_unmount", "ro",      "rw",    "exec", "noexec", "suid",
    "nosuid",      "dev",        "nodev",        "noatime", "atime", "sync", "async",  "dirsync"};
constexpr std::string_view kOfFuseWithValue[] = {"fsname", "max_read"};
// What fstab says to mount(8) and systemd, which hand it on, and ways to keep times that are not kept.
constexpr std::string_view kIgnored[] = {
    "defaults",   "auto",     "noauto",     "user",        "users",         "nouser",
    "owner",      "noowner",  "group",      "nogroup",     "nofail",        "_netdev",
    "_rnetdev",   "relatime", "norelatime", "strictatime", "nostrictatime", "diratime",
    "nodiratime", "lazytime", "nolazytime", "silent",      "loud"};
constexpr std::string_view kIgnoredWithValue[] = {"user", "helper", "uhelper", "comment"};
constexpr std::string_view kEnvironment = "setenv", kLastWriterWins = "last_writer_wins";

template <typename List>
bool IsOneOf(const List& list, std::string_view word) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

Error NoValue(std::string_view name, std::string_view value, std::string_view wanted) {
  return Fail(Code::kInvalidArgument, "-o {}={}: that is no {}", name, value, wanted);
}

Status SetSeconds(std::string_view name, std::string_view value, double& seconds) {
  const Result<std::chrono::milliseconds> time = ParseDuration(value);
  if (!time) return NoValue(name, value, "time");
  seconds = std::chrono::duration<double>(*time).count();
  return OkStatus();
}

template <typename T>
Status SetNumber(std::string_view name, std::string_view value, uint64_t least, uint64_t most, T& number) {
  const std::optional<uint64_t> parsed = ParseUint(value);
  if (!parsed || *parsed < least || *parsed > most)
    return NoValue(name, value, fmt::format("number from {} to {}", least, most));
  number = static_cast<T>(*parsed);
  return OkStatus();
}

Status SetMode(std::string_view name, std::string_view value, uint32_t& mode) {
  constexpr size_t kDigitsMax = 4;
  const bool octal = !value.empty() && value.size() <= kDigitsMax &&
                     value.find_first_not_of("01234567") == std::string_view::npos;
  if (!octal) return NoValue(name, value, "mode like 0644");
  mode = 0;
  for (const char digit : value) mode = mode * 8 + static_cast<uint32_t>(digit - '0');
  return OkStatus();
}

Status SetVariable(std::string_view option, MountOptions& options) {
  const size_t equals = option.find('=');
  if (equals == std::string_view::npos || equals == 0)
    return NoValue(kEnvironment, option, "variable like NAME=VALUE");
  options.environment.emplace_back(option.substr(0, equals), option.substr(equals + 1));
  return OkStatus();
}

// Is it for mount(8), systemd or whoever else reads the line?
bool IsForOthers(std::string_view name, bool has_value) {
  if (name.starts_with("x-") || name.starts_with("X-")) return true;
  return has_value ? IsOneOf(kIgnoredWithValue, name) : IsOneOf(kIgnored, name);
}

Status SetOne(MountOptions& options, std::string_view option) {
  const size_t equals = option.find('=');
  const std::string_view name = option.substr(0, equals);
  if (name == "remount") {
    return Fail(Code::kInvalidArgument,
                "-o remount: the options of a mount stay as they are: unmount it and mount it anew");
  }
  if (IsForOthers(name, equals != std::string_view::npos)) return OkStatus();
  if (name == kLastWriterWins && equals == std::string_view::npos) {
    options.last_writer_wins = true;
    return OkStatus();
  }
  if (equals == std::string_view::npos) {
    if (!IsOneOf(kOfFuse, name)) return Fail(Code::kInvalidArgument, "-o {}: there is no such option", name);
    options.of_fuse.emplace_back(option);
    return OkStatus();
  }
  constexpr uint64_t kIdMax = UINT32_MAX - 1;
  const std::string_view value = option.substr(equals + 1);
  if (name == "attr_timeout") return SetSeconds(name, value, options.attributes_s);
  if (name == "entry_timeout") return SetSeconds(name, value, options.names_s);
  if (name == "negative_timeout") return SetSeconds(name, value, options.missing_names_s);
  if (name == "dir_timeout") return SetSeconds(name, value, options.listings_s.emplace());
  if (name == "threads") return SetNumber(name, value, 1, MountOptions::kThreadsMax, options.threads);
  if (name == "uid") return SetNumber(name, value, 0, kIdMax, options.uid);
  if (name == "gid") return SetNumber(name, value, 0, kIdMax, options.gid);
  if (name == "file_mode") return SetMode(name, value, options.file_mode);
  if (name == "dir_mode") return SetMode(name, value, options.directory_mode);
  if (name == kEnvironment) return SetVariable(value, options);
  if (!IsOneOf(kOfFuseWithValue, name))
    return Fail(Code::kInvalidArgument, "-o {}: there is no such option", name);
  options.of_fuse.emplace_back(option);
  return OkStatus();
}

}  // namespace

Result<MountOptions> ParseMountOptions(const std::vector<std::string>& texts) {
  MountOptions options;
  options.uid = getuid();
  options.gid = getgid();
  for (const std::string& text : texts) {
    for (const std::string_view option : Split(text, ',')) {
      if (!option.empty()) XEC_TRY(SetOne(options, option));
    }
  }
  return options;
}

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// Settings: what clients give a name beside its bytes and its attributes (chmod, utimens, symlink). They are
// in the names of states, so who lists a name is told of them without another request. They go along with a
// rename, and with the version.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace xec {

struct Settings {
  std::optional<int64_t> mtime_ns = {};  // since 1970; none: the time of the version
  std::optional<uint16_t> mode =
      {};  // permission bits, at most kModeMax; it is told, and nobody is held to it
  bool link = false;  // the content is the target of a symbolic link

  static constexpr uint16_t kModeMax = 07777;

  // Bits beyond kModeMax are dropped.
  static Settings OfMode(uint32_t mode) { return {.mode = static_cast<uint16_t>(mode & kModeMax)}; }

  bool Any() const { return mtime_ns || mode || link; }
  // Where `changed` says nothing, these.
  Settings With(const Settings& changed) const;
  bool operator==(const Settings&) const = default;
};

// Those that are there, in this order and joined by '_': m and four octal digits, t and the time, l. "" if
// there are none.
std::string FormatSettings(const Settings& settings);
// nullopt for every text that FormatSettings does not make, and for "".
std::optional<Settings> ParseSettings(std::string_view text);

// In milliseconds, rounded down.
constexpr int64_t MillisOf(int64_t ns) { return ns / 1'000'000 - (ns % 1'000'000 < 0 ? 1 : 0); }

// Mode and time that were changed since the version was made are kept as attributes of the version, beside
// those of users, who neither see nor set these two.
inline constexpr std::string_view kModeAttribute = "xec.mode";  // four octal digits
inline constexpr std::string_view kMtimeAttribute = "xec.mtime";  // nanoseconds since 1970, decimal

// What attributes are to be changed.
std::map<std::string, std::optional<std::string>> AttributesOf(const Settings& changed);
// What is no mode or no time is left out.
Settings SettingsIn(const std::map<std::string, std::string>& attributes);

}  // namespace xec

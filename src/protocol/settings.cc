// SPDX-License-Identifier: LGPL-3.0-or-later
#include "protocol/settings.hh"

#include <charconv>

#include <fmt/format.h>

#include "base/text.hh"

namespace xec {
namespace {

template <typename T>
std::optional<T> ParseNumber(std::string_view text, int base) {
  T value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value, base);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

constexpr int kOctal = 8, kDecimal = 10;

std::string FormatMode(uint16_t mode) { return fmt::format("{:04o}", mode); }

}  // namespace

Settings Settings::With(const Settings& changed) const {
  return {.mtime_ns = changed.mtime_ns ? changed.mtime_ns : mtime_ns,
          .mode = changed.mode ? changed.mode : mode,
          .link = link || changed.link};
}

std::string FormatSettings(const Settings& settings) {
  std::string text;
  if (settings.mode) text += "_m" + FormatMode(*settings.mode);
  if (settings.mtime_ns) text += fmt::format("_t{}", *settings.mtime_ns);
  if (settings.link) text += "_l";
  return text.empty() ? text : text.substr(1);
}

std::optional<Settings> ParseSettings(std::string_view text) {
  Settings settings;
  for (const std::string_view part : Split(text, '_')) {
    if (part.starts_with('m')) settings.mode = ParseNumber<uint16_t>(part.substr(1), kOctal);
    if (part.starts_with('t')) settings.mtime_ns = ParseNumber<int64_t>(part.substr(1), kDecimal);
    if (part == "l") settings.link = true;
  }
  const bool exact = settings.Any() && FormatSettings(settings) == text;
  return exact && settings.mode.value_or(0) <= Settings::kModeMax ? std::optional(settings) : std::nullopt;
}

std::map<std::string, std::optional<std::string>> AttributesOf(const Settings& changed) {
  std::map<std::string, std::optional<std::string>> attributes;
  if (changed.mode) attributes.emplace(kModeAttribute, FormatMode(*changed.mode));
  if (changed.mtime_ns) attributes.emplace(kMtimeAttribute, fmt::format("{}", *changed.mtime_ns));
  return attributes;
}

Settings SettingsIn(const std::map<std::string, std::string>& attributes) {
  Settings settings;
  const auto mode = attributes.find(std::string(kModeAttribute));
  if (mode != attributes.end()) settings.mode = ParseNumber<uint16_t>(mode->second, kOctal);
  if (settings.mode.value_or(0) > Settings::kModeMax) settings.mode.reset();
  const auto mtime = attributes.find(std::string(kMtimeAttribute));
  if (mtime != attributes.end()) settings.mtime_ns = ParseNumber<int64_t>(mtime->second, kDecimal);
  return settings;
}

}  // namespace xec

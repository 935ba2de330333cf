// SPDX-License-Identifier: LGPL-3.0-or-later
#include "protocol/xrdec_paths.hh"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.hh"
#include "protocol/object_path.hh"
#include "protocol/version.hh"

namespace xec {
namespace {

constexpr std::string_view kAside = "aside.";

bool KeepInEntry(unsigned char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '.' ||
         c == '_' || c >= 0x80;
}

std::optional<int64_t> ParseSeconds(std::string_view text) {
  const std::optional<uint64_t> seconds = ParseUint(text);
  if (!seconds || *seconds > INT64_MAX) return std::nullopt;
  return static_cast<int64_t>(*seconds);
}

// <version>.<name>
std::optional<TakenAside> ParseAside(std::string_view text) {
  const size_t dot = text.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::optional<int64_t> up_to_s = ParseSeconds(text.substr(0, dot));
  std::optional<std::string> path = PercentDecode(text.substr(dot + 1));
  if (!up_to_s || !path) return std::nullopt;
  return TakenAside{*up_to_s, std::move(*path)};
}

}  // namespace

std::string StagedName::Path() const {
  std::string entry = oid;
  if (moving_since_s) entry += fmt::format(".{}", *moving_since_s);
  if (aside) {
    entry += fmt::format(".{}{}.", kAside, aside->up_to_s);
    const std::string name = PercentEncode(aside->path, KeepInEntry);
    if (entry.size() + name.size() <= kComponentBytesMax) entry += name;
  }
  return fmt::format("{}/{}", kStagedDirectory, entry);
}

std::optional<StagedName> StagedName::Parse(std::string_view entry) {
  StagedName name{std::string(entry.substr(0, kObjectIdBytes)), {}};
  if (!IsObjectId(name.oid)) return std::nullopt;
  if (entry.size() == kObjectIdBytes) return name;
  if (entry[kObjectIdBytes] != '.') return std::nullopt;
  const std::string_view rest = entry.substr(kObjectIdBytes + 1);
  if (rest.starts_with(kAside)) {
    name.aside = ParseAside(rest.substr(kAside.size()));
    return name.aside ? std::optional(name) : std::nullopt;
  }
  name.moving_since_s = ParseSeconds(rest);
  return name.moving_since_s ? std::optional(name) : std::nullopt;
}

Status CheckPlainName(const ObjectPath& path) {
  const std::string& text = path.text();
  const bool bad = std::any_of(text.begin(), text.end(),
                               [](char c) { return (c >= 0 && c < 0x20) || c == 0x7f || c == '?'; });
  if (!bad) return OkStatus();
  return Fail(Code::kInvalidArgument,
              "the name '{}' cannot be used in layout xrdec, whose archives lie under the object's own name: "
              "no '?' and no control characters",
              text);
}

}  // namespace xec

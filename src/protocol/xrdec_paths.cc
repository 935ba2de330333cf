// SPDX-License-Identifier: LGPL-3.0-or-later
#include "protocol/xrdec_paths.hh"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.hh"
#include "protocol/object_path.hh"
#include "protocol/version.hh"

namespace xec {

std::string StagedName::Path() const {
  std::string path = fmt::format("{}/{}", kStagedDirectory, oid);
  if (moving_since_s) path += fmt::format(".{}", *moving_since_s);
  return path;
}

std::optional<StagedName> StagedName::Parse(std::string_view entry) {
  StagedName name{std::string(entry.substr(0, kObjectIdBytes)), {}};
  if (!IsObjectId(name.oid)) return std::nullopt;
  if (entry.size() == kObjectIdBytes) return name;
  if (entry[kObjectIdBytes] != '.') return std::nullopt;
  const std::optional<uint64_t> seconds = ParseUint(entry.substr(kObjectIdBytes + 1));
  if (!seconds || *seconds > INT64_MAX) return std::nullopt;
  name.moving_since_s = static_cast<int64_t>(*seconds);
  return name;
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

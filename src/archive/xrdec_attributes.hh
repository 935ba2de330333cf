// SPDX-License-Identifier: LGPL-3.0-or-later
// The attributes of archives in stock XrdEc's layout, as names and values of XRootD attributes (on the disk
// of a vanilla data server their names have "user.U." in front). Pure functions, thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hh"

namespace xec {

inline constexpr const char* kXrdecFileSize = "xrdec.filesize";
inline constexpr const char* kXrdecVersion = "xrdec.strpver";
inline constexpr const char* kXrdecAdler32 = "xrdec.adler32";

struct XrdecAttributes {
  uint64_t file_size = 0;           // bytes of the object
  uint64_t version = 0;             // seconds since 1970: time of close, shown as the object's mtime
  std::optional<uint32_t> adler32;  // of the object; only at sites that keep it

  bool operator==(const XrdecAttributes&) const = default;

  // Name and value pairs, to be set in one request.
  std::vector<std::pair<std::string, std::string>> Format() const;

  // From name to value; other names are ignored. Errors: kNotFound when neither size nor version is there (no
  // archive of XrdEc); kCorruption when one is missing or a value is not a number.
  static Result<XrdecAttributes> Parse(const std::map<std::string, std::string>& attributes);
};

}  // namespace xec

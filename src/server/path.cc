// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/path.hh"

#include "base/text.hh"

namespace xec {

Status CheckPath(std::string_view path) {
  if (path.empty() || path[0] != '/') return Fail(Code::kInvalidArgument, "path '{}' is not absolute", path);
  if (path.find('\0') != std::string_view::npos)
    return Fail(Code::kInvalidArgument, "a path holds a NUL byte");
  if (path == "/") return OkStatus();
  for (const std::string_view part : Split(path.substr(1), '/')) {
    if (part.empty() || part == "." || part == "..") {
      return Fail(Code::kInvalidArgument, "path '{}' has the part '{}'", path, part);
    }
  }
  return OkStatus();
}

std::string_view ParentPath(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == 0 ? path.substr(0, 1) : path.substr(0, slash);
}

std::string_view LastPart(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_access/followed_file.hh"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace xec {

Result<std::string> ReadFollowed(const std::string& path, struct stat* read) {
  std::ifstream stream(path);
  std::stringstream text;
  // The state comes first: a change while the file is read is seen at the next look.
  if (!stream || stat(path.c_str(), read) != 0 || !(text << stream.rdbuf())) {
    if (stream.is_open() && read->st_size == 0) return std::string();
    return Fail(Code::kInvalidArgument, "{} cannot be read: {}", path, std::strerror(errno));
  }
  return text.str();
}

bool HasChanged(const std::string& path, const struct stat& read) {
  struct stat now = {};
  if (stat(path.c_str(), &now) != 0) return true;
  return now.st_ino != read.st_ino || now.st_size != read.st_size ||
         now.st_mtim.tv_sec != read.st_mtim.tv_sec || now.st_mtim.tv_nsec != read.st_mtim.tv_nsec;
}

}  // namespace xec

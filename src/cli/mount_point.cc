// SPDX-License-Identifier: LGPL-3.0-or-later
#include "cli/mount_point.hh"

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "cli/mount_list.hh"
#include "server/kinds/local_root.hh"

namespace xec {
namespace {

// 0, or an errno.
int Resolve(const std::string& path, std::string& whole, struct stat& status) {
  // What stat says the kernel may still know of a mount that has died.
  struct statvfs space = {};
  if (statvfs(path.c_str(), &space) != 0) return errno;
  std::array<char, PATH_MAX> real = {};
  if (realpath(path.c_str(), real.data()) == nullptr) return errno;
  whole = real.data();
  return stat(whole.c_str(), &status) == 0 ? 0 : errno;
}

bool Run(std::vector<std::string> words) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  int status = 0;
  if (posix_spawnp(&child, argv.front(), nullptr, nullptr, argv.data(), environ) != 0) return false;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return false;
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool EndDeadMount(const std::string& path) {
  const std::optional<ListedMount> mount = MountAt(path);
  if (!mount) return false;
  if (geteuid() == 0) return umount2(mount->directory.c_str(), MNT_DETACH) == 0;
  return Run({"fusermount3", "-u", "-z", mount->directory});
}

}  // namespace

Result<std::string> FreeMountPoint(const std::string& path) {
  std::string whole;
  struct stat status = {};
  int error = Resolve(path, whole, status);
  if (error == ENOTCONN && EndDeadMount(path)) error = Resolve(path, whole, status);
  if (error != 0) {
    return Fail(CodeOfErrno(error), "cannot mount at {}: {}{}", path, ErrnoWords(error),
                error == ENOTCONN ? ", an earlier mount has died there, and cannot be ended" : "");
  }
  if (!S_ISDIR(status.st_mode))
    return Fail(Code::kNotDirectory, "cannot mount at {}: it is no directory", path);
  return whole;
}

}  // namespace xec

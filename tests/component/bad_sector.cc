// SPDX-License-Identifier: LGPL-3.0-or-later
// For LD_PRELOAD: a disk with bad sectors. The middle third of each file that all may write to cannot be read
// (EIO), by whatever call stock xrootd and XEC read with.
#include <cerrno>
#include <dlfcn.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

bool IsBad(int fd, off64_t offset, size_t size) {
  struct stat file = {};
  if (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode) || (file.st_mode & S_IWOTH) == 0) return false;
  const bool bad = offset < file.st_size / 3 * 2 && offset + static_cast<off64_t>(size) > file.st_size / 3;
  if (bad) errno = EIO;
  return bad;
}

template <typename Function>
Function Next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

ssize_t pread64(int fd, void* into, size_t size, off64_t offset) {
  static const auto next = Next<decltype(&pread64)>("pread64");
  return IsBad(fd, offset, size) ? -1 : next(fd, into, size, offset);
}

ssize_t pread(int fd, void* into, size_t size, off_t offset) { return pread64(fd, into, size, offset); }

ssize_t sendfile64(int to, int fd, off64_t* offset, size_t size) {
  static const auto next = Next<decltype(&sendfile64)>("sendfile64");
  return offset != nullptr && IsBad(fd, *offset, size) ? -1 : next(to, fd, offset, size);
}

ssize_t sendfile(int to, int fd, off_t* offset, size_t size) { return sendfile64(to, fd, offset, size); }

}  // extern "C"

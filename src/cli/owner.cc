// SPDX-License-Identifier: LGPL-3.0-or-later
#include "cli/owner.hh"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "server/local_root.hh"

namespace xec {
namespace {

// Set once, before threads are started.
uid_t owner_uid = 0;
gid_t owner_gid = 0;

}  // namespace

Status WorkAsOwner(const Configuration& configuration) {
  if (geteuid() != 0) return OkStatus();
  std::string out_of_reach;
  for (const Site& site : configuration.data) {
    struct stat status = {};
    // A directory that holds nothing of a store yet has no owner in this sense.
    const std::string reserved = site.address + std::string(kReservedDirectory);
    if (stat(reserved.c_str(), &status) != 0 || stat(site.address.c_str(), &status) != 0) continue;
    if (status.st_uid == 0) continue;
    // Whether it can be written says nothing about its owner: the disk may be read-only.
    if (setegid(status.st_gid) == 0 && seteuid(status.st_uid) == 0 &&
        faccessat(AT_FDCWD, site.address.c_str(), R_OK | X_OK, AT_EACCESS) == 0) {
      owner_uid = status.st_uid;
      owner_gid = status.st_gid;
      return OkStatus();
    }
    const int error = errno;
    XEC_CHECK(seteuid(0) == 0 && setegid(0) == 0);
    if (out_of_reach.empty())
      out_of_reach = fmt::format("{} belongs to user {}, as whom it cannot be reached ({})", site.address,
                                 status.st_uid, ErrnoWords(error));
  }
  if (out_of_reach.empty()) return OkStatus();
  return Fail(Code::kPermissionDenied, "{}: what root wrote there its owner could not change", out_of_reach);
}

AsCaller::AsCaller() {
  if (owner_uid == 0) return;
  XEC_CHECK(seteuid(0) == 0 && setegid(0) == 0);
}

AsCaller::~AsCaller() {
  if (owner_uid == 0) return;
  XEC_CHECK(setegid(owner_gid) == 0 && seteuid(owner_uid) == 0);
}

void BecomeCallerInSignalHandler() {
  if (owner_uid != 0) syscall(SYS_setresuid, -1, 0, -1);
}

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "cli/owner.hh"

#include <algorithm>
#include <cerrno>
#include <map>
#include <sys/syscall.h>
#include <tuple>
#include <unistd.h>

#include "cli/data_look.hh"
#include "server/kinds/local_root.hh"

namespace xec {
namespace {

// Set once, before threads are started.
uid_t owner_uid = 0;
gid_t owner_gid = 0;

// A directory that holds nothing of a store yet has no owner in this sense.
bool HasOwner(const ShownData& data) { return data.reserved && data.uid != 0; }
bool IsReachable(const ShownData& data) { return HasOwner(data) && data.closed_to_owner == 0; }

}  // namespace

Status WorkAsOwner(const Configuration& configuration) {
  if (geteuid() != 0) return OkStatus();
  // A directory that was given to somebody else by mistake is not what the others go by.
  std::map<std::pair<uid_t, gid_t>, size_t> owners;
  const std::vector<std::optional<ShownData>> shown =
      LookAtData(configuration.data, [&](const ShownData& data) {
        return IsReachable(data) && ++owners[{data.uid, data.gid}] * 2 > configuration.data.size();
      });
  const auto most = std::max_element(owners.begin(), owners.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most != owners.end()) {
    std::tie(owner_uid, owner_gid) = most->first;
    XEC_CHECK(setegid(owner_gid) == 0 && seteuid(owner_uid) == 0);
    return OkStatus();
  }
  std::string out_of_reach, silent;
  bool of_root = false;
  for (size_t i = 0; i < shown.size(); ++i) {
    const std::string& path = configuration.data[i].address;
    if (!shown[i]) {
      silent = path;
    } else if (!HasOwner(*shown[i])) {
      of_root = of_root || shown[i]->reserved;
    } else if (out_of_reach.empty()) {
      out_of_reach = fmt::format("{} belongs to user {}, as whom it cannot be reached ({})", path,
                                 shown[i]->uid, ErrnoWords(shown[i]->closed_to_owner));
    }
  }
  if (!out_of_reach.empty()) {
    return Fail(Code::kPermissionDenied, "{}: what root wrote there its owner could not change",
                out_of_reach);
  }
  if (silent.empty() || of_root) return OkStatus();
  return Fail(Code::kUnavailable,
              "the directory {} does not answer: whose it is, and what root may write beside it, is unknown",
              silent);
}

// By system calls, of this thread alone: the library would wait until every thread has followed, and one that
// looks at a disk that hangs never does.
AsCaller::AsCaller() {
  if (owner_uid == 0) return;
  XEC_CHECK(syscall(SYS_setresuid, -1, 0, -1) == 0 && syscall(SYS_setresgid, -1, 0, -1) == 0);
}

AsCaller::~AsCaller() {
  if (owner_uid == 0) return;
  XEC_CHECK(syscall(SYS_setresgid, -1, owner_gid, -1) == 0 && syscall(SYS_setresuid, -1, owner_uid, -1) == 0);
}

void BecomeCallerInSignalHandler() {
  if (owner_uid != 0) syscall(SYS_setresuid, -1, 0, -1);
}

}  // namespace xec

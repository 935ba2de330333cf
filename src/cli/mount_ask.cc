// SPDX-License-Identifier: LGPL-3.0-or-later
#include "cli/mount_ask.hh"

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <vector>

#include "mount/mount_status.hh"
#include "server/kinds/local_root.hh"

namespace xec {
namespace {

using Clock = std::chrono::steady_clock;

// In the process that asks. What it writes: an errno, and after 0 the value. Root is let into no mount of
// another user, so it asks as that user.
void Ask(const ListedMount& mount, const std::string& attribute, int answer) {
  if (geteuid() == 0 && mount.user != 0) {
    const bool became = setgroups(0, nullptr) == 0 && setresgid(mount.group, mount.group, mount.group) == 0 &&
                        setresuid(mount.user, mount.user, mount.user) == 0;
    if (!became) return;
  }
  std::vector<char> value(kAttributeBytesMax);
  const ssize_t size = getxattr(mount.directory.c_str(), attribute.c_str(), value.data(), value.size());
  const int error = size < 0 ? errno : 0;
  std::string text(reinterpret_cast<const char*>(&error), sizeof error);
  if (size > 0) text.append(value.data(), static_cast<size_t>(size));
  for (size_t written = 0; written < text.size();) {
    const ssize_t more = write(answer, text.data() + written, text.size() - written);
    if (more < 0) return;
    written += static_cast<size_t>(more);
  }
}

// All that comes until the end of the file; false: not until then.
bool ReadUntil(int file, Clock::time_point end, std::string& text) {
  std::array<char, 4096> piece = {};
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd ready = {.fd = file, .events = POLLIN, .revents = 0};
    const int polled = left <= 0 ? 0 : poll(&ready, 1, static_cast<int>(std::min<int64_t>(left, INT32_MAX)));
    if (polled < 0 && errno == EINTR) continue;
    if (polled <= 0) return false;
    const ssize_t got = read(file, piece.data(), piece.size());
    if (got <= 0) return true;
    text.append(piece.data(), static_cast<size_t>(got));
  }
}

Error ErrorOf(const ListedMount& mount, int number) {
  const std::string& at = mount.directory;
  switch (number) {
    case ENOTCONN: return Fail(Code::kUnavailable, "the process of the mount at {} has died", at);
    case EACCES:
    case EPERM:
      return Fail(Code::kPermissionDenied, "only root and the user that mounted may ask the mount at {}", at);
    case ENODATA:
    case EOPNOTSUPP:
      return Fail(Code::kUnsupported, "the mount at {} is of a version that tells nothing of itself", at);
    default: return Fail(CodeOfErrno(number), "cannot ask the mount at {}: {}", at, ErrnoWords(number));
  }
}

}  // namespace

Result<std::string> AskMount(const ListedMount& mount, const std::string& attribute, Duration at_most) {
  std::array<int, 2> pipe = {};
  if (pipe2(pipe.data(), O_CLOEXEC) != 0)
    return Fail(Code::kUnavailable, "cannot make a pipe: {}", ErrnoWords(errno));
  UniqueFd answer(pipe[0]), told(pipe[1]);
  const Clock::time_point end = Clock::now() + at_most;
  const pid_t child = fork();
  if (child < 0) return Fail(Code::kUnavailable, "cannot start a process: {}", ErrnoWords(errno));
  if (child == 0) {
    Ask(mount, attribute, told.get());
    _exit(0);
  }
  told = UniqueFd();
  std::string text;
  const bool answered = ReadUntil(answer.get(), end, text);
  // It is not waited for if it has not answered: the kernel may hold it.
  kill(child, SIGKILL);
  waitpid(child, nullptr, answered ? 0 : WNOHANG);
  if (!answered) {
    return Fail(
        Code::kDeadlineExceeded,
        "the mount at {} does not answer: its process is stopped, or all its threads wait for servers",
        mount.directory);
  }
  int error = EIO;
  if (text.size() >= sizeof error) std::copy_n(text.data(), sizeof error, reinterpret_cast<char*>(&error));
  if (error != 0) return ErrorOf(mount, error);
  return text.substr(sizeof error);
}

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "assembly/sites/directory_look.hh"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/io_threads.hh"

namespace xec {
namespace {

// Blocking.
ShownDirectory LookAt(const std::string& path) {
  ShownDirectory seen;
  std::error_code unknown;
  seen.place = std::filesystem::weakly_canonical(path, unknown).string();
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0) {
    seen.error = errno;
    return seen;
  }
  seen.directory = S_ISDIR(status.st_mode);
  seen.device = status.st_dev;
  seen.inode = status.st_ino;
  // With the effective user, since a gateway has changed it.
  if (faccessat(AT_FDCWD, path.c_str(), R_OK | X_OK, AT_EACCESS) != 0) seen.unreadable = errno;
  if (faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) seen.unwritable = errno;
  return seen;
}

}  // namespace

DirectoryLook::DirectoryLook(std::string path) : DirectoryLook(path, [path] { return LookAt(path); }) {}

DirectoryLook::DirectoryLook(std::string path, std::function<ShownDirectory()> look)
    : state_(std::make_shared<State>(std::move(path), std::move(look))) {}

Task<Result<ShownDirectory>> DirectoryLook::Ask(CallContext context) {
  const std::shared_ptr<State> state = state_;
  Error late = Fail(Code::kDeadlineExceeded, "the directory {} does not answer", state->path);
  if (state->under_way.exchange(true)) co_return Fail(Code::kUnavailable, "{}", late.message);
  OneShot<Result<ShownDirectory>> answer;
  const TimerId timer =
      context.executor->RunAt(context.deadline, [set = answer.Setter(), late] { set(late); });
  {
    // What is posted owns its thread, which ends after it.
    const auto thread = std::make_shared<IoThreads>("xec-look", 1);
    thread->Post([thread, state, set = answer.Setter()] {
      ShownDirectory seen = state->look();
      state->under_way = false;
      set(seen);
    });
  }
  Result<ShownDirectory> result = co_await answer;
  context.executor->Cancel(timer);
  co_return std::move(result);
}

}  // namespace xec

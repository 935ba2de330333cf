// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/interrupted_changes.hh"

#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "base/log.hh"

namespace xec {
namespace {

// Longer than a client of XRootD tries to come back by default.
constexpr int64_t kMarkSeconds = 3600;
constexpr int64_t kForgetEverySeconds = 600;

// The process at its host: after a new login its connection has another number.
std::string KeyOf(std::string_view client, std::string_view path) {
  const size_t at = client.rfind('@');
  const size_t colon = at == std::string_view::npos ? at : client.rfind(':', at);
  if (colon == std::string_view::npos) return fmt::format("{}\n{}", client, path);
  return fmt::format("{}{}\n{}", client.substr(0, colon), client.substr(at), path);
}

bool IsYoung(const struct stat& file) { return std::time(nullptr) - file.st_mtime < kMarkSeconds; }

}  // namespace

void InterruptedChanges::Mark::End(bool interrupted) {
  if (marks_ == nullptr) return;
  InterruptedChanges& marks = *std::exchange(marks_, nullptr);
  bool over = false;
  {
    MutexLock lock(marks.mutex_);
    const auto found = marks.open_.find(key_);
    found->second.interrupted |= interrupted;
    if (--found->second.count > 0) return;
    over = !found->second.interrupted;
    // One that was interrupted is known by its file.
    marks.open_.erase(found);
  }
  if (over) (void)::unlink(marks.FileOf(key_).c_str());
}

InterruptedChanges::Mark InterruptedChanges::Begin(std::string_view client, std::string_view path) {
  std::string key = KeyOf(client, path);
  {
    MutexLock lock(mutex_);
    Open& open = open_[key];
    ++open.count;
    open.connection = client;
  }
  ForgetOld();
  Write(FileOf(key));
  return {*this, std::move(key)};
}

bool InterruptedChanges::Take(std::string_view client, std::string_view path) {
  const std::string key = KeyOf(client, path), file = FileOf(key);
  {
    MutexLock lock(mutex_);
    const auto found = open_.find(key);
    // XRootD may not have noticed yet that the other connection is gone.
    if (found != open_.end() && !found->second.interrupted) return found->second.connection != client;
    if (found != open_.end()) found->second.interrupted = false;
  }
  struct stat info;
  const bool marked = ::stat(file.c_str(), &info) == 0 && IsYoung(info);
  if (marked) (void)::unlink(file.c_str());
  return marked;
}

// Two clients with one number cost one of them a refusal.
std::string InterruptedChanges::FileOf(const std::string& key) const {
  return fmt::format("{}/{:016x}", folder_, std::hash<std::string>{}(key));
}

void InterruptedChanges::Write(const std::string& file) {
  const int flags = O_CREAT | O_WRONLY | O_CLOEXEC | O_TRUNC;
  int opened = ::open(file.c_str(), flags, 0600);
  if (opened < 0 && errno == ENOENT) {
    std::error_code error;
    std::filesystem::create_directories(folder_, error);
    opened = ::open(file.c_str(), flags, 0600);
  }
  if (opened >= 0) {
    (void)::futimens(opened, nullptr);
    (void)::close(opened);
    return;
  }
  Log(LogLevel::kWarning, "gateway",
      "cannot write {} ({}): if this gateway dies, clients that were writing may go on as if nothing was "
      "lost",
      file, std::generic_category().message(errno));
}

void InterruptedChanges::ForgetOld() {
  const int64_t now = std::time(nullptr);
  {
    MutexLock lock(mutex_);
    if (now - forgot_at_s_ < kForgetEverySeconds) return;
    forgot_at_s_ = now;
  }
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, error)) {
    struct stat info;
    if (::stat(entry.path().c_str(), &info) == 0 && !IsYoung(info)) (void)::unlink(entry.path().c_str());
  }
}

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "cli/data_look.hh"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "placement/store_descriptor.hh"
#include "server/kinds/local_root.hh"

namespace xec {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr auto kLookLimit = std::chrono::seconds(5);

// Blocking. Leaves root's process as the owner of the directory.
ShownData LookAt(const std::string& path) {
  ShownData shown;
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0) return shown;
  std::error_code error;
  shown.exists = true;
  shown.directory = S_ISDIR(status.st_mode);
  shown.empty = fs::is_empty(path, error) && !error;
  shown.reserved = fs::exists(path + std::string(kReservedDirectory), error);
  shown.holds_store = fs::exists(path + std::string(kDescriptorPath), error);
  shown.uid = status.st_uid;
  shown.gid = status.st_gid;
  if (geteuid() == 0 &&
      // Whether it can be written says nothing about its owner: the disk may be read-only.
      (setegid(shown.gid) != 0 || seteuid(shown.uid) != 0 ||
       faccessat(AT_FDCWD, path.c_str(), R_OK | X_OK, AT_EACCESS) != 0)) {
    shown.closed_to_owner = errno;
  }
  return shown;
}

struct Looker {
  pid_t process = -1;
  UniqueFd answer;  // ends without one if the process does
};

Looker StartLooker(const std::string& path) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  UniqueFd answer(ends[0]), asked(ends[1]);
  const pid_t process = _Fork();
  if (process == 0) {
    // Nothing else, above all no lock on a state directory: it may be there for long.
    if (dup2(asked.get(), STDIN_FILENO) < 0) _exit(1);
    close_range(STDIN_FILENO + 1, UINT_MAX, 0);
    const ShownData shown = LookAt(path);
    _exit(write(STDIN_FILENO, &shown, sizeof(shown)) == static_cast<ssize_t>(sizeof(shown)) ? 0 : 1);
  }
  return {process, std::move(answer)};
}

// Which of these have something to say, or have ended, or none at the deadline.
std::vector<size_t> WaitForAny(const std::vector<Looker>& lookers, const std::vector<size_t>& waiting,
                               Clock::time_point deadline) {
  std::vector<pollfd> wanted;
  for (const size_t i : waiting) wanted.push_back({lookers[i].answer.get(), POLLIN, 0});
  int ready = 0;
  do {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    ready = poll(wanted.data(), wanted.size(),
                 static_cast<int>(std::max(left.count(), decltype(left.count()){0})));
  } while (ready < 0 && errno == EINTR);
  std::vector<size_t> heard;
  for (size_t k = 0; ready > 0 && k < waiting.size(); ++k) {
    if (wanted[k].revents != 0) heard.push_back(waiting[k]);
  }
  return heard;
}

std::optional<ShownData> AnswerOf(const Looker& looker) {
  ShownData shown;
  const bool whole = read(looker.answer.get(), &shown, sizeof(shown)) == static_cast<ssize_t>(sizeof(shown));
  return whole ? std::optional(shown) : std::nullopt;
}

}  // namespace

std::vector<std::optional<ShownData>> LookAtData(const std::vector<Site>& sites,
                                                 const std::function<bool(const ShownData&)>& enough) {
  std::vector<Looker> lookers;
  for (const Site& site : sites) lookers.push_back(StartLooker(site.address));
  const auto deadline = Clock::now() + kLookLimit;
  std::vector<std::optional<ShownData>> shown(sites.size());
  std::vector<size_t> waiting;
  for (size_t i = 0; i < lookers.size(); ++i) {
    if (lookers[i].process >= 0) waiting.push_back(i);
  }
  bool is_enough = false;
  while (!is_enough && !waiting.empty()) {
    const std::vector<size_t> heard = WaitForAny(lookers, waiting, deadline);
    if (heard.empty()) break;
    for (const size_t i : heard) {
      shown[i] = AnswerOf(lookers[i]);
      std::erase(waiting, i);
      is_enough = shown[i] && enough && enough(*shown[i]);
      if (is_enough) break;
    }
  }
  for (size_t i = 0; i < lookers.size(); ++i) {
    const pid_t process = lookers[i].process;
    if (process < 0) continue;
    // A process that has answered ends at once. One that hangs may not even end when it is killed.
    if (waitpid(process, nullptr, shown[i] ? 0 : WNOHANG) == 0) kill(process, SIGKILL);
  }
  return shown;
}

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// xec serve: stock xrootd with our plug-in, in the foreground.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cluster_daemon.hh"
#include "cli/commands.hh"
#include "cli/daemon_process.hh"
#include "cli/serve_setup.hh"
#include "server/kinds/local_root.hh"

namespace xec {
namespace {

constexpr Duration kLocalWait = std::chrono::seconds(15);
constexpr Duration kClusterWait = std::chrono::seconds(3);
// From SIGTERM to SIGKILL.
constexpr auto kStopLimit = std::chrono::seconds(20);
constexpr auto kPollInterval = std::chrono::milliseconds(50);
constexpr size_t kErrorLinesMax = 12;
constexpr std::streamoff kComplaintBytesMax = 64 * 1024;
// After so long without an answer of the port it is said that it is not ready.
constexpr auto kReadyLimit = std::chrono::seconds(30);

// Opens the store once, before xrootd does: errors come out as one sentence, and a new store is there before
// the first client. Servers that are not up yet are no error.
Status TryStore(const ServePlan& plan) {
  const Configuration& configuration = plan.configuration;
  OpenOptions options;
  options.create_if_new = true;
  options.wait = configuration.data.empty() ? kClusterWait : kLocalWait;
  Result<std::unique_ptr<OpenedStore>> store = OpenStore(configuration, options);
  if (!store) {
    if (configuration.data.empty() && IsRetryable(store.code())) {
      fmt::print("waiting: {}\n", store.error().message);
      return OkStatus();
    }
    return store.error();
  }
  for (const std::string& note : (*store)->notes()) fmt::print("{}\n", note);
  const Result<StoreMaintenance*> maintenance = (*store)->maintenance();
  if (!maintenance) return maintenance.error();
  const Status enough = CheckShut(plan, (*maintenance)->descriptor().tolerance);
  for (const std::string& shut : plan.shut)
    if (enough) fmt::print("{}: see its owner and mode; the store goes on without writing there\n", shut);
  // A server that hangs keeps the destructor waiting; this process has no other use for the store.
  if (!(*store)->Settle(std::chrono::seconds(2))) (void)store->release();
  return enough;
}

bool PortAnswers(uint16_t port) {
  const UniqueFd socket_fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return socket_fd &&
         connect(socket_fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
}

// Follows what xrootd writes, from the end of the log at construction.
class LogFollower {
 public:
  explicit LogFollower(const std::string& path) : path_(path) {
    std::ifstream file(path_, std::ios::ate);
    start_ = file ? std::streamoff(file.tellg()) : 0;
    seen_ = start_;
  }

  bool SaysInitialized() {
    std::ifstream file(path_);
    file.seekg(seen_);
    std::string line;
    while (!initialized_ && std::getline(file, line) && !file.eof()) {
      seen_ = file.tellg();
      initialized_ =
          line.find(" xrootd ") != std::string::npos && line.ends_with("initialization completed.");
    }
    return initialized_;
  }

  // Lines that tell why it ended, of the last that it wrote.
  std::vector<std::string> Complaints() {
    std::ifstream file(path_, std::ios::ate);
    const std::streamoff end = file ? std::streamoff(file.tellg()) : 0;
    const std::streamoff begin = end < start_ ? 0 : start_;  // after a rotation
    const std::streamoff from = std::max(begin, end - kComplaintBytesMax);
    file.seekg(from);
    std::string line;
    if (from > begin) std::getline(file, line);  // the rest of one
    std::vector<std::string> all, telling;
    while (std::getline(file, line)) {
      for (const char* word :
           {"rror", "nable to", "ailed", "nvalid", "refuse", "superuser", "nknown", "xec:", "in use"}) {
        if (line.find(word) == std::string::npos) continue;
        telling.push_back(line);
        break;
      }
      all.push_back(std::move(line));
    }
    std::vector<std::string>& chosen = telling.empty() ? all : telling;
    if (chosen.size() > kErrorLinesMax) chosen.erase(chosen.begin(), chosen.end() - kErrorLinesMax);
    return chosen;
  }

 private:
  const std::string path_;
  std::streamoff start_ = 0;
  std::streamoff seen_ = 0;  // what SaysInitialized need not read again
  bool initialized_ = false;
};

void PrintReady(const ServePlan& plan, pid_t child) {
  const Configuration& c = plan.configuration;
  std::string urls = fmt::format("root://localhost:{0}/ http://localhost:{0}/", c.port);
  if (c.http_port) urls += fmt::format(" http://localhost:{}/", *c.http_port);
  fmt::print("ready: {} (xrootd is process {}, log {})\n", urls, child, plan.log_file);
  std::fflush(stdout);
}

int ExitStatus(int status, bool stopped) {
  if (WIFEXITED(status)) return stopped && WEXITSTATUS(status) == 0 ? kExitOk : WEXITSTATUS(status);
  if (stopped && (WTERMSIG(status) == SIGTERM || WTERMSIG(status) == SIGKILL)) return kExitOk;
  return 128 + WTERMSIG(status);
}

// Passes signals on until xrootd ends.
Result<int> Attend(const ServePlan& plan, pid_t child, ClusterDaemon& cmsd, const sigset_t& signals,
                   LogFollower& log) {
  bool ready = false, stopping = false, late = false;
  const auto start = std::chrono::steady_clock::now();
  auto kill_at = std::chrono::steady_clock::time_point::max();
  while (true) {
    if (!ready && !stopping && log.SaysInitialized() && PortAnswers(plan.configuration.port)) {
      ready = true;
      PrintReady(plan, child);
    }
    if (!ready && !stopping && !late && std::chrono::steady_clock::now() - start >= kReadyLimit) {
      late = true;
      fmt::print(stderr,
                 "xec: port {} is not answered yet; xrootd (process {}) is waited for, its log is {}\n",
                 plan.configuration.port, child, plan.log_file);
    }
    const bool poll = !ready || stopping || cmsd.Waits();
    const timespec wait = {poll ? 0 : 3600, poll ? std::chrono::nanoseconds(kPollInterval).count() : 0};
    const int signal = sigtimedwait(&signals, nullptr, &wait);
    if (signal == SIGTERM || signal == SIGINT || signal == SIGHUP) {
      if (!stopping) kill_at = std::chrono::steady_clock::now() + kStopLimit;
      stopping = true;
      // First of all, so that the redirector sends nobody here any more.
      cmsd.Stop();
      kill(child, SIGTERM);
    }
    if (std::chrono::steady_clock::now() >= kill_at) kill(child, SIGKILL);
    if (!stopping) cmsd.Attend();
    int status = 0;
    if (waitpid(child, &status, WNOHANG) != child) continue;
    if (!stopping) {
      fmt::print(stderr, "xec: xrootd ended{}; the log is {}\n", ready ? "" : " before it was ready",
                 plan.log_file);
      for (const std::string& line : log.Complaints()) fmt::print(stderr, "  {}\n", line);
      const int code = ExitStatus(status, false);
      return code == kExitOk ? kExitError : code;
    }
    return ExitStatus(status, true);
  }
}

}  // namespace

Result<int> RunServe(CommandLine line) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  // Before any thread starts, so that signals come to Attend and nowhere else.
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) sigaddset(&signals, signal);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  // Its parent may ignore it, and nobody would be told how xrootd ended.
  std::signal(SIGCHLD, SIG_DFL);
  XEC_ASSIGN_OR_RETURN(const ServePlan plan, PrepareServe(line));
  if (plan.preload.empty())
    fmt::print(
        "note: libXecCrc32c.so is not beside {}, or their path cannot be in LD_PRELOAD (a space, colon or "
        "$): uploads over root:// cost more\n",
        plan.plug_in);
  XEC_TRY(TryStore(plan));
  XEC_TRY(WriteServeFiles(plan));
  LogFollower log(plan.log_file);
  const std::string admin = plan.short_state + "/admin";
  ClusterDaemon cmsd({plan.cmsd, plan.state + "/cmsd.cfg", admin + "/cmsd.pid", plan.state + "/cmsd.log"},
                     admin, signals);
  XEC_TRY(cmsd.Start());
  const Result<pid_t> child =
      StartDaemon({plan.program, plan.configuration_file, admin + "/xrootd.pid", plan.log_file}, signals);
  Result<int> code = child ? Attend(plan, *child, cmsd, signals, log) : Result<int>(child.error());
  cmsd.Stop();
  if (plan.link_made) {
    unlink(plan.short_state.c_str());
    rmdir(plan.short_state.substr(0, plan.short_state.rfind('/')).c_str());
  }
  return code;
}

}  // namespace xec

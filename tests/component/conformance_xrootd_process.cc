// SPDX-License-Identifier: LGPL-3.0-or-later
#include "conformance_xrootd_process.hh"

#include <arpa/inet.h>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sstream>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "base/check.hh"

namespace xec {
namespace {

constexpr uid_t kServerUser = 65534;  // nobody: xrootd refuses to run as root
constexpr int kFirstPort = 21000;
constexpr std::chrono::seconds kStartLimit{20};

std::atomic<int> next_port = kFirstPort;

bool CanConnect(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool connected = connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  close(fd);
  return connected;
}

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

std::string EnterPrivateNetwork() {
  if (geteuid() != 0) return "needs root to make a network namespace for xrootd";
  if (access("/usr/bin/xrootd", X_OK) != 0) return "xrootd is not installed";
  if (unshare(CLONE_NEWNET) != 0) return std::string("unshare: ") + std::strerror(errno);
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  std::strncpy(request.ifr_name, "lo", sizeof request.ifr_name - 1);
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  const int failed = ioctl(fd, SIOCSIFFLAGS, &request);
  close(fd);
  return failed == 0 ? "" : std::string("cannot bring lo up: ") + std::strerror(errno);
}

XrootdProcess::XrootdProcess(Options options) : options_(std::move(options)), port_(next_port++) {
  std::string pattern = std::filesystem::temp_directory_path() / "xec-xrootd-XXXXXX";
  XEC_CHECK(mkdtemp(pattern.data()) != nullptr);
  directory_ = pattern;
  data_ = directory_ + "/data";
  for (const char* part : {"", "/data", "/space", "/admin", "/run", "/log"}) {
    const std::string path = directory_ + part;
    std::filesystem::create_directories(path);
    XEC_CHECK(chmod(path.c_str(), 0755) == 0 && chown(path.c_str(), kServerUser, kServerUser) == 0);
  }
  WriteConfiguration();
  Start();
}

XrootdProcess::~XrootdProcess() {
  Kill();
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

std::string XrootdProcess::url() const { return "root://127.0.0.1:" + std::to_string(port_); }

void XrootdProcess::WriteConfiguration() const {
  std::ofstream file(directory_ + "/xrootd.cfg");
  file << "all.role server\nall.export /\noss.localroot " << data_ << "\nall.adminpath " << directory_
       << "/admin\nall.pidpath " << directory_ << "/run\nxrd.port " << port_ << "\n";
  if (options_.spaces) file << "oss.space public " << directory_ << "/space\n";
  if (options_.trace) file << "xrootd.trace all\n";
  file << options_.extra;
}

void XrootdProcess::Start() {
  XEC_CHECK(pid_ == -1);
  const std::string configuration = directory_ + "/xrootd.cfg";
  const std::string log = directory_ + "/log/xrootd.log";
  const pid_t parent = getpid();
  pid_ = fork();
  XEC_CHECK(pid_ >= 0);
  if (pid_ == 0) {
    // Not its option -l: the thread that then waits for midnight reads the environment while the main one
    // changes it, and every hundredth xrootd 5.5.3 dies as it starts.
    if (freopen("/dev/null", "w", stdout) == nullptr || freopen(log.c_str(), "a", stderr) == nullptr)
      _exit(126);
    if (setgid(kServerUser) != 0 || setuid(kServerUser) != 0) _exit(126);
    // After the change of user, which clears it.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(126);
    execl("/usr/bin/xrootd", "xrootd", "-c", configuration.c_str(), nullptr);
    _exit(127);
  }
  const std::string problem = WaitUntilReady();
  XEC_CHECK(problem.empty(), "xrootd does not start: {}; its log: {}", problem, Log());
}

std::string XrootdProcess::WaitUntilReady() const {
  const auto limit = std::chrono::steady_clock::now() + kStartLimit;
  while (std::chrono::steady_clock::now() < limit) {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      return WIFSIGNALED(status) ? fmt::format("killed by signal {}", WTERMSIG(status))
                                 : fmt::format("exit code {}", WEXITSTATUS(status));
    }
    if (CanConnect(port_)) return "";
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return "it does not listen";
}

void XrootdProcess::Signal(int signal) const {
  kill(pid_, signal);
  // A thread on another processor may answer one more request before it stops.
  if (signal == SIGSTOP) waitpid(pid_, nullptr, WUNTRACED);
}

void XrootdProcess::Kill() {
  if (pid_ == -1) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

std::string XrootdProcess::Log() const {
  std::string text;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_ + "/log")) {
    if (entry.is_regular_file()) text += ReadAll(entry.path());
  }
  return text;
}

int XrootdProcess::OpenDataFiles() const {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(pid_) + "/fd")) {
    std::error_code ignored;
    const std::string target = std::filesystem::read_symlink(entry.path(), ignored);
    if (target.starts_with(data_ + "/") || target.starts_with(directory_ + "/space/")) ++count;
  }
  return count;
}

int XrootdProcess::RequestCount(const std::string& request) const {
  // A traced request: "... Xrootd_Protocol: 0100 req=open dlen=24".
  const std::string words = " req=" + request + " ";
  const std::string text = Log();
  int count = 0;
  for (size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++count;
  return count;
}

}  // namespace xec

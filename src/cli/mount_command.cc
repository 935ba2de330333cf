// SPDX-License-Identifier: LGPL-3.0-or-later
// xec mount: a store, or XRootD servers, as a directory of this machine.
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <syslog.h>
#include <thread>
#include <unistd.h>

#include "base/log.hh"
#include "base/text.hh"
#include "cli/commands.hh"
#include "cli/mount_point.hh"
#include "cli/owner.hh"
#include "mount/fuse_session.hh"
#include "mount/remembering_tree.hh"
#include "mount/store_tree.hh"
#include "runtime/allocator.hh"
#include "server/kinds/local_root.hh"
#include "tree_xrootd/xrootd_tree.hh"

namespace xec {
namespace {

// For how long the process stays when the mount has ended, e.g. for archives on slow servers.
constexpr Duration kSettle = std::chrono::seconds(30);

// By which the process that the user waits for hears of the one that stays.
constexpr std::string_view kReady = "ready";

constexpr std::string_view kSourceOption = "fsname=";

// "" = it has none yet.
std::string SourceOf(const MountOptions& options) {
  for (const std::string& option : options.of_fuse) {
    if (option.starts_with(kSourceOption)) return option.substr(kSourceOption.size());
  }
  return "";
}

// The source is what df shows, and by which mount(8) knows a line of fstab that is mounted.
void NameSource(const CommandLine& line, MountOptions& options) {
  if (!SourceOf(options).empty()) return;
  std::string source = line.operands.size() > 1 ? line.operands.front() : line.configuration_file;
  // The FUSE library would take some for several options.
  if (source.empty() || source.find_first_of(",\\") != std::string::npos) source = "xec";
  options.of_fuse.push_back(fmt::format("{}{}", kSourceOption, source));
}

Caller CallerOfProcess(const char* host) {
  Caller caller;
  const passwd* const user = getpwuid(getuid());
  caller.subject = user == nullptr ? fmt::format("{}", getuid()) : user->pw_name;
  caller.host = host;
  caller.door = "mount";
  return caller;
}

int PriorityOf(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return LOG_DEBUG;
    case LogLevel::kInfo: return LOG_INFO;
    case LogLevel::kWarning: return LOG_WARNING;
    case LogLevel::kError: return LOG_ERR;
  }
  return LOG_ERR;
}

bool SameFile(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// Leads what goes to where standard output and error are now to another file: XRootD's library has copies of
// these from its start, and whoever reads from a pipe behind them would wait for our end.
void RedirectOutput(int to) {
  struct stat out = {}, err = {}, there = {};
  if (fstat(STDOUT_FILENO, &out) != 0 || fstat(STDERR_FILENO, &err) != 0) return;
  std::vector<int> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
    const int fd = static_cast<int>(ParseUint(entry.path().filename().string()).value_or(0));
    if (fd > STDIN_FILENO && fd != to && fstat(fd, &there) == 0 &&
        (SameFile(there, out) || SameFile(there, err)))
      found.push_back(fd);
  }
  for (const int fd : found) dup3(to, fd, fd > STDERR_FILENO ? O_CLOEXEC : 0);
}

// The process that stays. It tells the one that the user waits for when the mount answers, or why it never
// will.
class Daemon {
 public:
  Daemon(UniqueFd told, UniqueFd output) : told_(std::move(told)), output_(std::move(output)) {}

  void Ready() {
    // Only now: the kernel lets nobody but autofs and its group into a directory that is being mounted.
    setsid();
    // What is printed from here on is nobody's who waits.
    RedirectOutput(output_.get());
    SetLogLevel(LogLevel::kInfo);
    Tell(std::string(kReady));
  }
  void Failed(const Error& error) { Tell(fmt::format("{} {}", static_cast<int>(error.code), error.message)); }

 private:
  void Tell(const std::string& text) {
    if (told_ && write(told_.get(), text.data(), text.size()) < 0) return;
    told_ = UniqueFd();
  }

  UniqueFd told_, output_;
};

// What the daemon told, or that it has ended.
Result<int> WaitFor(const UniqueFd& heard, pid_t child) {
  std::string text;
  std::array<char, 4096> piece = {};
  while (true) {
    const ssize_t got = read(heard.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(piece.data(), static_cast<size_t>(got));
  }
  if (text == kReady) return kExitOk;
  int status = 0;
  waitpid(child, &status, 0);
  const size_t space = text.find(' ');
  if (space == std::string::npos)
    return Fail(Code::kInternal, "the process of the mount ended before the mount answered");
  return Fail(static_cast<Code>(std::atoi(text.substr(0, space).c_str())), "{}", text.substr(space + 1));
}

// They go to the thread that serves, and to nobody that a tree starts.
void KeepSignals() {
  sigset_t ends;
  sigemptyset(&ends);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR2}) sigaddset(&ends, signal);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

Status ServeTree(MountedTree& tree, const MountOptions& options, const std::string& directory,
                 std::function<void()> ready) {
  const MountIdentity identity = {
      .source = SourceOf(options), .directory = directory, .version = XEC_VERSION};
  const auto valid = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::duration<double>(options.listings_s.value_or(options.attributes_s)));
  const std::unique_ptr<MountedTree> remembering = MakeRememberingTree(tree, valid);
  XEC_ASSIGN_OR_RETURN(std::unique_ptr<FuseSession> session,
                       MakeFuseSession(*remembering, options, identity));
  {
    const AsCaller caller;
    XEC_TRY(session->Mount(directory));
  }
  const Status served = session->Serve(std::move(ready));
  {
    const AsCaller caller;
    session->Unmount();
  }
  session.reset();
  Log(LogLevel::kInfo, "mount", "the mount at {} has ended", directory);
  return served;
}

Result<int> ServeStore(const CommandLine& line, const MountOptions& options, const std::string& directory,
                       std::function<void()> ready) {
  XEC_TRY(WorkAsOwner(line.configuration));
  std::array<char, HOST_NAME_MAX + 1> host = {};
  gethostname(host.data(), host.size() - 1);
  OpenOptions how;
  how.create_if_new = true;
  how.background = true;
  how.process = fmt::format("{}:{}", host.data(), directory);
  XEC_ASSIGN_OR_RETURN(std::unique_ptr<OpenedStore> store, OpenStore(line.configuration, how));
  if (!line.quiet) {
    for (const std::string& note : store->notes()) fmt::print(stderr, "xec: {}\n", note);
  }
  const std::unique_ptr<MountedTree> tree =
      MakeStoreTree(*store, CallerOfProcess(host.data()), options.last_writer_wins);
  const Status served = ServeTree(*tree, options, directory, std::move(ready));
  if (!store->Settle(kSettle)) _exit(served ? kExitOk : ExitCodeOf(served.code()));
  if (!served) return served.error();
  return kExitOk;
}

// Asks for the data servers anew with every SIGUSR2.
void RefreshWhenTold(XrootdTree& tree, const std::stop_token& stop) {
  constexpr timespec kLookForEnd = {1, 0};
  sigset_t told;
  sigemptyset(&told);
  sigaddset(&told, SIGUSR2);
  while (!stop.stop_requested()) {
    if (sigtimedwait(&told, nullptr, &kLookForEnd) != SIGUSR2) continue;
    const Status refreshed = tree.Refresh();
    if (!refreshed) Log(LogLevel::kWarning, "mount", "{}", refreshed.error().message);
  }
}

Result<int> ServeXrootd(const std::string& url, const MountOptions& options, const std::string& directory,
                        std::function<void()> ready) {
  XEC_ASSIGN_OR_RETURN(const std::unique_ptr<XrootdTree> tree, OpenXrootdTree(url));
  const std::jthread refreshes([&](const std::stop_token& stop) { RefreshWhenTold(*tree, stop); });
  const Status served = ServeTree(*tree, options, directory, std::move(ready));
  if (!served) return served.error();
  return kExitOk;
}

Result<int> ServeMount(const CommandLine& line, const MountOptions& options, const std::string& directory,
                       std::function<void()> ready) {
  KeepSignals();
  MapLargeBlocks();
  LimitArenas();
  if (line.operands.size() == 1) return ServeStore(line, options, directory, std::move(ready));
  return ServeXrootd(line.operands.front(), options, directory, std::move(ready));
}

}  // namespace

Result<int> RunMount(CommandLine line) {
  if (line.operands.front() == "status") return RunMountStatus(line);
  if (line.operands.front() == "flush") return RunMountFlush(line);
  XEC_ASSIGN_OR_RETURN(MountOptions options, ParseMountOptions(line.mount_options));
  if (line.operands.size() > 1 && !IsXrootdUrl(line.operands.front())) {
    return Fail(Code::kInvalidArgument, "'{}' is nothing that can be mounted: root://HOST[:PORT][//PATH] can",
                line.operands.front());
  }
  if (line.operands.size() > 1 && options.last_writer_wins) {
    return Fail(Code::kInvalidArgument,
                "-o last_writer_wins: only mounts of a store have it, not those of {}",
                line.operands.front());
  }
  XEC_ASSIGN_OR_RETURN(const std::string directory, FreeMountPoint(line.operands.back()));
  NameSource(line, options);
  for (const auto& [name, value] : options.environment) setenv(name.c_str(), value.c_str(), 1);
  const std::string log_file = line.log_file.empty() ? "/dev/null" : line.log_file;
  UniqueFd output(open(log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!output) return Fail(CodeOfErrno(errno), "cannot write {}: {}", log_file, ErrnoWords(errno));
  if (line.foreground) {
    if (!line.log_file.empty()) dup2(output.get(), STDERR_FILENO);
    return ServeMount(line, options, directory, [&directory] {
      SetLogLevel(LogLevel::kInfo);
      fmt::print("ready: {}\n", directory);
      std::fflush(stdout);
    });
  }
  std::array<int, 2> pipe = {};
  if (pipe2(pipe.data(), O_CLOEXEC) != 0)
    return Fail(Code::kUnavailable, "cannot make a pipe: {}", ErrnoWords(errno));
  UniqueFd heard(pipe[0]), told(pipe[1]);
  std::fflush(stdout);
  const pid_t child = fork();
  if (child < 0) return Fail(Code::kUnavailable, "cannot start a process: {}", ErrnoWords(errno));
  if (child > 0) {
    told = UniqueFd();
    return WaitFor(heard, child);
  }
  heard = UniqueFd();
  const UniqueFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  dup2(null.get(), STDIN_FILENO);
  if (line.log_file.empty()) {
    openlog("xec-mount", LOG_PID, LOG_DAEMON);
    SetLogSink([](LogLevel level, std::string_view text) {
      syslog(PriorityOf(level), "%.*s", static_cast<int>(text.size()), text.data());
    });
  }
  Daemon daemon(std::move(told), std::move(output));
  const Result<int> ended = ServeMount(line, options, directory, [&daemon] { daemon.Ready(); });
  if (ended) return *ended;
  daemon.Failed(ended.error());
  return ExitCodeOf(ended.code());
}

}  // namespace xec

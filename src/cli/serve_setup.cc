// SPDX-License-Identifier: LGPL-3.0-or-later
#include "cli/serve_setup.hh"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <grp.h>
#include <optional>
#include <poll.h>
#include <pwd.h>
#include <set>
#include <sstream>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "assembly/configuration/options.hh"
#include "base/text.hh"
#include "cli/access_lines.hh"
#include "cli/cluster_daemon.hh"
#include "cli/data_look.hh"
#include "server/kinds/local_root.hh"

namespace xec {
namespace {

namespace fs = std::filesystem;

// Unix sockets below the admin path must stay under 108 bytes.
constexpr size_t kStatePathMax = 64;
constexpr auto kLockWait = std::chrono::milliseconds(3000);
constexpr auto kLockPause = std::chrono::milliseconds(50);

// Of the same XRootD, where the user's lines name a redirector; else "".
Result<std::string> FindCmsd(const std::string& xrootd, std::string_view users_lines) {
  if (!NamesManager(users_lines)) return std::string();
  std::string program = (fs::path(xrootd).parent_path() / "cmsd").string();
  if (access(program.c_str(), X_OK) == 0) return program;
  return Fail(Code::kNotFound, "there is no program {}, which a gateway with a line all.manager needs",
              program);
}

// Beside the program in a build directory, or in the lib directory of an installation.
Result<std::string> FindPlugIn() {
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* folder :
       {"../plugin_oss", "../lib", "../lib64", "../lib/x86_64-linux-gnu", "../lib/xec"}) {
    for (const char* name : {"libXrdOssXec-5.so", "libXrdOssXec-6.so", "libXrdOssXec.so"}) {
      if (fs::exists(here / folder / name, error)) {
        return (fs::canonical(here / folder, error) / "libXrdOssXec.so").string();
      }
    }
  }
  return Fail(Code::kNotFound, "the plug-in libXrdOssXec is not where it should be, near {}", here.string());
}

// Beside the plug-in in an installation. Its path must be one that LD_PRELOAD can have.
std::string FindPreload(const fs::path& plug_in) {
  const fs::path folder = plug_in.parent_path();
  for (const fs::path& file : {folder / "libXecCrc32c.so", folder / "../preload_crc32c/libXecCrc32c.so"}) {
    std::error_code error;
    std::string path = fs::canonical(file, error).string();
    if (!error && path.find_first_of(" :$") == std::string::npos) return path;
  }
  return {};
}

// So long after its client said so another server may begin to fetch a copy from here. A busy one needs more
// than XRootD's seven seconds.
constexpr int kCopyGrantSeconds = 60;

// The plug-in waits for what the program sends at this socket (plugin_oss/copy_receiver.hh).
std::string CopyLine(const ServePlan& plan) {
  const fs::path xrdcp = fs::path(plan.program).parent_path() / "xrdcp";
  const fs::path folder = fs::path(plan.plug_in).parent_path();
  std::error_code error;
  for (const fs::path& helper : {folder / "xec-copy-helper", folder / "xec/xec-copy-helper"}) {
    if (!fs::exists(helper, error) || !fs::exists(xrdcp, error)) continue;
    return fmt::format("ofs.tpc ttl {0} {0} pgm {1} {2}/admin/copies.sock {3}\n", kCopyGrantSeconds,
                       helper.string(), plan.short_state, xrdcp.string());
  }
  return "";
}

// For the programs that this one starts, behind what they are to preload already.
void Preload(const std::string& library) {
  if (library.empty()) return;
  const char* given = std::getenv("LD_PRELOAD");
  const std::string all = given && *given ? fmt::format("{}:{}", given, library) : library;
  setenv("LD_PRELOAD", all.c_str(), 1);
}

// Held by this process and the xrootd it starts. One that was killed may need a moment to go.
Result<UniqueFd> LockState(const std::string& state) {
  const std::string path = state + "/lock";
  UniqueFd lock(open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW, 0644));
  if (!lock) return Fail(CodeOfErrno(errno), "{} cannot be opened: {}", path, ErrnoWords(errno));
  for (auto waited = kLockPause * 0; flock(lock.get(), LOCK_EX | LOCK_NB) != 0; waited += kLockPause) {
    if (errno != EWOULDBLOCK) break;  // a file system without locks
    if (waited >= kLockWait)
      return Fail(Code::kConflict, "the state directory {} is in use by another gateway", state);
    poll(nullptr, 0, static_cast<int>(kLockPause.count()));
  }
  return lock;
}

Status MakeDirectories(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error) return OkStatus();
  return Fail(Code::kPermissionDenied, "the directory {} cannot be made: {}", path, error.message());
}

// The state directory and all in it, so that a gateway that ran as somebody else is no obstacle.
Status GiveTree(const std::string& path, const passwd& user) {
  if (lchown(path.c_str(), user.pw_uid, user.pw_gid) != 0) {
    return Fail(CodeOfErrno(errno), "{} cannot be given to user {}: {}", path, user.pw_name,
                ErrnoWords(errno));
  }
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(path, error)) {
    if (lchown(entry.path().c_str(), user.pw_uid, user.pw_gid) != 0) {
      return Fail(CodeOfErrno(errno), "{} cannot be given to user {}: {}", entry.path().string(),
                  user.pw_name, ErrnoWords(errno));
    }
  }
  return OkStatus();
}

// Missing directories are made for a new store only: where one exists, a missing disk must not be mistaken
// for an empty one, and an operator that puts it back must find the place free. One that does not answer may
// hold one.
Status PrepareData(const Configuration& configuration, const std::vector<std::optional<ShownData>>& shown,
                   const passwd* user) {
  const bool may_exist =
      std::any_of(shown.begin(), shown.end(), [](const auto& one) { return !one || one->holds_store; });
  if (!may_exist && !shown.empty()) XEC_TRY(CheckListed(configuration));
  for (size_t i = 0; i < shown.size(); ++i) {
    const std::string& path = configuration.data[i].address;
    ShownData now = shown[i].value_or(ShownData());
    if (!now.exists) {
      if (may_exist) continue;
      XEC_TRY(MakeDirectories(path));
      now.directory = now.empty = true;
    }
    if (!now.directory) return Fail(Code::kInvalidArgument, "{} is a file, not a directory", path);
    if (!user || !now.empty) continue;
    if (chown(path.c_str(), user->pw_uid, user->pw_gid) != 0 && (errno == EACCES || errno == EPERM)) {
      return Fail(CodeOfErrno(errno), "{} cannot be given to user {}: {}", path, user->pw_name,
                  ErrnoWords(errno));
    }
  }
  return OkStatus();
}

Status Become(const passwd& user) {
  if (setgroups(0, nullptr) != 0 || setresgid(user.pw_gid, user.pw_gid, user.pw_gid) != 0 ||
      setresuid(user.pw_uid, user.pw_uid, user.pw_uid) != 0) {
    return Fail(CodeOfErrno(errno), "cannot become user {}: {}", user.pw_name, ErrnoWords(errno));
  }
  return OkStatus();
}

bool Allows(const std::string& path, int mode) {
  return faccessat(AT_FDCWD, path.c_str(), mode, AT_EACCESS) == 0;
}

std::string UserName() {
  const passwd* user = getpwuid(geteuid());
  return user ? user->pw_name : fmt::format("{}", geteuid());
}

// As the user that xrootd will be: does a folder on the way lock it out?
Status CheckWay(const std::string& path, const char* what) {
  for (fs::path part = fs::path(path).parent_path();; part = part.parent_path()) {
    if (!Allows(part, X_OK) && errno == EACCES) {
      return Fail(Code::kPermissionDenied, "user {} cannot reach the {} {}, because {} is closed to it",
                  UserName(), what, path, part.string());
    }
    if (part == part.parent_path()) return OkStatus();
  }
}

Status CheckState(const std::string& path) {
  XEC_TRY(CheckWay(path, "state directory"));
  if (Allows(path, R_OK | W_OK | X_OK)) return OkStatus();
  const int error = errno;
  return Fail(Code::kPermissionDenied, "the state directory {} is not writable by user {} ({})", path,
              UserName(), ErrnoWords(error));
}

// Only what somebody set wrongly is an error here. A disk that is dead, gone or read-only is one that the
// store may do without.
Status CheckData(const std::string& path) {
  XEC_TRY(CheckWay(path, "data directory"));
  const bool usable = Allows(path, R_OK | W_OK | X_OK) || (errno == EROFS && Allows(path, R_OK | X_OK));
  const int error = errno;
  if (usable || (error != EACCES && error != EPERM)) return OkStatus();
  return Fail(Code::kPermissionDenied, "the data directory {} is not writable by user {} ({})", path,
              UserName(), ErrnoWords(error));
}

// Directives that the generated file has itself, and what is said instead of them.
constexpr std::pair<std::string_view, std::string_view> kOwnDirectives[] = {
    {"all.adminpath", "xec.state"},
    {"all.export", "xec.export"},
    {"all.pidpath", "xec.state"},
    {"all.role", "all.manager HOST:PORT"},
    {"ofs.ckslib", ""},
    {"ofs.osslib", ""},
    {"ofs.persist", ""},
    {"ofs.xattrlib", ""},
    {"xrd.port", "xec.port"},
    {"xrd.protocol http", "xec.http-port"},
    {"xrootd.async", ""},
    {"xrootd.chksum", ""},
};

// "if-match": itself, "If-match", "If-Match", "IF-MATCH"
std::set<std::string> SpellingsOf(std::string_view header) {
  const auto upper = [](char c) { return static_cast<char>(std::toupper(static_cast<unsigned char>(c))); };
  std::string first(header), each(header), all(header);
  for (size_t i = 0; i < header.size(); ++i) {
    all[i] = upper(header[i]);
    if (i == 0) first[i] = all[i];
    if (i == 0 || header[i - 1] == '-') each[i] = all[i];
  }
  return {std::string(header), first, each, all};
}

// Headers that the plug-in reads as opaque information (plugin_oss/opaque.hh). XrdHttp 5 takes only the
// spellings that are named; third-party copy hands headers on from XRootD 6 on, and passes over these lines
// before.
std::string FormatHeaderDirectives() {
  std::string text;
  for (const std::string_view header : {"digest", "repr-digest", "if-match", "if-none-match", "if-range"}) {
    for (const std::string& spelling : SpellingsOf(header))
      text += fmt::format("http.header2cgi {} xec.{}\n", spelling, header);
    text += fmt::format("tpc.header2cgi {0} xec.{0}\n", header);
  }
  return text;
}

// "xrd.port", "xrd.protocol http"
std::string DirectiveOf(std::string_view line) {
  std::istringstream words{std::string(line)};
  std::string directive, what;
  words >> directive;
  if (directive != "xrd.protocol") return directive;
  words >> what;
  return directive + " " + what.substr(0, what.find(':'));
}

Status WriteText(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::trunc);
  file << text;
  file.close();
  return file ? OkStatus() : Fail(Code::kPermissionDenied, "{} cannot be written", path);
}

// Null: this process stays what it is.
Result<const passwd*> UserToBecome(const std::string& wanted) {
  if (geteuid() == 0) return GatewayUser(wanted);
  if (wanted.empty()) return nullptr;
  const passwd* user = getpwnam(wanted.c_str());
  if (!user) return Fail(Code::kInvalidArgument, "--user: there is no user {}", wanted);
  if (user->pw_uid != geteuid())
    return Fail(Code::kInvalidArgument, "--user: only root can become another user");
  return nullptr;
}

// What is xrootd's in the user's file.
Result<std::string> UsersLines(const std::string& path) {
  std::string lines;
  if (path.empty()) return lines;
  std::ifstream file(path);
  if (!file) return Fail(CodeOfErrno(errno), "{} cannot be read: {}", path, ErrnoWords(errno));
  const std::string text(std::istreambuf_iterator<char>(file), {});
  for (const auto& [number, line] : DirectiveLines(text)) {
    if (Trim(line).starts_with("xec.") || Trim(line).empty()) continue;
    const std::string directive = DirectiveOf(Trim(line));
    if (directive == "continue")
      return Fail(
          Code::kInvalidArgument,
          "{}:{}: with `continue` nothing behind it counts, which the gateway's own lines are: put the lines "
          "of that file here",
          path, number);
    for (const auto& [own, instead] : kOwnDirectives) {
      if (directive != own) continue;
      return Fail(Code::kInvalidArgument, "{}:{}: {} is set by `xec serve` itself{}", path, number, directive,
                  instead.empty() ? "" : fmt::format(": say {} instead", instead));
    }
    lines += line + "\n";
  }
  return lines;
}

}  // namespace

Result<std::string> FindXrootd(const std::string& wanted) {
  const auto runs = [](const std::string& path) {
    return access(path.c_str(), X_OK) == 0 && !fs::is_directory(path);
  };
  if (wanted.find('/') != std::string::npos) {
    if (runs(wanted)) return fs::absolute(wanted).string();
    return Fail(Code::kNotFound, "the program {} cannot be run", wanted);
  }
  const std::string name = wanted.empty() ? "xrootd" : wanted;
  if (wanted.empty() && runs(XEC_XROOTD_PREFIX "/bin/xrootd"))
    return std::string(XEC_XROOTD_PREFIX "/bin/xrootd");
  const char* path = std::getenv("PATH");
  for (const std::string_view folder : Split(path ? path : "/usr/bin:/bin", ':')) {
    const std::string candidate = fmt::format("{}/{}", folder, name);
    if (!folder.empty() && runs(candidate)) return candidate;
  }
  return Fail(Code::kNotFound, "there is no program {}: install the XRootD server, or say --xrootd PROGRAM",
              name);
}

Result<const passwd*> GatewayUser(const std::string& wanted) {
  if (!wanted.empty()) {
    const passwd* entry = getpwnam(wanted.c_str());
    if (!entry) return Fail(Code::kInvalidArgument, "--user: there is no user {}", wanted);
    if (entry->pw_uid == 0)
      return Fail(Code::kInvalidArgument, "--user: xrootd refuses to run as {}", wanted);
    return entry;
  }
  for (const char* name : {"xrootd", "nobody", "daemon"}) {
    if (const passwd* entry = getpwnam(name)) return entry;
  }
  return Fail(Code::kInvalidArgument, "there is no user to run xrootd as: say --user NAME");
}

// Always one that nobody but a gateway of this port uses: it is given away with all in it.
std::string StateDirectory(const Configuration& configuration) {
  const char* state = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  fs::path base = "/var/lib/xec";
  if (!configuration.state_directory.empty()) {
    base = fs::absolute(configuration.state_directory);
  } else if (geteuid() != 0 && state && *state == '/') {
    base = fs::path(state) / "xec";
  } else if (geteuid() != 0) {
    base = home && *home == '/' ? fs::path(home) / ".local/state/xec"
                                : fs::temp_directory_path() / fmt::format("xec-{}", getuid());
  }
  return (base / fmt::format("gateway-{}", configuration.port)).string();
}

std::string InventoryFile(const Configuration& configuration) {
  if (configuration.inventory == kNoFile) return "";
  if (!configuration.inventory.empty()) return configuration.inventory;
  return StateDirectory(configuration) + "/inventory.sqlite";
}

Result<ServePlan> PrepareServe(const CommandLine& line) {
  ServePlan plan;
  plan.configuration = line.configuration;
  for (Site& site : plan.configuration.data) site.address = fs::absolute(site.address).string();
  const Configuration& configuration = plan.configuration;
  if (configuration.data.empty() && configuration.servers.empty() && configuration.origin.empty()) {
    return Fail(Code::kInvalidArgument,
                "say where the data is: --data DIR (once for each directory), --origin or --server");
  }
  XEC_ASSIGN_OR_RETURN(plan.users_lines, UsersLines(line.configuration_file));
  XEC_ASSIGN_OR_RETURN(plan.program, FindXrootd(configuration.xrootd));
  XEC_ASSIGN_OR_RETURN(plan.cmsd, FindCmsd(plan.program, plan.users_lines));
  XEC_ASSIGN_OR_RETURN(plan.plug_in, FindPlugIn());
  XEC_ASSIGN_OR_RETURN(
      plan.access_line,
      AccessLine(plan.users_lines, plan.plug_in,
                 configuration.banned.empty() ? "" : fs::absolute(configuration.banned).string()));
  plan.preload = FindPreload(plan.plug_in);
  // Before there are other threads.
  Preload(plan.preload);
  plan.state = StateDirectory(configuration);
  XEC_TRY(MakeDirectories(plan.state + "/admin"));
  plan.configuration.inventory =
      configuration.inventory == kNoFile ? configuration.inventory : InventoryFile(configuration);
  if (configuration.audit.empty()) plan.configuration.audit = plan.state + "/audit.log";
  if (configuration.scratch.empty()) plan.configuration.scratch = plan.state + "/scratch";

  XEC_ASSIGN_OR_RETURN(const passwd* const user, UserToBecome(configuration.user));
  if (!user) XEC_TRY(CheckState(plan.state));
  XEC_ASSIGN_OR_RETURN(plan.lock, LockState(plan.state));
  const std::vector<std::optional<ShownData>> shown = LookAtData(configuration.data);
  XEC_TRY(PrepareData(configuration, shown, user));
  if (user) {
    XEC_TRY(GiveTree(plan.state, *user));
    XEC_TRY(Become(*user));
  }
  XEC_TRY(CheckState(plan.state));
  // A new store needs all of them; one that is there goes on without some.
  const bool is_there =
      std::any_of(shown.begin(), shown.end(), [](const auto& one) { return one && one->holds_store; });
  for (size_t i = 0; i < shown.size(); ++i) {
    if (!shown[i]) continue;
    const Status usable = CheckData(configuration.data[i].address);
    if (!usable && !is_there) return usable.error();
    if (!usable) plan.shut.push_back(usable.error().message);
  }

  plan.short_state = plan.state;
  if (plan.state.size() > kStatePathMax) {
    std::string folder = "/tmp/xec-XXXXXX";
    if (!mkdtemp(folder.data()))
      return Fail(CodeOfErrno(errno), "no directory can be made in /tmp: {}", ErrnoWords(errno));
    plan.short_state = folder + "/state";
    plan.link_made = true;
    if (symlink(plan.state.c_str(), plan.short_state.c_str()) != 0) {
      return Fail(CodeOfErrno(errno), "cannot make {}: {}", plan.short_state, ErrnoWords(errno));
    }
  }
  plan.copy_line = CopyLine(plan);
  plan.configuration_file = plan.state + "/xrootd.cfg";
  plan.log_file = plan.state + "/xrootd.log";
  return plan;
}

Status CheckShut(const ServePlan& plan, size_t tolerance) {
  if (plan.shut.size() <= tolerance) return OkStatus();
  return Fail(Code::kPermissionDenied, "{}: the store can do without {} of its data servers at most, not {}",
              fmt::join(plan.shut, "; "), tolerance, plan.shut.size());
}

std::string XrootdConfiguration(const ServePlan& plan) {
  const Configuration& c = plan.configuration;
  std::string text = fmt::format(
      "# Written by `xec serve`; what is changed here is lost.\n"
      // The plug-in keeps clients of one name apart by itself, so that a name can be read while it is
      // written.
      "all.export {0} nolock\n"
      "all.adminpath {1}/admin\n"
      "all.pidpath {1}/admin\n"
      "xrd.port {2}\n"
      "xrd.protocol http:{2} libXrdHttp.so\n",
      c.export_path, plan.short_state, c.port);
  if (!plan.cmsd.empty()) text += "all.role server\n";
  if (c.http_port) text += fmt::format("xrd.protocol http:+{} libXrdHttp.so\n", *c.http_port);
  // XRootD 5.5.3 passes over the length of an upload unless it is spelled "Content-Length", and ends it as an
  // empty one. What it takes for no header of its own it hands on by these lines, and the plug-in refuses an
  // upload that has not the length that was announced.
  for (const char* spelling : {"content-length", "Content-length", "CONTENT-LENGTH"})
    text += fmt::format("http.header2cgi {} oss.asize\n", spelling);
  text += FormatHeaderDirectives();
  text += fmt::format(
      "ofs.osslib {0}\n"
      "ofs.ckslib * {0}\n"
      "ofs.xattrlib {0}\n"
      // An upload that its client did not finish is told to the plug-in at once, as an abort. Nobody needs
      // XRootD's own list of uploads after a crash, so it need not be on the disk before each upload starts.
      "ofs.persist auto hold 0 sync 32767\n"
      // In front of XRootD's own file system, and of what the user's file puts there.
      "xrootd.fslib ++ {0}\n"
      // What an object lacks is computed when it is asked for; not in jobs of XRootD's (max 0).
      "xrootd.chksum max 0 adler32 crc32c md5 sha1 sha256 sha512 crc32 zcrc32\n"
      "xrootd.async off\n",
      plan.plug_in);
  text += plan.copy_line;
  if (!plan.users_lines.empty())
    text += "# From the user's file:\n" + WithRevocations(plan.users_lines, plan.plug_in);
  if (!plan.access_line.empty()) text += "# In front of them:\n" + plan.access_line;
  return text + "# The store:\n" + FormatDirectives(c);
}

Status WriteServeFiles(const ServePlan& plan) {
  // What xrootd wants to remove at its start would be the pending uploads of a gateway that is gone; the
  // engine knows them better.
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(plan.state + "/admin", error)) {
    if (entry.path().filename() == "posc.log") fs::remove(entry.path(), error);
  }
  if (!plan.cmsd.empty()) {
    XEC_TRY(WriteText(plan.state + "/cmsd.cfg", CmsdConfiguration(plan.configuration, plan.short_state,
                                                                  plan.plug_in, plan.users_lines)));
  }
  return WriteText(plan.configuration_file, XrootdConfiguration(plan));
}

}  // namespace xec

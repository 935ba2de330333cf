// SPDX-License-Identifier: LGPL-3.0-or-later
// The conformance suite of all data servers on stock xrootd: plain, with data spaces (a name space of
// symlinks, the set-up of paper 1), and as the stores use it, with names that are synced and a guard that
// knows whose disk it is. One server process of each kind serves the whole program.
#include <array>
#include <filesystem>

#include "conformance_xrootd_process.hh"
#include "runtime/sync_wait.hh"
#include "server/conformance/conformance.hh"
#include "server/decorators/identity_guard.hh"
#include "server_xrootd/xrootd_server.hh"

namespace xec {
namespace {

namespace fs = std::filesystem;

enum Kind { kPlain, kSpaces, kGuarded };

// Both live until the program ends: late answers of one test may arrive during the next.
ThreadPool& Pool() {
  static auto* pool = new ThreadPool("conformance", 4);
  return *pool;
}

std::array<std::unique_ptr<XrootdProcess>, 3>& Processes() {
  static std::array<std::unique_ptr<XrootdProcess>, 3> processes;
  return processes;
}

XrootdProcess& Process(Kind kind) {
  std::unique_ptr<XrootdProcess>& process = Processes()[kind];
  if (!process)
    process = std::make_unique<XrootdProcess>(
        XrootdProcessOptions{.spaces = kind == kSpaces, .trace = kind == kGuarded});
  return *process;
}

class StopServers : public testing::Environment {
 public:
  void TearDown() override {
    for (auto& process : Processes()) process.reset();
  }
};

[[maybe_unused]] const auto* const kStopServers = testing::AddGlobalTestEnvironment(new StopServers);

DataServerPtr Connect(Kind kind) {
  auto server =
      MakeXrootdServer({.url = Process(kind).url(), .executor = &Pool(), .sync_names = kind == kGuarded});
  XEC_CHECK(server.has_value());
  return *server;
}

DataServerPtr Guarded() {
  const DataServerPtr server = Connect(kGuarded);
  const IdentityOptions identity{
      .path = "/.xec/server", .content = "s01", .description = "s01", .confirm_interval = Duration(0)};
  const CallContext soon{&Pool(), Pool().Now() + std::chrono::seconds(60)};
  const Status made = SyncWait(CreateFile(soon, server, identity.path, identity.content, true));
  XEC_CHECK(made || made.code() == Code::kAlreadyExists);
  return std::make_shared<IdentityGuard>(server, Pool(), identity);
}

// Below a stock server: another process, of which only its trace tells what was synced. All names that were
// made before a sync of any file of its file system are taken for durable, as journals make them; all the
// others of the test are lost.
class XrootdDisk final : public ConformanceDisk {
 public:
  explicit XrootdDisk(const XrootdProcess& process)
      : process_(process), root_(process.data_directory()), aside_(root_.string() + ".away") {}

  void TakeAway(bool mount_point) override {
    fs::rename(root_, aside_);
    // Else the server makes its root anew as it makes the parents of the target of a rename.
    fs::permissions(root_.parent_path(), fs::perms(0555));
    if (mount_point) fs::create_directory(root_);  // root's, as the server is not
  }
  void BringBack() override {
    fs::permissions(root_.parent_path(), fs::perms(0755));
    fs::remove(root_);
    fs::rename(aside_, root_);
  }
  void CutPower() override {
    const std::string trace = process_.Log();
    const auto last = [&](const char* request) {
      const size_t at = trace.rfind(std::string(" req=") + request + " ");
      return at == std::string::npos ? 0 : at;
    };
    const size_t synced = last("sync");
    if (synced > last("mv") && synced > last("mkdir")) return;
    for (const fs::directory_entry& entry : fs::directory_iterator(root_)) {
      if (entry.path().filename() != ".xec") fs::remove_all(entry.path());
    }
  }

 private:
  const XrootdProcess& process_;
  const fs::path root_, aside_;
};

std::unique_ptr<ConformanceDisk> Disk() { return std::make_unique<XrootdDisk>(Process(kGuarded)); }

ConformanceTarget Target(const char* name, Kind kind) {
  ConformanceTarget target{
      .name = name,
      .make = [kind] { return kind == kGuarded ? Guarded() : Connect(kind); },
      .question_marks = false,
      .skip_reason = [] { return *NoServersReason(); },
  };
  if (kind == kGuarded) {
    target.disk = Disk;
  } else {
    target.proves_no_disk =
        "a stock server does not know whose disk it serves: IdentityGuard does, see Guarded";
    target.syncs_no_names = "made for policy none, see Guarded";
  }
  return target;
}

// The suite finds stock servers out when names are not synced, and when nobody guards their identity.
TEST(ConformanceMutantsTest, AStockServerByItself) {
  if (!NoServersReason()->empty()) GTEST_SKIP() << *NoServersReason();
  auto server = MakeXrootdServer({.url = Process(kGuarded).url(), .executor = &Pool()});
  ASSERT_TRUE(server);
  const ConformanceSubject subject{*server, "/mutants", &Pool(), std::chrono::seconds(60)};
  const auto disk = Disk();
  EXPECT_THAT(ProblemsWithoutItsDisk(subject, *disk),
              testing::Contains(testing::HasSubstr("opening a file is not_found while the disk is away")));
  const std::vector<std::string> problems = ProblemsAfterPowerCuts(subject, *disk);
  for (const char* change : {"a rename", "making a directory and its parents"})
    EXPECT_THAT(problems, testing::Contains(testing::HasSubstr(fmt::format("{} was answered OK", change))));
}

INSTANTIATE_TEST_SUITE_P(Xrootd, ConformanceTest,
                         testing::Values(Target("Plain", kPlain), Target("DataSpaces", kSpaces),
                                         Target("Guarded", kGuarded)),
                         ConformanceName);

}  // namespace
}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// The conformance suite on the data servers that need no network.
#include <filesystem>
#include <stdlib.h>

#include "runtime/sync_wait.hh"
#include "server/conformance/conformance.hh"
#include "server/conformance/test/conformance_local_disk.hh"
#include "server/conformance/test/conformance_memory_disk.hh"
#include "server/decorators/counting_server.hh"
#include "server/decorators/fault_server.hh"
#include "server/decorators/identity_guard.hh"
#include "server/kinds/local_server.hh"
#include "server/kinds/memory_server.hh"

namespace xec {
namespace {

// Threads of the servers under test; one for the program, as servers' last requests may outlive a test.
Executor& Threads() {
  static ThreadPool pool("servers", 3);
  return pool;
}

// A directory below `parent` that goes when the program ends.
class ScratchDirectory {
 public:
  explicit ScratchDirectory(const std::string& parent) : path_(parent + "/xec-conformance-XXXXXX") {
    XEC_CHECK(mkdtemp(path_.data()) != nullptr, "cannot make {}", path_);
  }
  ~ScratchDirectory() {
    std::error_code ignored;  // a leftover below /tmp harms nothing
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// So that a folder in place of the root is told from it.
constexpr const char* kIdentityPath = "/identity";
constexpr const char* kIdentity = "s01";

void Identify(const DataServerPtr& server) {
  ThreadPool pool("setup", 1);
  const Status made = SyncWait(CreateFile({&pool}, server, kIdentityPath, kIdentity, true));
  XEC_CHECK(made || made.code() == Code::kAlreadyExists);
}

const std::string& DiskRoot() {
  static const ScratchDirectory directory(testing::TempDir());
  static const std::string root = directory.path() + "/root";
  return root;
}

DataServerPtr OnDisk() {
  std::filesystem::create_directories(DiskRoot());
  Identify(std::make_shared<LocalServer>(DiskRoot()));
  return std::make_shared<LocalServer>(
      DiskRoot(), LocalServerOptions{.identity = LocalIdentity{kIdentityPath, kIdentity}});
}

DataServerPtr OnTmpfs() {
  static const ScratchDirectory directory("/dev/shm");
  return std::make_shared<LocalServer>(directory.path(), LocalServerOptions{.sync_directories = false});
}

std::unique_ptr<ConformanceDisk> Disk() { return std::make_unique<LocalConformanceDisk>(DiskRoot()); }

std::shared_ptr<MemoryServer> Memory() {
  // One tree for all tests, as of a long-lived server.
  static const auto server = std::make_shared<MemoryServer>("memory", Threads());
  return server;
}

std::shared_ptr<MemoryServer> SlowMemory() {
  static const auto server = std::make_shared<MemoryServer>(
      "slow memory", Threads(),
      MemoryServerOptions{.latency = [](Operation) { return std::chrono::microseconds(50); }});
  return server;
}

std::shared_ptr<MemoryServer> MemoryOfSomebody() {
  static const auto server = std::make_shared<MemoryServer>("guarded memory", Threads());
  return server;
}

// A guard whose identity file is there, checking every "not found" afresh.
DataServerPtr Guarded() {
  Identify(MemoryOfSomebody());
  return std::make_shared<IdentityGuard>(MemoryOfSomebody(), Threads(),
                                         IdentityOptions{.path = kIdentityPath,
                                                         .content = kIdentity,
                                                         .description = kIdentity,
                                                         .confirm_interval = Duration(0)});
}

// A memory server has no place where a disk could be looked for: without it, it is down.
template <std::shared_ptr<MemoryServer> (*kServer)()>
std::unique_ptr<ConformanceDisk> DiskOf() {
  return std::make_unique<MemoryConformanceDisk>(kServer(), MemoryConformanceDisk::kDown);
}

std::unique_ptr<ConformanceDisk> ReplacedDisk() {
  return std::make_unique<MemoryConformanceDisk>(MemoryOfSomebody(), MemoryConformanceDisk::kReplaced);
}

std::string NeedsTmpfs() {
  return std::filesystem::is_directory("/dev/shm") ? std::string() : std::string("there is no /dev/shm");
}

INSTANTIATE_TEST_SUITE_P(
    Servers, ConformanceTest,
    testing::Values(ConformanceTarget{.name = "Memory", .make = Memory, .disk = DiskOf<Memory>},
                    ConformanceTarget{.name = "SlowMemory", .make = SlowMemory, .disk = DiskOf<SlowMemory>},
                    ConformanceTarget{.name = "LocalDisk", .make = OnDisk, .disk = Disk},
                    ConformanceTarget{.name = "LocalTmpfs",
                                      .make = OnTmpfs,
                                      .proves_no_disk = "made without the identity of its root",
                                      .syncs_no_names = "made for policy none",
                                      .skip_reason = NeedsTmpfs},
                    ConformanceTarget{
                        .name = "Fault",
                        .make = [] { return std::make_shared<FaultServer>(Memory(), Threads()); },
                        .disk = DiskOf<Memory>},
                    ConformanceTarget{.name = "Counting",
                                      .make = [] { return std::make_shared<CountingServer>(OnDisk()); },
                                      .disk = Disk},
                    ConformanceTarget{.name = "Guarded", .make = Guarded, .disk = ReplacedDisk}),
    ConformanceName);

}  // namespace
}  // namespace xec

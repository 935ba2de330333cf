// SPDX-License-Identifier: LGPL-3.0-or-later
// The conformance suite on the data servers that need no network.
#include <filesystem>
#include <stdlib.h>

#include "server/conformance.hh"
#include "server/counting_server.hh"
#include "server/fault_server.hh"
#include "server/identity_guard.hh"
#include "server/local_server.hh"
#include "server/memory_server.hh"

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

DataServerPtr OnDisk() {
  static const ScratchDirectory directory(testing::TempDir());
  return std::make_shared<LocalServer>(directory.path());
}

DataServerPtr OnTmpfs() {
  static const ScratchDirectory directory("/dev/shm");
  return std::make_shared<LocalServer>(directory.path(), LocalServerOptions{.sync_directories = false});
}

std::shared_ptr<MemoryServer> Memory() {
  // One tree for all tests, as of a long-lived server.
  static const auto server = std::make_shared<MemoryServer>("memory", Threads());
  return server;
}

DataServerPtr SlowMemory() {
  static const auto server = std::make_shared<MemoryServer>(
      "slow memory", Threads(),
      MemoryServerOptions{.latency = [](Operation) { return std::chrono::microseconds(50); }});
  return server;
}

// A guard whose identity file is there, checking every "not found" afresh.
DataServerPtr Guarded() {
  const auto server = std::make_shared<MemoryServer>("guarded memory", Threads());
  ThreadPool pool("setup", 1);
  const Status made = SyncWait(CreateFile({&pool}, server, "/identity", "s01", true));
  XEC_CHECK(made.has_value());
  return std::make_shared<IdentityGuard>(
      server, Threads(),
      IdentityOptions{
          .path = "/identity", .content = "s01", .description = "s01", .confirm_interval = Duration(0)});
}

std::string NeedsTmpfs() {
  return std::filesystem::is_directory("/dev/shm") ? std::string() : std::string("there is no /dev/shm");
}

INSTANTIATE_TEST_SUITE_P(
    Servers, ConformanceTest,
    testing::Values(ConformanceTarget{.name = "Memory", .make = Memory},
                    ConformanceTarget{.name = "SlowMemory", .make = SlowMemory},
                    ConformanceTarget{.name = "LocalDisk", .make = OnDisk},
                    ConformanceTarget{.name = "LocalTmpfs", .make = OnTmpfs, .skip_reason = NeedsTmpfs},
                    ConformanceTarget{
                        .name = "Fault",
                        .make = [] { return std::make_shared<FaultServer>(Memory(), Threads()); }},
                    ConformanceTarget{.name = "Counting",
                                      .make = [] { return std::make_shared<CountingServer>(OnDisk()); }},
                    ConformanceTarget{.name = "Guarded", .make = Guarded}),
    ConformanceName);

}  // namespace
}  // namespace xec

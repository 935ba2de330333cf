// SPDX-License-Identifier: LGPL-3.0-or-later
// The conformance suite of all data servers on stock xrootd: plain, and with data spaces (a name space of
// symlinks, the set-up of paper 1). One server process of each kind serves the whole program.
#include "conformance_xrootd_process.hh"
#include "server/conformance.hh"
#include "server_xrootd/xrootd_server.hh"

namespace xec {
namespace {

// Both live until the program ends: late answers of one test may arrive during the next.
ThreadPool& Pool() {
  static auto* pool = new ThreadPool("conformance", 4);
  return *pool;
}

std::unique_ptr<XrootdProcess>& Process(bool spaces) {
  static std::unique_ptr<XrootdProcess> processes[2];
  return processes[spaces ? 1 : 0];
}

class StopServers : public testing::Environment {
 public:
  void TearDown() override {
    Process(false).reset();
    Process(true).reset();
  }
};

[[maybe_unused]] const auto* const kStopServers = testing::AddGlobalTestEnvironment(new StopServers);

ConformanceTarget Target(const char* name, bool spaces) {
  return ConformanceTarget{
      .name = name,
      .make =
          [spaces] {
            auto& process = Process(spaces);
            if (!process) process = std::make_unique<XrootdProcess>(XrootdProcessOptions{.spaces = spaces});
            auto server = MakeXrootdServer({.url = process->url(), .executor = &Pool()});
            XEC_CHECK(server.has_value());
            return *server;
          },
      .question_marks = false,
      .skip_reason = [] { return *NoServersReason(); },
  };
}

INSTANTIATE_TEST_SUITE_P(Xrootd, ConformanceTest,
                         testing::Values(Target("Plain", false), Target("DataSpaces", true)),
                         ConformanceName);

}  // namespace
}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// The conformance suite finds servers out that are wrong on purpose. There was a time when each of these
// passed all of it: a missing disk would have looked like an empty one, and a power cut have undone a commit.
#include <stdlib.h>

#include "runtime/sync_wait.hh"
#include "server/conformance/conformance.hh"
#include "server/conformance/test/conformance_local_disk.hh"
#include "server/conformance/test/conformance_memory_disk.hh"
#include "server/kinds/local_server.hh"

namespace xec {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class ConformanceMutantsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/xec-mutants-XXXXXX";
    scratch_ = mkdtemp(pattern.data());
    root_ = scratch_ / "root";
    std::filesystem::create_directories(scratch_ / "root/test");
  }
  void TearDown() override { std::filesystem::remove_all(scratch_); }

  ConformanceSubject Subject(DataServerPtr server) {
    return {std::move(server), "/test", &pool_, std::chrono::seconds(60)};
  }

  ThreadPool pool_{"mutants", 3};
  std::filesystem::path scratch_;
  std::string root_;
};

// Takes whatever lies at its root's place for its own.
TEST_F(ConformanceMutantsTest, AServerForWhichAMissingDiskIsAnEmptyOne) {
  const auto server = std::make_shared<LocalServer>(root_);
  LocalConformanceDisk disk(root_);
  const std::vector<std::string> problems = ProblemsWithoutItsDisk(Subject(server), disk);
  for (const char* request : {"opening a file", "opening a name that is not there", "listing a directory",
                              "listing a directory that is not there", "removing a file", "renaming a file",
                              "asking for attributes"})
    EXPECT_THAT(problems, Contains(HasSubstr(fmt::format("{} is not_found", request))));
  EXPECT_THAT(problems, Contains(HasSubstr("listing the root is OK")));
  EXPECT_THAT(problems, Contains(HasSubstr("listing directories is OK")));
}

TEST_F(ConformanceMutantsTest, AServerWhoseLostDiskNobodyNotices) {
  const auto server = std::make_shared<MemoryServer>("memory", pool_);
  MemoryConformanceDisk disk(server, MemoryConformanceDisk::kReplaced);
  EXPECT_THAT(ProblemsWithoutItsDisk(Subject(server), disk),
              Contains(HasSubstr("opening a file is not_found while the disk is away")));
}

TEST_F(ConformanceMutantsTest, AServerThatSyncsNoNames) {
  const auto server = std::make_shared<LocalServer>(root_, LocalServerOptions{.sync_directories = false});
  LocalConformanceDisk disk(root_);
  const std::vector<std::string> problems = ProblemsAfterPowerCuts(Subject(server), disk);
  for (const char* change :
       {"a rename", "making a directory and its parents", "making a directory that is there"})
    EXPECT_THAT(problems, Contains(HasSubstr(fmt::format("{} was answered OK", change))));
  EXPECT_THAT(problems, Contains(HasSubstr("a file has its old name, too")));
  EXPECT_THAT(problems, Not(Contains(HasSubstr("syncing a new file"))));
}

TEST_F(ConformanceMutantsTest, TheSameServersAreRightWhenTheyAreMadeRight) {
  const LocalIdentity identity{"/identity", "s01"};
  const auto maker = std::make_shared<LocalServer>(root_);
  const Status made =
      SyncWait(CreateFile(Subject(maker).Call(), maker, identity.path, identity.content, true));
  ASSERT_TRUE(made) << made.error().message;
  const auto server = std::make_shared<LocalServer>(root_, LocalServerOptions{.identity = identity});
  LocalConformanceDisk disk(root_);
  EXPECT_THAT(ProblemsWithoutItsDisk(Subject(server), disk), IsEmpty());
  EXPECT_THAT(ProblemsAfterPowerCuts(Subject(server), disk), IsEmpty());
}

}  // namespace
}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// Checksums that are computed when somebody asks: once, bounded, and kept.
#include <atomic>
#include <future>

#include <gtest/gtest.h>

#include "plugin_oss/checksums.hh"
#include "plugin_oss/test/fake_store.hh"

namespace xec {
namespace {

using namespace std::chrono_literals;
constexpr const char* kMd5OfAbc = "900150983cd24fb0d6963f7d28e17f72";
constexpr ChecksumJobs::Limits kPatient = {.wait = 1h};
constexpr ChecksumJobs::Limits kImpatient = {.wait = 1ms};

// Holds up readers until it is opened.
class Barrier {
 public:
  ~Barrier() { Open(); }
  void Wait() {
    ++arrived_;
    arrived_.notify_all();
    open_.wait(false);
  }
  void Open() {
    open_ = true;
    open_.notify_all();
  }
  void WaitForArrivals(int count) {
    for (int now = arrived_; now < count; now = arrived_) arrived_.wait(now);
  }
  int arrived() const { return arrived_; }

 private:
  std::atomic<int> arrived_ = 0;
  std::atomic<bool> open_ = false;
};

class ChecksumJobsTest : public testing::Test {
 protected:
  ChecksumJobsTest() { store_.Put("/a", "abc"); }
  Version VersionOf(const char* path) { return store_.objects[path].version; }
  static Result<std::optional<std::string>> Ask(ChecksumJobs& jobs, Version version,
                                                const char* path = "/a") {
    return jobs.Ask(path, version, "md5", {.md5 = true});
  }

  FakeStore store_;
};

TEST_F(ChecksumJobsTest, ComputesAndKeeps) {
  ChecksumJobs jobs(store_, kPatient);
  const auto md5 = Ask(jobs, VersionOf("/a"));
  ASSERT_TRUE(md5 && *md5);
  EXPECT_EQ(**md5, kMd5OfAbc);
  EXPECT_EQ(store_.objects["/a"].later_checksums["md5"], kMd5OfAbc);
  EXPECT_EQ(Ask(jobs, {}).code(), Code::kConflict);
  EXPECT_EQ(Ask(jobs, {}, "/none").code(), Code::kNotFound);
}

TEST_F(ChecksumJobsTest, WhoAsksAtTheSameTimeSharesOne) {
  Barrier barrier;
  store_.on_read = [&] { barrier.Wait(); };
  ChecksumJobs jobs(store_, kPatient);
  std::vector<std::future<Result<std::optional<std::string>>>> answers;
  for (int i = 0; i < 5; ++i)
    answers.push_back(std::async(std::launch::async, [&] { return Ask(jobs, VersionOf("/a")); }));
  barrier.WaitForArrivals(1);
  barrier.Open();
  for (auto& answer : answers) EXPECT_EQ(**answer.get(), kMd5OfAbc);
  EXPECT_EQ(barrier.arrived(), 1);
}

TEST_F(ChecksumJobsTest, WhoIsToldToAskAgainGetsItThen) {
  Barrier barrier;
  store_.on_read = [&] { barrier.Wait(); };
  ChecksumJobs jobs(store_, kImpatient);
  EXPECT_EQ(*Ask(jobs, VersionOf("/a")), std::nullopt);
  barrier.WaitForArrivals(1);
  EXPECT_EQ(*Ask(jobs, VersionOf("/a")), std::nullopt);
  barrier.Open();
  std::optional<std::string> md5;
  while (!md5) md5 = *Ask(jobs, VersionOf("/a"));
  EXPECT_EQ(md5, kMd5OfAbc);
  EXPECT_EQ(barrier.arrived(), 1);
}

TEST_F(ChecksumJobsTest, NoMoreAtOnceAndInAllThanTheBounds) {
  Barrier barrier;
  store_.on_read = [&] { barrier.Wait(); };
  for (const char* name : {"/b", "/c", "/d"}) store_.Put(name, "abc");
  ChecksumJobs jobs(store_, {.at_once = 2, .jobs_max = 3, .wait = 1ms});
  for (const char* name : {"/a", "/b", "/c"}) EXPECT_EQ(*Ask(jobs, VersionOf(name), name), std::nullopt);
  EXPECT_EQ(Ask(jobs, VersionOf("/d"), "/d").code(), Code::kUnavailable);
  barrier.WaitForArrivals(2);
  EXPECT_EQ(barrier.arrived(), 2);
  barrier.Open();
  std::optional<std::string> md5;
  while (!md5) md5 = *Ask(jobs, VersionOf("/c"), "/c");
  EXPECT_EQ(barrier.arrived(), 3);
}

TEST_F(ChecksumJobsTest, OneThatNobodyAsksForAnyMoreIsGivenUp) {
  store_.Put("/a", std::string(9 << 20, 'x'));
  store_.Put("/b", "abc");
  Barrier barrier;
  store_.on_read = [&] { barrier.Wait(); };
  ChecksumJobs jobs(store_, {.at_once = 1, .wait = 200ms, .kept = 0ms});
  // One whose turn comes after its clients have left is not even begun.
  while (barrier.arrived() == 0) EXPECT_EQ(*Ask(jobs, VersionOf("/a")), std::nullopt);
  barrier.Open();
  // The next one's turn comes when the first has ended.
  std::optional<std::string> md5;
  while (!md5) md5 = *Ask(jobs, VersionOf("/b"), "/b");
  EXPECT_TRUE(store_.objects["/a"].later_checksums.empty());
}

// A client that was told to ask again would else start it anew for ever.
TEST_F(ChecksumJobsTest, AFailureIsToldToWhoAsksAgainAndTriedAgainLater) {
  store_.read_fails = Code::kDataLoss;
  {
    ChecksumJobs jobs(store_, kPatient);
    EXPECT_EQ(Ask(jobs, VersionOf("/a")).code(), Code::kDataLoss);
    store_.read_fails.reset();
    EXPECT_EQ(Ask(jobs, VersionOf("/a")).code(), Code::kDataLoss);
  }
  store_.read_fails = Code::kNoQuorum;
  ChecksumJobs jobs(store_, {.wait = 1h, .failure_kept = -1ms});
  EXPECT_EQ(Ask(jobs, VersionOf("/a")).code(), Code::kNoQuorum);
  store_.read_fails.reset();
  EXPECT_EQ(**Ask(jobs, VersionOf("/a")), kMd5OfAbc);
}

TEST_F(ChecksumJobsTest, XrootdHasItsClientsAskAgain) {
  Barrier barrier;
  store_.on_read = [&] { barrier.Wait(); };
  Gateway gateway(store_, kHardlyAny, kImpatient);
  Checksums checksums(gateway, nullptr);
  XrdCksData md5;
  md5.Set("md5");
  EXPECT_EQ(checksums.Get("/a", md5), -EBUSY);
  barrier.Open();
  int got = -EBUSY;
  while (got == -EBUSY) got = checksums.Get("/a", md5);
  char hex[100];
  EXPECT_EQ(got, 16);
  EXPECT_GT(md5.Get(hex, sizeof(hex)), 0);
  EXPECT_STREQ(hex, kMd5OfAbc);
  // Kept: nothing is read again.
  store_.read_fails = Code::kDataLoss;
  EXPECT_EQ(checksums.Get("/a", md5), 16);
  XrdCksData unknown;
  unknown.Set("rot13");
  EXPECT_EQ(checksums.Get("/a", unknown), -EINVAL);
}

}  // namespace
}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "audit/audit_log.hh"

#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/log.hh"

namespace xec {
namespace {

namespace fs = std::filesystem;

TEST(FormatAuditTest, AllThatIsKnown) {
  Caller caller = {"alice", {"/vo", "/vo/production"}, "h.example.org", "https", "/DC=org/CN=alice"};
  AuditRecord record = {.event = "rename", .path = "/a \"b\"", .to = "/c", .result = "unknown"};
  EXPECT_EQ(
      FormatAudit(record, &caller, 1'796'034'929'007, "g:1094"),
      R"({"time":"2026-11-30T10:35:29.007Z","event":"rename","path":"/a \"b\"","to":"/c","result":"unknown",)"
      R"("subject":"alice","dn":"/DC=org/CN=alice","groups":["/vo","/vo/production"],"host":"h.example.org",)"
      R"("door":"https","process":"g:1094"})");
  record = {.event = "create", .path = "/\xff", .version = Version(), .size = 12};
  const std::string line = FormatAudit(record, nullptr, 0, "");
  EXPECT_TRUE(line.starts_with(R"({"time":"1970-01-01T00:00:00.000Z","event":"create","path":"/)")) << line;
  EXPECT_TRUE(line.ends_with(R"(,"size":12,"result":"ok","door":"local"})")) << line;
}

class AuditLogTest : public testing::Test {
 protected:
  AuditLogTest() {
    fs::remove_all(folder_);
    fs::create_directory(folder_);
  }
  ~AuditLogTest() override { fs::remove_all(folder_); }

  AuditLog::Options Options(uint64_t bytes_max = kAuditFileBytesMax) const {
    return {.process = "p", .wall_ms = [] { return int64_t{0}; }, .bytes_max = bytes_max};
  }
  static void Tell(AuditLog& log, const std::string& path) {
    log.Write({.event = "remove", .path = path}, nullptr);
  }
  // The paths in a file, in order, separated by blanks.
  static std::string PathsIn(const std::string& file) {
    std::string paths;
    std::ifstream lines(file);
    for (std::string line; std::getline(lines, line);) {
      paths += (paths.empty() ? "" : " ") + nlohmann::json::parse(line)["path"].get<std::string>();
    }
    return paths;
  }

  const std::string folder_ = testing::TempDir() + "audit_log_test";
  const std::string file_ = folder_ + "/audit.log";
};

TEST_F(AuditLogTest, AppendsToWhatIsThere) {
  for (const char* path : {"/a", "/b"}) {
    AuditLog log(file_, Options());
    ASSERT_TRUE(log.Open());
    Tell(log, path);
  }
  EXPECT_EQ(PathsIn(file_), "/a /b");
}

TEST_F(AuditLogTest, WhatIsTooLongIsKeptUnderNumbers) {
  AuditLog log(file_, Options(150));  // a line has about 100 bytes
  for (int i = 0; i < 12; ++i) Tell(log, fmt::format("/{}", i));
  EXPECT_EQ(PathsIn(file_), "/11");
  EXPECT_EQ(PathsIn(file_ + ".1"), "/10");
  EXPECT_EQ(PathsIn(file_ + ".9"), "/2");
  EXPECT_FALSE(fs::exists(file_ + ".10"));
}

TEST_F(AuditLogTest, SomebodyElseMayRotateIt) {
  AuditLog log(file_, Options());
  Tell(log, "/a");
  fs::rename(file_, file_ + ".old");
  Tell(log, "/b");
  EXPECT_EQ(PathsIn(file_ + ".old"), "/a");
  EXPECT_EQ(PathsIn(file_), "/b");
}

TEST_F(AuditLogTest, SeveralProcessesLoseNothing) {
  constexpr int kLines = 200;
  {
    std::vector<std::jthread> writers;
    for (int writer = 0; writer < 3; ++writer) {
      writers.emplace_back([&] {
        AuditLog log(file_, Options(20'000));
        for (int i = 0; i < kLines; ++i) Tell(log, "/a");
      });
    }
  }
  size_t lines = 0;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    const std::string paths = PathsIn(entry.path());
    lines += static_cast<size_t>(std::count(paths.begin(), paths.end(), '/'));
  }
  EXPECT_EQ(lines, size_t{3 * kLines});
}

// A disk that is full takes the beginning of a line.
TEST_F(AuditLogTest, ALineThatIsCutOffSpoilsNoOther) {
  AuditLog log(file_, Options());
  Tell(log, "/a");
  SetLogSink([](LogLevel, std::string_view) {});
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  const rlimit full = {fs::file_size(file_) + 20, old_limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
  Tell(log, "/cut");
  setrlimit(RLIMIT_FSIZE, &old_limit);
  std::signal(SIGXFSZ, old_handler);
  Tell(log, "/b");
  SetLogSink(nullptr);
  EXPECT_EQ(PathsIn(file_), "/a /b");
}

// Neither waits for a reader.
TEST_F(AuditLogTest, APipeInItsPlaceHoldsNobodyUp) {
  SetLogSink([](LogLevel, std::string_view) {});
  ASSERT_EQ(mkfifo(file_.c_str(), 0600), 0);
  AuditLog log(file_, Options());
  EXPECT_FALSE(log.Open());
  Tell(log, "/a");
  const int reader = open(file_.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  for (int i = 0; i < 2000; ++i) Tell(log, "/a");
  close(reader);
  fs::remove(file_);
  Tell(log, "/b");
  SetLogSink(nullptr);
  EXPECT_EQ(PathsIn(file_), "/b");
}

// Anybody who may read it can lock it.
TEST_F(AuditLogTest, ALockOfSomebodyElseHoldsNobodyUp) {
  AuditLog log(file_, Options(150));
  Tell(log, "/a");
  const int other = open(file_.c_str(), O_RDONLY);
  ASSERT_EQ(flock(other, LOCK_EX), 0);
  Tell(log, "/b");
  EXPECT_EQ(PathsIn(file_), "/a /b");
  close(other);
  Tell(log, "/c");
  EXPECT_EQ(PathsIn(file_), "/c");
  EXPECT_EQ(PathsIn(file_ + ".1"), "/a /b");
}

TEST_F(AuditLogTest, WhatCannotBeWrittenIsToldOnceAndCounted) {
  std::vector<std::string> told;
  SetLogSink([&](LogLevel, std::string_view line) { told.emplace_back(line); });
  fs::remove(folder_);
  AuditLog log(file_, Options());
  EXPECT_FALSE(log.Open());
  Tell(log, "/a");
  Tell(log, "/b");
  fs::create_directory(folder_);
  Tell(log, "/c");
  SetLogSink(nullptr);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0], "error audit: the audit log " + file_ +
                         " cannot be written: No such file or directory; changes are not told until it can");
  EXPECT_EQ(told[1], "error audit: the audit log " + file_ + " is written again; 2 lines were lost");
  EXPECT_EQ(PathsIn(file_), "/c");
}

}  // namespace
}  // namespace xec

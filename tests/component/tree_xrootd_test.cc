// SPDX-License-Identifier: LGPL-3.0-or-later
// Files of a mount of XRootD servers that are closed when nobody uses them, on a stock server.
#include <csignal>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "conformance_xrootd_process.hh"
#include "runtime/thread_pool.hh"
#include "server_xrootd/xrootd_server.hh"
#include "tree_xrootd/remote_file.hh"
#include "tree_xrootd/xrootd_file.hh"

namespace xec {
namespace {

class TreeXrootdTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!NoServersReason()->empty()) GTEST_SKIP() << *NoServersReason();
    process_ = std::make_unique<XrootdProcess>(XrootdProcessOptions{.trace = true});
    server_ = std::make_shared<Endpoint>("127.0.0.1:" + std::to_string(process_->port()), "", &pool_,
                                         /*patient=*/false);
  }
  void TearDown() override { AbandonXrootdRequests(pool_); }

  void Put(const std::string& name, const std::string& text) {
    std::ofstream(process_->data_directory() + name, std::ios::trunc) << text;
    std::filesystem::permissions(process_->data_directory() + name, std::filesystem::perms(0666));
  }

  Result<std::shared_ptr<OpenFile>> Open(const std::string& name, OpenAs as) {
    return OpenFile::Open(server_, name, {.as = as});
  }

  template <typename File>
  std::string Read(File& file) {
    std::vector<std::byte> into(100);
    const Result<uint64_t> got = file.Read(0, into);
    if (!got) return got.error().ToString();
    return std::string(reinterpret_cast<const char*>(into.data()), *got);
  }

  void WaitUntilNothingIsOpen() {
    const TimePoint limit = pool_.Now() + std::chrono::seconds(10);
    while (process_->OpenDataFiles() > 0 && pool_.Now() < limit) std::this_thread::yield();
    ASSERT_EQ(process_->OpenDataFiles(), 0);
  }

  ThreadPool pool_{"treetest", 2};
  std::unique_ptr<XrootdProcess> process_;
  EndpointPtr server_;
};

TEST_F(TreeXrootdTest, AnIdleReaderIsClosedAndOpenedAgain) {
  Put("/f", "content");
  XrootdReader reader(*Open("/f", OpenAs::kRead), [&] { return Open("/f", OpenAs::kRead); });
  reader.file().CloseIfIdleSince(pool_.Now() - std::chrono::minutes(1));
  EXPECT_EQ(process_->OpenDataFiles(), 1);
  reader.file().CloseIfIdleSince(pool_.Now());
  WaitUntilNothingIsOpen();
  EXPECT_EQ(Read(reader), "content");
  EXPECT_EQ(process_->RequestCount("open"), 2);
  // Another file is not what the program has opened.
  reader.file().CloseIfIdleSince(pool_.Now());
  Put("/f", "other content");
  EXPECT_TRUE(Read(reader).starts_with("not_current: ")) << Read(reader);
}

TEST_F(TreeXrootdTest, AnEditWithChangesStaysOpen) {
  Put("/f", "content");
  XrootdEdit edit(
      *Open("/f", OpenAs::kUpdate), [&] { return Open("/f", OpenAs::kUpdate); },
      [&] { return server_->Stat("/f", pool_.Now() + std::chrono::seconds(20)); }, false);
  edit.CloseIfIdleSince(pool_.Now());
  WaitUntilNothingIsOpen();
  const std::string text = "CON";
  ASSERT_TRUE(edit.Write(0, std::as_bytes(std::span(text))));
  edit.CloseIfIdleSince(pool_.Now());
  EXPECT_EQ(process_->OpenDataFiles(), 1);
  EXPECT_EQ(Read(edit), "CONtent");
  EXPECT_TRUE(edit.Commit());
  EXPECT_FALSE(edit.changed());
  EXPECT_EQ(edit.size(), 7u);
}

TEST_F(TreeXrootdTest, AnEditWhoseChangesWereLostSaysSoUntilItEnds) {
  Put("/f", "content");
  XrootdEdit edit(
      *Open("/f", OpenAs::kUpdate), [&] { return Open("/f", OpenAs::kUpdate); },
      [&] { return server_->Stat("/f", pool_.Now() + std::chrono::seconds(20)); }, false);
  // Without changes nothing is lost.
  process_->Kill();
  process_->Start();
  EXPECT_EQ(Read(edit), "content");
  const std::string text = "CON";
  ASSERT_TRUE(edit.Write(0, std::as_bytes(std::span(text))));
  process_->Kill();
  process_->Start();
  EXPECT_FALSE(edit.Write(3, std::as_bytes(std::span(text))));
  EXPECT_FALSE(edit.Commit());
  EXPECT_TRUE(edit.changed());
}

TEST_F(TreeXrootdTest, AServerThatHangsIsAnErrorInTime) {
  Put("/f", "content");
  ASSERT_TRUE(server_->Stat("/f", pool_.Now() + std::chrono::seconds(20)));
  process_->Signal(SIGSTOP);
  const TimePoint started = pool_.Now();
  EXPECT_EQ(server_->Stat("/f", started + std::chrono::seconds(1)).code(), Code::kDeadlineExceeded);
  EXPECT_LT(pool_.Now() - started, std::chrono::seconds(5));
  process_->Signal(SIGCONT);
}

}  // namespace
}  // namespace xec

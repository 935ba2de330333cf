// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/upload_line.hh"

#include <array>
#include <fcntl.h>
#include <functional>

#include <gtest/gtest.h>

#include <XrdOuc/XrdOucEnv.hh>

#include "plugin_oss/storage.hh"
#include "plugin_oss/test/fake_store.hh"
#include "runtime/thread_pool.hh"

namespace xec {
namespace {

class UploadLineTest : public testing::Test {
 protected:
  using Handle = std::unique_ptr<XrdOssDF>;

  Handle Open(const char* path, int expected) {
    XrdOucEnv env("");
    EXPECT_EQ(storage_.Create("user.1:2@host", path, 0644, env, 0), -ENOTSUP);
    Handle file(storage_.newFile("user.1:2@host"));
    EXPECT_EQ(file->Open(path, O_RDWR | O_CREAT | O_TRUNC, 0644, env), expected);
    return file;
  }

  FakeStore store_;
  Gateway gateway_{store_, kHardlyAny};
  Storage storage_{gateway_};
};

// XRootD tells a client to repeat an open whose answer is positive.
TEST_F(UploadLineTest, UploadsWaitForMemoryInTheirOpen) {
  store_.memory_short = true;
  Open("/a", 1);
  Open("/b", 1);
  Open("/a", 1);
  ASSERT_EQ(store_.waiting.size(), 2u) << "who asks again keeps its place";
  EXPECT_EQ(gateway_.upload_line().size(), 2u);
  store_.waiting[0](true);
  {
    const Handle file = Open("/a", 0);
    EXPECT_EQ(file->Write("new", 0, 3), 3);
    EXPECT_EQ(file->Close(nullptr), 0);
  }
  EXPECT_EQ(store_.objects["/a"].bytes, "new");
  EXPECT_EQ(store_.writers_alive, 1);
  store_.waiting[1](true);
  EXPECT_EQ(Open("/b", 0)->Close(nullptr), 0);
  EXPECT_EQ(gateway_.upload_line().size(), 0u);
  EXPECT_EQ(store_.writers_alive, 0);
}

TEST_F(UploadLineTest, WhoCannotGetMemoryFails) {
  store_.reserve_fails = Code::kInvalidArgument;
  Open("/a", -EINVAL);
  EXPECT_EQ(store_.writers_alive, 0);
  EXPECT_EQ(gateway_.upload_line().size(), 0u);
}

// Its reservation was given back meanwhile.
TEST_F(UploadLineTest, WhoComesBackTooLateStandsInLineAgain) {
  store_.memory_short = true;
  Open("/a", 1);
  ASSERT_EQ(store_.waiting.size(), 1u);
  store_.waiting[0](true);
  store_.place_kept = false;
  Open("/a", 1);
  ASSERT_EQ(store_.waiting.size(), 2u);
  store_.place_kept = true;
  store_.waiting[1](true);
  EXPECT_EQ(Open("/a", 0)->Close(nullptr), 0);
  EXPECT_EQ(store_.writers_alive, 0);
}

class GetsItsMemory final : public WriteHandle {
 public:
  explicit GetsItsMemory(
      OneShot<bool>& memory, std::function<void()> end = [] {})
      : memory_(memory), end_(std::move(end)) {}
  ~GetsItsMemory() override { end_(); }
  uint64_t size() const override { return 0; }
  Task<Status> Reserve(CallOptions) override {
    OneShot<bool>& memory = memory_;
    co_await memory;
    co_return OkStatus();
  }
  bool KeepPlace() override { return true; }
  Task<Status> Append(ByteSpan, CallOptions) override { co_return OkStatus(); }
  Status SetUserAttributes(std::map<std::string, std::string>) override { return OkStatus(); }
  void SetSettings(Settings) override {}
  bool AllInMemory() const override { return true; }
  Task<Status> EndStream(CallOptions) override { co_return OkStatus(); }
  Task<Result<uint64_t>> ReadBack(uint64_t, MutableByteSpan, CallOptions) override { co_return uint64_t{0}; }
  Task<Result<Committed>> Commit(CallOptions) override { co_return Committed{}; }
  Task<void> Abandon() override { co_return; }

 private:
  OneShot<bool>& memory_;
  const std::function<void()> end_;
};

// A connection carries one request after another: an open does not hold up the uploads that are under way.
TEST(UploadLine, WaitsBrieflyBesideOtherUploadsOfItsClient) {
  std::array<OneShot<bool>, 4> memory;
  ThreadPool pool("later", 1);
  UploadLine line({.alone = std::chrono::hours(1), .beside_others = std::chrono::milliseconds(1)});
  const auto enter = [&](const char* client, const char* path, OneShot<bool>& when) {
    return std::move(*line.Enter(client, path, std::make_unique<GetsItsMemory>(when)));
  };
  memory[0].Setter()(true);
  const UploadLine::Admitted under_way = enter("mine", "/a", memory[0]);
  EXPECT_TRUE(under_way.writer);
  EXPECT_FALSE(enter("mine", "/b", memory[1]).writer);
  EXPECT_FALSE(enter("mine", "/c", memory[2]).writer);
  pool.RunAt(pool.Now() + std::chrono::milliseconds(100), [set = memory[3].Setter()] { set(true); });
  EXPECT_TRUE(enter("other", "/d", memory[3]).writer) << "it waits until there is memory";
  memory[1].Setter()(true);
  memory[2].Setter()(true);
}

TEST(UploadLine, WhatAForgottenUploadHasIsGivenBackBeforeTheNextOneWaitsForIt) {
  std::array<OneShot<bool>, 3> memory;
  UploadLine line({.alone = std::chrono::seconds(5), .beside_others = std::chrono::milliseconds(1)});
  memory[0].Setter()(true);
  const UploadLine::Admitted under_way =
      std::move(*line.Enter("mine", "/b", std::make_unique<GetsItsMemory>(memory[0])));
  auto first = std::make_unique<GetsItsMemory>(memory[1], [&] { memory[2].Setter()(true); });
  EXPECT_FALSE(line.Enter("mine", "/a", std::move(first))->writer);
  memory[1].Setter()(true);
  EXPECT_TRUE(line.Enter("other", "/a", std::make_unique<GetsItsMemory>(memory[2]))->writer);
}

// Bug: such an upload went only when another one had got into the line, which it never did if it needed the
// room of a quota that the first one had claimed.
TEST(UploadLine, WhatALostUploadHoldsCanBeGivenBackBeforeTheNextOneIsCreated) {
  OneShot<bool> memory;
  bool ended = false;
  UploadLine line({.alone = std::chrono::milliseconds(1), .absent = std::chrono::hours(1)});
  UploadLine impatient({.alone = std::chrono::milliseconds(1), .absent = Duration::zero()});
  EXPECT_FALSE(
      impatient.Enter("mine", "/a", std::make_unique<GetsItsMemory>(memory, [&] { ended = true; }))->writer);
  memory.Setter()(true);
  impatient.DropLost();
  EXPECT_TRUE(ended);
  EXPECT_EQ(impatient.size(), 0u);
  OneShot<bool> other_memory;
  EXPECT_FALSE(line.Enter("mine", "/a", std::make_unique<GetsItsMemory>(other_memory))->writer);
  line.DropLost();
  EXPECT_EQ(line.size(), 1u);
  other_memory.Setter()(true);
}

}  // namespace
}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// Stores on real directories: made, opened again in every state of disrepair, refused where they must be.
#include "assembly/open_store.hh"

#include <atomic>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <sys/mount.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "assembly/configuration/options.hh"
#include "assembly/sites/sites.hh"
#include "assembly/store_process.hh"
#include "base/log.hh"
#include "commit/engine/pause.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

// While it lives no look at this directory gets an answer: a FUSE whose program does nothing.
class HangingMount {
 public:
  explicit HangingMount(fs::path place) : place_(std::move(place)), device_(open("/dev/fuse", O_RDWR)) {
    const std::string options = fmt::format("fd={},rootmode=40000,user_id=0,group_id=0,allow_other", device_);
    mounted_ = device_ >= 0 && mount("hangs", place_.c_str(), "fuse", 0, options.c_str()) == 0;
  }
  ~HangingMount() {
    if (device_ >= 0) close(device_);  // all that wait get an error
    if (mounted_) umount2(place_.c_str(), MNT_DETACH);
  }
  HangingMount(const HangingMount&) = delete;
  HangingMount& operator=(const HangingMount&) = delete;
  bool mounted() const { return mounted_; }

 private:
  const fs::path place_;
  const int device_;
  bool mounted_ = false;
};

class OpenStoreTest : public testing::Test {
 protected:
  OpenStoreTest() {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    root_ = fs::path(testing::TempDir()) / (std::string("open_store_") + info->name());
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~OpenStoreTest() override { fs::remove_all(root_); }

  fs::path Directory(int i) const { return root_ / fmt::format("d{}", i); }

  Configuration Config(int first, int last, const std::string& geometry = "") {
    Configuration c;
    for (int i = first; i <= last; ++i) EXPECT_TRUE(SetOption(c, "data", Directory(i).string(), "test"));
    if (!geometry.empty()) {
      EXPECT_TRUE(SetOption(c, "geometry", geometry, "test"));
    }
    return c;
  }

  static Result<std::unique_ptr<OpenedStore>> Open(Configuration c, bool create = false) {
    OpenOptions options;
    options.create_if_new = create;
    return OpenStore(std::move(c), options);
  }

  void MakeStore(int count = 3, const std::string& geometry = "2+1") {
    auto store = Open(Config(1, count, geometry), true);
    ASSERT_TRUE(store) << store.error().message;
  }

  static Status Put(OpenedStore& store, const std::string& path, std::string_view content) {
    auto writer = SyncWait(store.store().Create(path, {}));
    if (!writer) return writer.error();
    XEC_TRY(SyncWait((*writer)->Append(AsBytes(content))));
    XEC_TRY(SyncWait((*writer)->Commit()));
    return OkStatus();
  }

  static std::string Get(OpenedStore& store, const std::string& path) {
    auto reader = SyncWait(store.store().Open(path));
    if (!reader) return "error: " + reader.error().message;
    std::string content((*reader)->size(), '\0');
    const auto got = SyncWait((*reader)->Read(0, std::as_writable_bytes(std::span(content))));
    return got ? content : "error: " + got.error().message;
  }

  // Writes another descriptor into the directories, as a change of the members does.
  void Rewrite(int first, int last, const std::function<void(StoreDescriptor&)>& change) const {
    std::ifstream old(Directory(1) / ".xec/store");
    auto descriptor = ParseDescriptor(std::string(std::istreambuf_iterator<char>(old), {}));
    ASSERT_TRUE(descriptor);
    change(*descriptor);
    for (int i = first; i <= last; ++i) {
      std::ofstream(Directory(i) / ".xec/new", std::ios::trunc) << FormatDescriptor(*descriptor);
      const std::string path = DescriptorPath(descriptor->epoch);
      fs::rename(Directory(i) / ".xec/new", Directory(i) / path.substr(1));
    }
  }

  // Waits until `holds()`; the store's loops look again after some milliseconds to seconds.
  static bool Eventually(OpenedStore& store, const std::function<bool()>& holds) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!holds()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      SyncWait(Pause(*EngineOf(store), std::chrono::milliseconds(5)));
    }
    return true;
  }

  static bool SaysNotFound(OpenedStore& store) {
    return SyncWait(store.store().Stat("/missing")).code() == Code::kNotFound;
  }

  // Waits until a look-up says "cannot tell" in these words.
  static bool EventuallySays(OpenedStore& store, std::string_view words) {
    return Eventually(store, [&] {
      const auto info = SyncWait(store.store().Stat("/missing"));
      return info.code() == Code::kNoQuorum && info.error().message.find(words) != std::string::npos;
    });
  }

  // The error of opening these directories.
  Error Refusal(Configuration c, bool create = false) {
    auto store = Open(std::move(c), create);
    if (store) return Fail(Code::kInternal, "it opened");
    return store.error();
  }

  fs::path root_;
};

TEST_F(OpenStoreTest, MakesAStoreAndFindsItAgainInAnyOrder) {
  EXPECT_EQ(Refusal(Config(1, 3, "2+1")).code, Code::kNotFound);
  EXPECT_FALSE(fs::exists(Directory(1)));
  {
    auto store = Open(Config(1, 3, "2+1"), true);
    ASSERT_TRUE(store) << store.error().message;
    ASSERT_TRUE(Put(**store, "/a", "hello"));
  }
  Configuration c;
  for (int i : {3, 1, 2}) ASSERT_TRUE(SetOption(c, "data", Directory(i).string(), "test"));
  auto store = Open(c);
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_EQ(Get(**store, "/a"), "hello");
  EXPECT_EQ(EngineOf(**store)->descriptor().geometry.ToString(), "2+1");
  EXPECT_EQ(EngineOf(**store)->server(0)->name(), Directory(1).string());
  EXPECT_TRUE((*store)->notes().empty());
}

TEST_F(OpenStoreTest, SaysThatAShortHorizonBindsAllProcesses) {
  MakeStore();
  Configuration c = Config(1, 3);
  c.engine.operation_limit = std::chrono::seconds(2);
  c.engine.tombstone_horizon = std::chrono::seconds(119);
  auto store = Open(c);
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_THAT((*store)->notes(), testing::Contains(HasSubstr("tombstone-horizon is below 2m")));
}

TEST_F(OpenStoreTest, GoesOnWithoutAMissingDirectoryAndUsesItWhenItIsBack) {
  MakeStore();
  fs::rename(Directory(2), root_ / "away");
  auto store = Open(Config(1, 3), true);
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_FALSE(fs::exists(Directory(2)));
  EXPECT_THAT((*store)->notes(), testing::Contains(HasSubstr("without s02")));
  const CallContext call{&(*store)->executor(), (*store)->executor().Now() + std::chrono::seconds(10)};
  EXPECT_EQ(SyncWait(List(call, EngineOf(**store)->server(1), "/")).code(), Code::kUnavailable);
  fs::rename(root_ / "away", Directory(2));
  // The loop looks every kRetryInterval.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (std::chrono::steady_clock::now() < deadline) {
    const CallContext again{&(*store)->executor(), (*store)->executor().Now() + std::chrono::seconds(10)};
    if (SyncWait(List(again, EngineOf(**store)->server(1), "/"))) return;
  }
  FAIL() << "s02 did not come back";
}

TEST_F(OpenStoreTest, AnEmptyDirectoryInAStoreIsLeftOut) {
  MakeStore();
  fs::remove_all(Directory(3));
  fs::create_directory(Directory(3));
  auto store = Open(Config(1, 3), true);
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_THAT((*store)->notes(), testing::Contains(HasSubstr("d3 is left out: it is empty")));
  EXPECT_TRUE(fs::is_empty(Directory(3)));
}

TEST_F(OpenStoreTest, RefusesWhatDoesNotBelongTogether) {
  MakeStore();
  // A directory of another store.
  {
    Configuration other;
    for (const char* name : {"o1", "o2"})
      ASSERT_TRUE(SetOption(other, "data", (root_ / name).string(), "test"));
    ASSERT_TRUE(SetOption(other, "geometry", "1+1", "test"));
    ASSERT_TRUE(Open(other, true));
  }
  Configuration mixed = Config(1, 2);
  ASSERT_TRUE(SetOption(mixed, "data", (root_ / "o2").string(), "test"));
  EXPECT_EQ(Refusal(mixed).code, Code::kConflict);
  EXPECT_THAT(Refusal(mixed).message, HasSubstr("o2 belongs to store "));
  // A copy of a disk.
  fs::copy(Directory(2), root_ / "copy", fs::copy_options::recursive);
  Configuration cloned = Config(1, 3);
  ASSERT_TRUE(SetOption(cloned, "data", (root_ / "copy").string(), "test"));
  EXPECT_EQ(Refusal(cloned).code, Code::kConflict);
  EXPECT_THAT(Refusal(cloned).message, HasSubstr("both say they are s02"));
  // A file in the place of one is as good as nothing there, and a new store wants directories.
  Configuration file = Config(1, 3);
  std::ofstream(root_ / "file") << "x";
  ASSERT_TRUE(SetOption(file, "data", (root_ / "file").string(), "test"));
  EXPECT_TRUE(Open(file));
  Configuration new_file;
  for (const char* name : {"file", "new"})
    ASSERT_TRUE(SetOption(new_file, "data", (root_ / name).string(), "test"));
  ASSERT_TRUE(SetOption(new_file, "geometry", "1+1", "test"));
  EXPECT_EQ(Refusal(new_file, true).message, (root_ / "file").string() + " is a file, not a directory");
  // One directory inside another.
  fs::create_directory(root_ / "outer");
  fs::create_directory_symlink(root_ / "outer", root_ / "link");
  Configuration nested;
  for (const char* name : {"outer", "link/inner"})
    ASSERT_TRUE(SetOption(nested, "data", (root_ / name).string(), "test"));
  ASSERT_TRUE(SetOption(nested, "geometry", "1+1", "test"));
  EXPECT_THAT(Refusal(nested, true).message, HasSubstr("link/inner lies inside "));
  // Somebody else's directory.
  fs::create_directory(root_ / "home");
  std::ofstream(root_ / "home" / "letter") << "x";
  Configuration foreign = Config(1, 3);
  ASSERT_TRUE(SetOption(foreign, "data", (root_ / "home").string(), "test"));
  EXPECT_THAT(Refusal(foreign).message, HasSubstr("home is not empty and belongs to no store"));
  Configuration all_foreign;
  for (const char* name : {"home", "new"})
    ASSERT_TRUE(SetOption(all_foreign, "data", (root_ / name).string(), "test"));
  ASSERT_TRUE(SetOption(all_foreign, "geometry", "1+1", "test"));
  EXPECT_THAT(Refusal(all_foreign, true).message, HasSubstr("home is not empty"));
  EXPECT_FALSE(fs::exists(root_ / "new"));
  EXPECT_THAT(Refusal(Configuration{}).message, HasSubstr("no data servers are given"));
}

TEST_F(OpenStoreTest, ANewerFormatIsRefusedAndADamagedIdentityLeftOut) {
  MakeStore();
  std::ofstream(Directory(1) / ".xec/server", std::ios::trunc) << "noise";
  auto store = Open(Config(1, 3));
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_THAT((*store)->notes(), testing::Contains(HasSubstr("d1 is left out")));
  store = Fail(Code::kCancelled, "closed");
  // It alone proves nothing, and above all not that a new store may be made there.
  EXPECT_EQ(Refusal(Config(1, 1), true).code, Code::kCorruption);
  std::ofstream(Directory(2) / ".xec/store", std::ios::trunc) << "xec-store 2\nend\n";
  EXPECT_EQ(Refusal(Config(1, 3)).code, Code::kUnsupported);
  EXPECT_THAT(Refusal(Config(1, 3)).message, HasSubstr("d2: the store descriptor has format 2"));
}

TEST_F(OpenStoreTest, NeverMakesAStoreOverArchives) {
  MakeStore();
  {
    auto store = Open(Config(1, 3));
    ASSERT_TRUE(store && Put(**store, "/a", "hello"));
  }
  for (int i = 1; i <= 3; ++i) fs::remove(Directory(i) / ".xec/store");
  EXPECT_EQ(Refusal(Config(1, 3, "2+1"), true).code, Code::kCorruption);
  for (int i = 1; i <= 3; ++i) fs::remove(Directory(i) / ".xec/server");
  EXPECT_EQ(Refusal(Config(1, 3, "2+1"), true).code, Code::kConflict);
}

TEST_F(OpenStoreTest, ACreationThatWasCutShortIsDoneAgain) {
  // All identities and one descriptor: the store exists, and the others get their copy.
  MakeStore();
  fs::remove(Directory(2) / ".xec/store");
  std::ofstream(Directory(3) / ".xec/store", std::ios::trunc) << "xec-store 1\n";
  ASSERT_TRUE(Open(Config(1, 3)));
  std::ifstream first(Directory(1) / ".xec/store"), second(Directory(2) / ".xec/store"),
      third(Directory(3) / ".xec/store");
  const std::string text{std::istreambuf_iterator<char>(first), {}};
  EXPECT_EQ(text, std::string(std::istreambuf_iterator<char>(second), {}));
  EXPECT_EQ(text, std::string(std::istreambuf_iterator<char>(third), {}));
  // Two identities, one of them half written, and no descriptor: nothing can have been stored.
  for (int i = 1; i <= 3; ++i) fs::remove(Directory(i) / ".xec/store");
  std::ofstream(Directory(2) / ".xec/server", std::ios::trunc) << "xec-ser";
  fs::remove_all(Directory(3));
  auto store = Open(Config(1, 3, "2+1"), true);
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_TRUE(Put(**store, "/a", "hello"));
}

TEST_F(OpenStoreTest, OfManyWhoMakeTheStoreAtOnceAllOpenTheSame) {
  std::vector<std::future<std::string>> creators;
  for (int i = 0; i < 4; ++i) {
    creators.push_back(std::async(std::launch::async, [&] {
      auto store = Open(Config(1, 3, "2+1"), true);
      return store ? EngineOf(**store)->descriptor().store_id : store.error().message;
    }));
  }
  const std::string id = creators[0].get();
  EXPECT_EQ(id.size(), 32u) << id;
  for (int i = 1; i < 4; ++i) EXPECT_EQ(creators[static_cast<size_t>(i)].get(), id);
}

TEST_F(OpenStoreTest, WhatTheConfigurationMayAndMayNotChange) {
  MakeStore(6, "2+1");
  {
    auto store = Open(Config(1, 6, "4+1"));
    ASSERT_TRUE(store) << store.error().message;
    EXPECT_EQ(EngineOf(**store)->descriptor().geometry.ToString(), "4+1");
    EXPECT_THAT((*store)->notes(), testing::Contains(HasSubstr("new objects get geometry 4+1")));
  }
  {
    auto store = Open(Config(1, 6));
    ASSERT_TRUE(store);
    EXPECT_EQ(EngineOf(**store)->descriptor().geometry.ToString(), "2+1");
  }
  {
    // A list that is shorter than the store was refused.
    auto store = Open(Config(1, 4, "4+1"));
    ASSERT_TRUE(store) << store.error().message;
    EXPECT_EQ(EngineOf(**store)->descriptor().members.size(), 6u);
  }
  EXPECT_THAT(Refusal(Config(1, 4, "6+1")).message, HasSubstr("needs 7 data servers, the store has 6"));
  EXPECT_THAT(Refusal(Config(1, 6, "4+2")).message, HasSubstr("made to survive the loss of 1 servers only"));
  Configuration layout = Config(1, 6);
  ASSERT_TRUE(SetOption(layout, "layout", "xrdec", "test"));
  EXPECT_THAT(Refusal(layout).message, HasSubstr("layout native, which cannot be changed to xrdec"));
  Configuration small = Config(1, 6);
  ASSERT_TRUE(SetOption(small, "memory", "1MiB", "test"));
  EXPECT_THAT(Refusal(small).message, HasSubstr("more than the budget of 1.0 MiB"));
  EXPECT_THAT(Refusal(Config(7, 8), true).message,
              HasSubstr("geometry 8+2 needs 10 data servers, only 2 are listed"));
}

TEST_F(OpenStoreTest, AProcessGoesByTheListThatFollowsOnceAMajorityShowsIt) {
  MakeStore();
  Configuration c = Config(1, 3);
  c.engine.descriptor_interval = std::chrono::milliseconds(400);
  auto store = Open(c);
  ASSERT_TRUE(store) << store.error().message;
  const auto next = [](StoreDescriptor& d) {
    ++d.epoch;
    d.unswept = true;
  };
  Rewrite(3, 3, next);
  // One says nothing yet: a new process goes by the one before as well.
  auto other = Open(Config(1, 3));
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_EQ(EngineOf(**other)->descriptor().epoch, 1u);
  Engine* const before = EngineOf(**store);
  EXPECT_TRUE(Put(**store, "/a", "hello"));
  Rewrite(2, 2, next);
  EXPECT_TRUE(Eventually(**store, [&] { return EngineOf(**store)->descriptor().epoch == 2; }));
  EXPECT_TRUE(Put(**store, "/b", "hello"));
  // What has begun by the list before ends with its lease.
  EXPECT_TRUE(Eventually(**store, [&] { return !before->MembersInForce(); }));
  EXPECT_TRUE(SaysNotFound(**store));
  other = Open(Config(1, 3));
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_EQ(EngineOf(**other)->descriptor().epoch, 2u);
}

TEST_F(OpenStoreTest, AProcessStopsWhenNobodyShowsTheDescriptorAndGoesOnWhenSomebodyDoes) {
  MakeStore();
  Configuration c = Config(1, 3);
  c.engine.descriptor_interval = std::chrono::milliseconds(100);
  auto store = Open(c);
  ASSERT_TRUE(store) << store.error().message;
  for (const int i : {1, 2}) fs::rename(Directory(i) / ".xec/store", Directory(i) / ".xec/away");
  EXPECT_TRUE(EventuallySays(**store, "fewer than 2 of the 3 data servers have shown the store descriptor"));
  fs::rename(Directory(1) / ".xec/away", Directory(1) / ".xec/store");
  EXPECT_TRUE(Eventually(**store, [&] { return SaysNotFound(**store); }));
}

TEST_F(OpenStoreTest, ADirectoryThatComesBackWithANewerDescriptorStaysAway) {
  MakeStore();
  fs::rename(Directory(3), root_ / "away");
  std::atomic<bool> told = false;
  auto store = Open(Config(1, 3));
  ASSERT_TRUE(store) << store.error().message;
  {
    std::ifstream old(root_ / "away/.xec/store");
    auto descriptor = ParseDescriptor(std::string(std::istreambuf_iterator<char>(old), {}));
    ASSERT_TRUE(descriptor);
    descriptor->epoch = 5;
    std::ofstream(root_ / "away/.xec/store", std::ios::trunc) << FormatDescriptor(*descriptor);
  }
  SetLogSink([&](LogLevel, std::string_view line) {
    const std::string_view wanted = "stays away: it shows another store descriptor (epoch 5, not 1)";
    if (line.find(wanted) != std::string_view::npos) told = true;
  });
  fs::rename(root_ / "away", Directory(3));
  EXPECT_TRUE(Eventually(**store, [&] { return told.load(); }));
  SetLogSink(nullptr);
  const CallContext call{&(*store)->executor(), (*store)->executor().Now() + std::chrono::seconds(10)};
  EXPECT_EQ(SyncWait(List(call, EngineOf(**store)->server(2), "/")).code(), Code::kUnavailable);
}

// What `xec repair` takes for lost for good.
TEST_F(OpenStoreTest, AMemberIsGoneWhenNothingIsLeftInItsPlace) {
  MakeStore(4);
  const auto gone = [&](int last) {
    const auto store = Open(Config(1, last));
    EXPECT_TRUE(store) << store.error().message;
    return *SyncWait((*(*store)->maintenance())->FindGone());
  };
  EXPECT_EQ(gone(4), std::vector<MemberIndex>{});
  EXPECT_EQ(gone(3), std::vector<MemberIndex>{}) << "not listed is not gone";
  fs::remove_all(Directory(2));
  EXPECT_EQ(gone(4), std::vector<MemberIndex>{1});
  EXPECT_EQ(gone(3), std::vector<MemberIndex>{}) << "the missing directory may be that of either";
  fs::create_directory(Directory(2));
  EXPECT_EQ(gone(4), std::vector<MemberIndex>{1});
  fs::create_directory(Directory(2) / "lost+found");
  EXPECT_EQ(gone(4), std::vector<MemberIndex>{1});
}

// Everybody who opened the store waited for the one disk that hung.
TEST_F(OpenStoreTest, GoesOnWithoutADirectoryThatHangsAndUsesItWhenItAnswers) {
  MakeStore(4);
  std::optional<HangingMount> hanging(Directory(2));
  if (!hanging->mounted()) GTEST_SKIP() << "needs to mount a FUSE";
  auto store = Open(Config(1, 4));
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_THAT((*store)->notes(), testing::Contains(HasSubstr("without s02")));
  EXPECT_TRUE(Put(**store, "/a", "hello"));
  EXPECT_EQ(Get(**store, "/a"), "hello");
  EXPECT_EQ(*SyncWait((*(*store)->maintenance())->FindGone()), std::vector<MemberIndex>{})
      << "silent is not gone";
  hanging.reset();
  EXPECT_TRUE(Eventually(**store, [&] {
    const CallContext call{&(*store)->executor(), (*store)->executor().Now() + std::chrono::seconds(10)};
    return bool{SyncWait(List(call, EngineOf(**store)->server(1), "/"))};
  }));
}

TEST_F(OpenStoreTest, MakesNoStoreWhileADirectoryHangs) {
  fs::create_directory(Directory(2));
  const HangingMount hanging(Directory(2));
  if (!hanging.mounted()) GTEST_SKIP() << "needs to mount a FUSE";
  OpenOptions options;
  options.create_if_new = true;
  options.wait = Duration(0);
  const auto store = OpenStore(Config(1, 3, "2+1"), options);
  EXPECT_EQ(store.code(), Code::kNoQuorum);
  EXPECT_FALSE(fs::exists(Directory(1)));
}

// Each attempt left an engine behind, with its servers and their threads, and said again what it found.
TEST_F(OpenStoreTest, AttemptsThatFailLeaveNothingBehind) {
  MakeStore(4);
  fs::rename(Directory(4), root_ / "away");
  // Nobody tells the clock of a disk.
  for (int i = 1; i <= 3; ++i) {
    const fs::path clock = Directory(i).string() + std::string(kDiskClockFolder);
    fs::remove_all(clock);
    std::ofstream(clock) << "x";
  }
  std::atomic<int> said = 0;
  SetLogSink([&](LogLevel, std::string_view line) {
    if (line.find("goes on without") != std::string_view::npos) ++said;
  });
  auto opening = std::async(std::launch::async, [&] {
    OpenOptions options;
    options.wait = std::chrono::seconds(4);
    return OpenStore(Config(1, 4), options).code();
  });
  const auto threads = [] {
    return std::distance(fs::directory_iterator("/proc/self/task"), fs::directory_iterator());
  };
  std::ptrdiff_t most = 0;
  while (opening.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready) {
    most = std::max(most, threads());
  }
  SetLogSink(nullptr);
  EXPECT_EQ(opening.get(), Code::kNoQuorum);
  EXPECT_EQ(said, 0);
  // Some for the engine, two for each directory that is looked at, and two for each of one attempt.
  EXPECT_LT(most - threads(), 30);
}

}  // namespace
}  // namespace xec

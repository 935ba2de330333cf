// SPDX-License-Identifier: LGPL-3.0-or-later
// What front ends get besides what the layouts do: pages, conditions, copies, limits.
#include "store/engine_store.hh"

#include <gmock/gmock.h>

#include "api/remove_many.hh"
#include "object/test/test_store.hh"
#include "runtime/sync_wait.hh"
#include "store/make_layout_store.hh"

namespace xec {
namespace {

using testing::ElementsAre;

class EngineStoreTest : public testing::Test {
 protected:
  EngineStoreTest()
      : test_({.geometry = {4, 2, 8 * kKiB}, .servers = 8}),
        layout_(MakeLayoutStore(test_.engine())),
        engine_store_(test_.engine(), *layout_) {}

  Result<Committed> Put(const std::string& path, std::string_view bytes, OnlyIf only_if = {}) {
    CreateOptions options;
    options.write.only_if = only_if;
    XEC_ASSIGN_OR_RETURN(auto handle, SyncWait(store_.Create(path, options)));
    XEC_TRY(SyncWait(handle->Append(AsBytes(bytes))));
    return SyncWait(handle->Commit());
  }

  std::string Get(const std::string& path) {
    const auto handle = SyncWait(store_.Open(path));
    if (!handle) return handle.error().message;
    std::string bytes((*handle)->size(), '\0');
    const auto got = SyncWait((*handle)->Read(0, std::as_writable_bytes(std::span(bytes))));
    return got ? bytes : got.error().message;
  }

  std::vector<std::string> Page(ListOptions options, bool* more = nullptr) {
    const auto page = SyncWait(store_.List("/d", std::move(options)));
    if (!page) return {page.error().message};
    if (more != nullptr) *more = page->more;
    std::vector<std::string> names;
    for (const ListedName& name : page->names) names.push_back(name.name);
    return names;
  }

  // Until the end of the test.
  void HangAll() {
    for (size_t i = 0; i < test_.server_count(); ++i) test_.faults(i).Add({.kind = FaultKind::kHang});
  }

  Version VersionOf(const std::string& path) { return SyncWait(store_.Stat(path))->version; }

  TestStore test_;
  std::unique_ptr<LayoutStore> layout_;
  EngineStore engine_store_;
  Store& store_ = engine_store_;
};

TEST_F(EngineStoreTest, WhatWasSeenIsRemovedAndNothingNewer) {
  ASSERT_TRUE(Put("/a", "1"));
  OnlyIf only_if;
  only_if.seen = ObjectGone{VersionOf("/a"), 1};
  ASSERT_TRUE(Put("/a", "2"));
  EXPECT_TRUE(SyncWait(store_.Remove("/a", only_if)));
  EXPECT_EQ(Get("/a"), "2");
  only_if.seen = ObjectGone{VersionOf("/a"), 1};
  EXPECT_TRUE(SyncWait(store_.Remove("/a", only_if)));
  EXPECT_EQ(SyncWait(store_.Stat("/a")).code(), Code::kNotFound);
}

TEST_F(EngineStoreTest, ManyAreRemovedAndDirectoriesAreNamed) {
  std::vector<std::string> paths;
  for (int i = 0; i < 100; ++i) {
    paths.push_back(fmt::format("/d/{}", i));
    ASSERT_TRUE(Put(paths.back(), "1"));
  }
  paths.insert(paths.begin() + 50, "/d");
  EXPECT_THAT(*RemoveObjects(store_, paths), ElementsAre("/d"));
  EXPECT_THAT(Page({}), ElementsAre());
  EXPECT_EQ(RemoveObjects(store_, paths).code(), Code::kNotFound);
}

TEST_F(EngineStoreTest, ATreeIsRemovedFromItsLeavesOn) {
  for (const std::string name : {"/d/a/b/c/1", "/d/a/b/2", "/d/a/b/3", "/d/e/4", "/d/5", "/f/6"})
    ASSERT_TRUE(Put(name, "1"));
  ASSERT_TRUE(SyncWait(store_.MakeDirectory("/d/e/empty", false)));
  EXPECT_TRUE(RemoveTree(store_, "/d"));
  EXPECT_EQ(SyncWait(store_.Stat("/d")).code(), Code::kNotFound);
  EXPECT_EQ(RemoveTree(store_, "/d").code(), Code::kNotFound);
  EXPECT_EQ(Get("/f/6"), "1");
  EXPECT_TRUE(RemoveTree(store_, "/"));
  EXPECT_TRUE(SyncWait(ListAll(store_, "/"))->empty());
}

TEST_F(EngineStoreTest, PagesAreInTheOrderOfBytes) {
  for (const std::string name : {"b", "a", "a~", "B", "\xc3\xa9", "a b"})
    ASSERT_TRUE(Put("/d/" + name, name));
  ASSERT_TRUE(SyncWait(store_.MakeDirectory("/d/c", false)));
  bool more = false;
  EXPECT_THAT(Page({.limit = 3}, &more), ElementsAre("B", "a", "a b"));
  EXPECT_TRUE(more);
  EXPECT_THAT(Page({.after = "a b", .limit = 3}, &more), ElementsAre("a~", "b", "c"));
  EXPECT_TRUE(more);
  EXPECT_THAT(Page({.after = "c", .limit = 3}, &more), ElementsAre("\xc3\xa9"));
  EXPECT_FALSE(more);
  EXPECT_THAT(Page({.prefix = "a", .limit = 10}, &more), ElementsAre("a", "a b", "a~"));
  EXPECT_FALSE(more);
  EXPECT_THAT(Page({.after = "a b", .prefix = "a", .limit = 10}), ElementsAre("a~"));
  EXPECT_THAT(Page({.prefix = "no", .limit = 10}, &more), ElementsAre());
  EXPECT_FALSE(more);
  EXPECT_EQ(SyncWait(store_.List("/d", {.limit = 0})).code(), Code::kInvalidArgument);
  EXPECT_EQ(SyncWait(store_.List("/d/a", {})).code(), Code::kNotDirectory);
  EXPECT_EQ(SyncWait(store_.List("/no", {})).code(), Code::kNotFound);
  EXPECT_EQ(SyncWait(ListAll(store_, "/d"))->size(), 7u);
}

TEST_F(EngineStoreTest, PagesAreGivenOneAfterAnotherWhileTheyAreWanted) {
  for (const std::string name : {"a", "b", "c", "d", "e"}) ASSERT_TRUE(Put("/d/" + name, name));
  std::string seen;
  const auto take = [&seen](size_t bytes_wanted) {
    return [&seen, bytes_wanted](NamesPage page) {
      for (const ListedName& name : page.names) seen += name.name;
      return seen.size() < bytes_wanted;
    };
  };
  EXPECT_TRUE(SyncWait(ForEachPage(store_, "/d", {.limit = 2}, take(9))));
  EXPECT_EQ(seen, "abcde");
  seen.clear();
  EXPECT_TRUE(SyncWait(ForEachPage(store_, "/d", {.after = "a", .limit = 2}, take(2))));
  EXPECT_EQ(seen, "bc") << "no more than is wanted";
  EXPECT_EQ(SyncWait(ForEachPage(store_, "/no", {}, take(9))).code(), Code::kNotFound);
}

TEST_F(EngineStoreTest, APageHasNoNamesThatWereRemoved) {
  for (char name = 'a'; name < 'k'; ++name) ASSERT_TRUE(Put(std::string("/d/") + name, "x"));
  for (char name = 'a'; name < 'k'; name += 2)
    ASSERT_TRUE(SyncWait(store_.Remove(std::string("/d/") + name)));
  bool more = false;
  EXPECT_THAT(Page({.limit = 2}, &more), ElementsAre("b", "d"));
  EXPECT_TRUE(more);
  EXPECT_THAT(Page({.after = "d", .limit = 9}, &more), ElementsAre("f", "h", "j"));
  EXPECT_FALSE(more);
}

TEST_F(EngineStoreTest, ConditionsHoldOrNothingIsChanged) {
  ASSERT_TRUE(Put("/a", "1", OnlyIf::Absent()));
  EXPECT_EQ(Put("/a", "2", OnlyIf::Absent()).code(), Code::kAlreadyExists);
  const Version first = VersionOf("/a");
  ASSERT_TRUE(Put("/a", "2", OnlyIf::Current(first)));
  EXPECT_EQ(Put("/a", "3", OnlyIf::Current(first)).code(), Code::kNotCurrent);
  EXPECT_EQ(Put("/b", "3", OnlyIf::Current(first)).code(), Code::kNotCurrent);
  EXPECT_EQ(Get("/a"), "2");
  const OnlyIf stale = OnlyIf::Current(first);
  EXPECT_EQ(SyncWait(store_.Open("/a", stale)).code(), Code::kNotCurrent);
  EXPECT_EQ(SyncWait(store_.Remove("/a", stale)).code(), Code::kNotCurrent);
  EXPECT_EQ(SyncWait(store_.SetAttribute("/a", "k", "v", stale)).code(), Code::kNotCurrent);
  EXPECT_EQ(SyncWait(store_.Rename("/a", "/b", {.source = stale, .target = {}})).code(), Code::kNotCurrent);
  ASSERT_TRUE(Put("/b", "b"));
  EXPECT_EQ(SyncWait(store_.Rename("/a", "/b", {.source = {}, .target = OnlyIf::Absent()})).code(),
            Code::kAlreadyExists);
  EXPECT_EQ(SyncWait(store_.Rename("/a", "/b", {.source = {}, .target = stale})).code(), Code::kNotCurrent);
  EXPECT_EQ(Get("/a"), "2");
  EXPECT_EQ(Get("/b"), "b");
  const OnlyIf current = OnlyIf::Current(VersionOf("/a"));
  ASSERT_TRUE(SyncWait(store_.SetAttribute("/a", "k", "v", current)));
  ASSERT_TRUE(
      SyncWait(store_.Rename("/a", "/b", {.source = current, .target = OnlyIf::Current(VersionOf("/b"))})));
  EXPECT_EQ(Get("/b"), "2");
  EXPECT_EQ(SyncWait(store_.Describe("/b"))->attributes.at("k"), "v");
  ASSERT_TRUE(SyncWait(store_.Remove("/b", OnlyIf::Current(VersionOf("/b")))));
}

TEST_F(EngineStoreTest, OfTwoThatReplaceOneVersionOneWins) {
  ASSERT_TRUE(Put("/a", "1"));
  CreateOptions options;
  options.write.only_if = OnlyIf::Current(VersionOf("/a"));
  auto one = SyncWait(store_.Create("/a", options));
  auto other = SyncWait(store_.Create("/a", options));
  ASSERT_TRUE(one && other);
  for (auto* handle : {&*one, &*other})
    ASSERT_TRUE(SyncWait((*handle)->Append(AsBytes(std::string_view(handle == &*one ? "one" : "other")))));
  ASSERT_TRUE(SyncWait((*one)->Commit()));
  EXPECT_EQ(SyncWait((*other)->Commit()).code(), Code::kNotCurrent);
  EXPECT_EQ(Get("/a"), "one");
}

TEST_F(EngineStoreTest, ACopyHasBytesAttributesAndMode) {
  const std::string bytes = TestBytes(2 * kMiB + 1);
  ASSERT_TRUE(Put("/a", bytes));
  ASSERT_TRUE(SyncWait(store_.SetAttribute("/a", "k", "v")));
  ASSERT_TRUE(SyncWait(store_.SetSettings("/a", {.mode = 0640})));
  CopyOptions options;
  uint64_t told = 0;
  options.progress = [&](uint64_t copied) { return told = copied, true; };
  const auto copied = SyncWait(store_.Copy("/a", "/d/b", options));
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_EQ(told, bytes.size());
  EXPECT_EQ(Get("/d/b"), bytes);
  const auto described = SyncWait(store_.Describe("/d/b"));
  EXPECT_EQ(described->attributes.at("k"), "v");
  EXPECT_EQ(described->info.settings.mode, 0640);
  EXPECT_EQ(described->checksums.at("adler32"), SyncWait(store_.Describe("/a"))->checksums.at("adler32"));
  options.progress = [](uint64_t) { return false; };
  EXPECT_EQ(SyncWait(store_.Copy("/a", "/c", options)).code(), Code::kCancelled);
  EXPECT_EQ(SyncWait(store_.Stat("/c")).code(), Code::kNotFound);
  EXPECT_EQ(SyncWait(store_.Copy("/d", "/c", {})).code(), Code::kIsDirectory);
  options = {};
  options.source = OnlyIf::Current(copied->version);
  EXPECT_EQ(SyncWait(store_.Copy("/a", "/c", options)).code(), Code::kNotCurrent);
}

TEST_F(EngineStoreTest, ATimeThatWasSetIsToldUntilTheBytesChange) {
  ASSERT_TRUE(Put("/d/a", "1"));
  ASSERT_TRUE(Put("/d/b", "1"));
  const auto listed = [&](size_t i) { return SyncWait(ListAll(store_, "/d"))->at(i); };
  EXPECT_TRUE(listed(0).settings_known);
  const int64_t made = SyncWait(store_.Stat("/d/a"))->mtime_ms;
  ASSERT_TRUE(SyncWait(store_.SetSettings("/d/a", {.mtime_ns = -1'499'999'999})));
  EXPECT_TRUE(listed(1).settings_known);
  EXPECT_EQ(SyncWait(store_.Stat("/d/a"))->mtime_ms, -1500);
  EXPECT_EQ((*SyncWait(store_.Open("/d/a", CallOptions())))->settings(), Settings{.mtime_ns = -1'499'999'999});
  EXPECT_EQ((*SyncWait(store_.Open("/d/b", CallOptions())))->settings(), Settings());
  const auto described = SyncWait(store_.Describe("/d/a"));
  EXPECT_EQ(described->info.mtime_ms, -1500);
  EXPECT_TRUE(described->attributes.empty());
  ASSERT_TRUE(SyncWait(store_.Rename("/d/a", "/d/c")));
  EXPECT_EQ(SyncWait(store_.Stat("/d/c"))->mtime_ms, -1500);
  ASSERT_TRUE(SyncWait(store_.Copy("/d/c", "/d/e", {})));
  EXPECT_GE(SyncWait(store_.Stat("/d/e"))->mtime_ms, made);
  ASSERT_TRUE(Put("/d/c", "2"));
  EXPECT_GE(SyncWait(store_.Stat("/d/c"))->mtime_ms, made);
}

TEST_F(EngineStoreTest, SettingsThatAVersionWasGivenAreToldByAListing) {
  const Settings given = {.mtime_ns = 1'700'000'000'123'456'789, .mode = 0600, .link = true};
  CreateOptions options;
  options.write.settings = given;
  const auto writer = SyncWait(store_.Create("/d/a", options));
  ASSERT_TRUE(writer);
  ASSERT_TRUE(SyncWait((*writer)->Commit()));
  ASSERT_TRUE(Put("/d/b", "1"));
  const auto names = SyncWait(ListAll(store_, "/d"));
  ASSERT_EQ(names->size(), 2u);
  EXPECT_EQ(names->at(0).settings, given);
  EXPECT_EQ(names->at(0).mtime_ms, 1'700'000'000'123);
  EXPECT_TRUE(names->at(0).settings_known);
  EXPECT_EQ(names->at(1).settings, Settings());
  EXPECT_EQ(SyncWait(store_.Stat("/d/a"))->settings, given);
  ASSERT_TRUE(SyncWait(store_.Rename("/d/a", "/d/c")));
  EXPECT_EQ(SyncWait(store_.Describe("/d/c"))->info.settings, given);
  EXPECT_EQ(SyncWait(store_.Describe("/d/c"))->info.mtime_ms, 1'700'000'000'123);
  ASSERT_TRUE(SyncWait(store_.SetSettings("/d/c", {.mode = 0640})));
  EXPECT_EQ(SyncWait(store_.Stat("/d/c"))->settings, given.With({.mode = 0640}));
  ASSERT_TRUE(SyncWait(store_.Copy("/d/c", "/d/e", {})));
  EXPECT_EQ(SyncWait(store_.Stat("/d/e"))->settings, (Settings{.mode = 0640, .link = true}));
  ASSERT_TRUE(Put("/d/c", "2"));
  EXPECT_EQ(SyncWait(store_.Stat("/d/c"))->settings, Settings());
}

TEST_F(EngineStoreTest, UsersHaveNoAttributesOfTheStore) {
  ASSERT_TRUE(Put("/a", "x"));
  for (const char* own : {"xec.checksum.md5", "xec.mode", "xec.mtime"}) {
    for (const auto& value : {std::optional<std::string>("11"), std::optional<std::string>()})
      EXPECT_EQ(SyncWait(store_.SetAttribute("/a", own, value)).code(), Code::kInvalidArgument);
  }
}

TEST_F(EngineStoreTest, ACallIsAnsweredAtItsDeadlineAndWhenItIsStopped) {
  ASSERT_TRUE(Put("/a", TestBytes(100 * kKiB)));
  const auto handle = SyncWait(store_.Open("/a"));
  ASSERT_TRUE(handle);
  HangAll();
  CallOptions late;
  late.deadline = test_.engine().executor().Now();
  EXPECT_EQ(SyncWait(store_.Stat("/a", late)).code(), Code::kDeadlineExceeded);
  std::string bytes(100 * kKiB, '\0');
  EXPECT_EQ(SyncWait((*handle)->Read(0, std::as_writable_bytes(std::span(bytes)), late)).code(),
            Code::kDeadlineExceeded);
  std::stop_source source;
  source.request_stop();
  CallOptions stopped;
  stopped.stop = source.get_token();
  EXPECT_EQ(SyncWait(store_.Remove("/a", {}, stopped)).code(), Code::kCancelled);
}

TEST_F(EngineStoreTest, AnUploadOfWhichACallIsNotWaitedForIsGivenUp) {
  auto handle = SyncWait(store_.Create("/a", {}));
  ASSERT_TRUE(handle);
  HangAll();
  CallOptions late;
  late.deadline = test_.engine().executor().Now();
  EXPECT_EQ(SyncWait((*handle)->Commit(late)).code(), Code::kDeadlineExceeded);
  EXPECT_EQ(SyncWait((*handle)->Append(AsBytes(std::string_view("x")))).code(), Code::kCancelled);
}

}  // namespace
}  // namespace xec

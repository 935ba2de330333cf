// SPDX-License-Identifier: LGPL-3.0-or-later
// An inventory is written by walks and asked by readers, and is made anew where it cannot be used.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>

#include <gmock/gmock.h>

#include "inventory/inventory_reader.hh"
#include "inventory/inventory_writer.hh"

namespace xec {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class InventoryTest : public testing::Test {
 protected:
  InventoryTest() {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    directory_ = fs::path(testing::TempDir()) / (std::string("inventory_") + info->name());
    fs::remove_all(directory_);
    fs::create_directories(directory_);
    store_.store_id = std::string(32, 'a');
    for (int i = 0; i < 12; ++i)
      store_.members.push_back(
          {.id = fmt::format("s{:02}", i + 1), .address = fmt::format("root://h{}:1095", i), .host = ""});
  }
  ~InventoryTest() override { fs::remove_all(directory_); }

  std::string File() const { return (directory_ / "inventory.sqlite").string(); }

  InventoryWriter Open(InventoryWriter::Options options = {}) {
    Result<InventoryWriter> writer = InventoryWriter::Open(File(), store_, options);
    EXPECT_TRUE(writer) << writer.error().ToString();
    return std::move(*writer);
  }

  // 8+2 on servers first, first + 1, ...
  static ObjectPlaces Object(const std::string& path, int first = 0, uint64_t clock = 7) {
    ObjectPlaces object;
    object.path = path;
    object.version = Version{clock << kLogicalBits, 5, 0};
    object.object_id = std::string(kObjectIdBytes, '1');
    object.geometry = Geometry{8, 2, 4096};
    object.bytes = 8 * 4096;
    for (uint32_t lane = 0; lane < 10; ++lane)
      object.runs.push_back(
          {lane, 0, 1, 4096, static_cast<MemberIndex>((static_cast<uint32_t>(first) + lane) % 12), true});
    return object;
  }

  void Walk(InventoryWriter& writer, const std::vector<ObjectPlaces>& objects,
            const std::vector<std::string>& uncounted = {}, uint64_t unlisted = 0, bool go_on = false) {
    Result<InventoryWalk> walk = writer.BeginWalk(go_on, 1000);
    ASSERT_TRUE(walk) << walk.error().ToString();
    walk->done += objects.size();
    walk->uncounted += uncounted.size();
    walk->unlisted += unlisted;
    ASSERT_TRUE(writer.Write(*walk, objects, uncounted, 1500));
    ASSERT_TRUE(writer.EndWalk(*walk, 2000));
  }

  std::vector<ObjectPlaces> On(MemberIndex server) {
    std::vector<ObjectPlaces> found;
    Result<InventoryReader> reader = InventoryReader::Open(File());
    EXPECT_TRUE(reader) << reader.error().ToString();
    EXPECT_TRUE(reader->ForEachOn({server}, [&](const ObjectPlaces& object) {
      found.push_back(object);
      return true;
    }));
    return found;
  }

  std::vector<std::string> Names(MemberIndex server) {
    std::vector<std::string> names;
    for (const ObjectPlaces& object : On(server)) names.push_back(object.path);
    return names;
  }

  fs::path directory_;
  StoreDescriptor store_;
};

TEST_F(InventoryTest, WhatAWalkSawIsFoundByItsServers) {
  InventoryWriter writer = Open();
  ObjectPlaces changed = Object("/b", 3);
  changed.runs[4].held = false;
  changed.runs[5].server = LaneRun::kNoServer;
  changed.runs[5].held = false;
  Walk(writer, {Object("/c"), Object("/a"), changed});
  EXPECT_THAT(On(0), ElementsAre(Object("/a"), changed, Object("/c")));
  EXPECT_THAT(Names(2), ElementsAre("/a", "/c"));
  size_t of_both = 0;
  ASSERT_TRUE(
      InventoryReader::Open(File())->ForEachOn({2, 3}, [&](const ObjectPlaces&) { return ++of_both > 0; }));
  EXPECT_EQ(of_both, 3u);
  std::vector<std::string> all;
  ASSERT_TRUE(InventoryReader::Open(File())->ForEach([&](const ObjectPlaces& object) {
    all.push_back(object.path);
    return true;
  }));
  EXPECT_THAT(all, ElementsAre("/a", "/b", "/c"));
  const Result<InventoryReader> reader = InventoryReader::Open(File());
  ASSERT_TRUE(reader);
  const InventoryAbout& about = reader->about();
  EXPECT_EQ(about.objects, 3u);
  EXPECT_EQ(about.store_id, store_.store_id);
  ASSERT_EQ(about.servers.size(), 12u);
  EXPECT_EQ(about.servers[3].id, "s04");
  ASSERT_TRUE(about.last);
  EXPECT_EQ(about.last->began_ms, 1000);
  EXPECT_EQ(about.last->ended_ms, 2000);
  EXPECT_FALSE(about.under_way);
}

TEST_F(InventoryTest, WhatIsGoneDisappearsAndWhatChangedIsReplaced) {
  InventoryWriter writer = Open();
  Walk(writer, {Object("/a"), Object("/b"), Object("/gone"), Object("/moved")});
  Walk(writer, {Object("/a"), Object("/b", 0, 8), Object("/moved", 2)});
  EXPECT_THAT(On(0), ElementsAre(Object("/a"), Object("/b", 0, 8)));
  EXPECT_THAT(On(11), ElementsAre(Object("/moved", 2)));
}

TEST_F(InventoryTest, AServerIsKnownByItsIdWhateverItsPlaceInTheList) {
  {
    Walk(*std::make_unique<InventoryWriter>(Open()), {Object("/a")});
  }
  // s01 is removed, and s13 added.
  store_.members.erase(store_.members.begin());
  store_.members.push_back({.id = "s13", .address = "root://h13:1095", .host = ""});
  InventoryWriter writer = Open();
  EXPECT_THAT(Names(0), ElementsAre("/a")) << "as it was seen";
  Walk(writer, {Object("/a")});
  EXPECT_THAT(Names(0), IsEmpty());
  EXPECT_THAT(Names(10), ElementsAre("/a")) << "s11 is the tenth of the list";
}

TEST_F(InventoryTest, WhatAWalkCouldNotLookAtStays) {
  InventoryWriter writer = Open();
  Walk(writer, {Object("/a"), Object("/b"), Object("/c")});
  Walk(writer, {Object("/a")}, {"/b"});
  EXPECT_THAT(Names(0), ElementsAre("/a", "/b"));
  Walk(writer, {Object("/a")}, {}, 1);
  EXPECT_THAT(Names(0), ElementsAre("/a", "/b")) << "it may be in the directory that could not be listed";
  const Result<InventoryReader> reader = InventoryReader::Open(File());
  ASSERT_TRUE(reader && reader->about().last);
  EXPECT_EQ(reader->about().last->unlisted, 1u);
}

TEST_F(InventoryTest, NamesMayHaveAnyBytes) {
  InventoryWriter writer = Open();
  const std::vector<std::string> names = {"/a'; DROP TABLE objects; --", "/b\"quoted\"", "/c %_*",
                                          "/d\xff\xfe", "/e \u00e9\u4e2d\U0001F600"};
  std::vector<ObjectPlaces> objects;
  for (const std::string& name : names) objects.push_back(Object(name));
  Walk(writer, objects);
  Walk(writer, objects);
  EXPECT_EQ(Names(0), names);
  Result<InventoryReader> reader = InventoryReader::Open(File());
  ASSERT_TRUE(reader);
  for (const ObjectPlaces& object : objects) {
    const Result<std::optional<ObjectPlaces>> found = reader->Find(object.path);
    ASSERT_TRUE(found && *found) << object.path;
    EXPECT_EQ(**found, object);
  }
  const Result<std::optional<ObjectPlaces>> none = reader->Find("/c");
  EXPECT_TRUE(none && !*none);
}

TEST_F(InventoryTest, AWalkGoesOnAfterARestart) {
  {
    InventoryWriter writer = Open();
    Walk(writer, {Object("/a"), Object("/b"), Object("/gone")});
    Result<InventoryWalk> walk = writer.BeginWalk(true, 3000);
    ASSERT_TRUE(walk);
    walk->at = "/b";
    walk->done = 1;
    const std::vector<ObjectPlaces> seen = {Object("/a")};
    ASSERT_TRUE(writer.Write(*walk, seen, {}, 3500));
    EXPECT_FALSE(*writer.LastEnded()) << "another one was begun since";
  }
  InventoryWriter writer = Open();
  EXPECT_EQ(writer.moved_away(), "");
  const Result<InventoryWalk> walk = writer.BeginWalk(true, 9000);
  ASSERT_TRUE(walk);
  EXPECT_EQ(walk->at, "/b");
  EXPECT_EQ(walk->done, 1u);
  EXPECT_EQ(walk->began_ms, 3000);
  const Result<InventoryReader> reader = InventoryReader::Open(File());
  ASSERT_TRUE(reader && reader->about().under_way && reader->about().last);
  EXPECT_EQ(reader->about().under_way->at, "/b");
  EXPECT_EQ(reader->about().last->ended_ms, 2000);
  const std::vector<ObjectPlaces> rest = {Object("/b")};
  ASSERT_TRUE(writer.Write(*walk, rest, {}, 9500));
  ASSERT_TRUE(writer.EndWalk(*walk, 9900));
  EXPECT_THAT(Names(0), ElementsAre("/a", "/b"));
  const auto ended = writer.LastEnded();
  ASSERT_TRUE(ended && *ended);
  EXPECT_EQ((*ended)->ended_ms, 9900);
  // One that is not to be gone on with.
  ASSERT_TRUE(writer.BeginWalk(true, 10'000));
  EXPECT_EQ(writer.BeginWalk(false, 10'100)->at, "");
}

TEST_F(InventoryTest, TwoWritersOfOneFileDoNoHarm) {
  InventoryWriter one = Open(), other = Open();
  const Result<InventoryWalk> first = one.BeginWalk(true, 1000);
  const Result<InventoryWalk> second = other.BeginWalk(false, 1100);
  ASSERT_TRUE(first && second);
  const std::vector<ObjectPlaces> objects = {Object("/a"), Object("/b")};
  ASSERT_TRUE(one.Write(*first, objects, {}, 1200));
  ASSERT_TRUE(other.Write(*second, objects, {}, 1300));
  ASSERT_TRUE(one.Write(*first, objects, {}, 1400));
  ASSERT_TRUE(other.EndWalk(*second, 1500));
  EXPECT_THAT(Names(0), ElementsAre("/a", "/b"));
  ASSERT_TRUE(one.EndWalk(*first, 1600));
  EXPECT_THAT(Names(0), ElementsAre("/a", "/b"));
}

TEST_F(InventoryTest, ADamagedFileIsMovedAwayAndMadeAnew) {
  const auto overwrite = [&](std::streamoff from, size_t count) {
    std::fstream file(File(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(from);
    file << std::string(count, '\x5a');
  };
  for (const auto& [from, count] : std::vector<std::pair<std::streamoff, size_t>>{{0, 100}, {4096, 20'000}}) {
    {
      InventoryWriter writer = Open();
      std::vector<ObjectPlaces> objects;
      for (int i = 0; i < 500; ++i) objects.push_back(Object(fmt::format("/o{}", i)));
      Walk(writer, objects);
    }
    overwrite(from, count);
    fs::remove(File() + ".damaged");
    InventoryWriter writer = Open();
    EXPECT_NE(writer.moved_away(), "") << from;
    EXPECT_TRUE(fs::exists(File() + ".damaged"));
    EXPECT_THAT(Names(0), IsEmpty());
    Walk(writer, {Object("/a")});
    EXPECT_THAT(Names(0), ElementsAre("/a"));
  }
}

TEST_F(InventoryTest, OneOfAnotherSchemaOrStoreIsMadeAnew) {
  {
    Walk(*std::make_unique<InventoryWriter>(Open()), {Object("/a")});
  }
  {
    Result<SqlDatabase> database = SqlDatabase::Open(File(), SqlDatabase::Mode::kWrite);
    ASSERT_TRUE(database);
    ASSERT_TRUE(database->Execute("PRAGMA user_version = 0"));
  }
  EXPECT_EQ(InventoryReader::Open(File()).code(), Code::kUnsupported);
  {
    InventoryWriter writer = Open();
    EXPECT_THAT(writer.moved_away(), HasSubstr("schema 0"));
    EXPECT_THAT(Names(0), IsEmpty());
    Walk(writer, {Object("/a")});
  }
  store_.store_id = std::string(32, 'b');
  EXPECT_THAT(Open().moved_away(), HasSubstr("of the store aaaa"));
}

TEST_F(InventoryTest, ADatabaseOfAnotherProgramIsLeftAlone) {
  {
    Result<SqlDatabase> database = SqlDatabase::Open(File(), SqlDatabase::Mode::kWrite);
    ASSERT_TRUE(database && database->Execute("CREATE TABLE theirs (a)"));
  }
  EXPECT_EQ(InventoryWriter::Open(File(), store_, {}).code(), Code::kInvalidArgument);
  EXPECT_EQ(InventoryReader::Open(File()).code(), Code::kCorruption);
  EXPECT_FALSE(fs::exists(File() + ".damaged"));
}

TEST_F(InventoryTest, AFullDiskIsAnErrorAndNoMore) {
  InventoryWriter writer = Open({.bytes_max = 200 * kKiB});
  const Result<InventoryWalk> walk = writer.BeginWalk(true, 1000);
  ASSERT_TRUE(walk);
  Status written;
  for (int i = 0; written && i < 10'000; ++i) {
    const std::vector<ObjectPlaces> some = {Object(fmt::format("/o{:05}", i))};
    written = writer.Write(*walk, some, {}, 1000);
  }
  ASSERT_FALSE(written);
  EXPECT_EQ(written.code(), Code::kNoSpace);
  EXPECT_LE(fs::file_size(File()), 200 * kKiB);
  EXPECT_THAT(Names(0).size(), testing::Gt(100u)) << "what was written before is there";
}

TEST_F(InventoryTest, AReaderSeesOneMomentWhileAWalkWrites) {
  InventoryWriter writer = Open();
  Walk(writer, {Object("/a"), Object("/b")});
  Result<InventoryReader> reader = InventoryReader::Open(File());
  ASSERT_TRUE(reader);
  // Another thread, as the gateway's.
  std::future<void> writing = std::async(std::launch::async, [&] {
    for (int i = 0; i < 20; ++i) Walk(writer, {Object("/b"), Object(fmt::format("/new{}", i))});
  });
  std::vector<std::string> names;
  for (int i = 0; i < 20; ++i) {
    names.clear();
    ASSERT_TRUE(reader->ForEachOn({0}, [&](const ObjectPlaces& object) {
      names.push_back(object.path);
      return true;
    }));
    EXPECT_THAT(names, ElementsAre("/a", "/b"));
  }
  writing.get();
  EXPECT_THAT(Names(0), ElementsAre("/b", "/new19"));
}

// XEC_TEST_LONG=1: how long it takes, for people to read.
TEST_F(InventoryTest, TwoHundredThousandObjects) {
  if (std::getenv("XEC_TEST_LONG") == nullptr) GTEST_SKIP() << "XEC_TEST_LONG=1 measures it";
  using Clock = std::chrono::steady_clock;
  const auto seconds = [](Clock::time_point since) {
    return std::chrono::duration<double>(Clock::now() - since).count();
  };
  InventoryWriter writer = Open();
  for (const char* walk_name : {"first", "second"}) {
    const auto began = Clock::now();
    Result<InventoryWalk> walk = writer.BeginWalk(false, 1000);
    ASSERT_TRUE(walk);
    for (int i = 0; i < 200'000; i += 1000) {
      std::vector<ObjectPlaces> some;
      for (int j = i; j < i + 1000; ++j)
        some.push_back(Object(fmt::format("/data/run{:03}/file{:07}.root", j / 1000, j), j));
      ASSERT_TRUE(writer.Write(*walk, some, {}, 1000));
    }
    ASSERT_TRUE(writer.EndWalk(*walk, 2000));
    fmt::print("{} walk: {:.1f} s to write, {} bytes an object\n", walk_name, seconds(began),
               fs::file_size(File()) / 200'000);
  }
  const auto began = Clock::now();
  EXPECT_EQ(Names(3).size(), 166'666u);
  fmt::print("objects on one server: {:.1f} s\n", seconds(began));
}

TEST_F(InventoryTest, WithoutAFileNothingIsMadeByReading) {
  EXPECT_EQ(InventoryReader::Open(File()).code(), Code::kNotFound);
  EXPECT_FALSE(fs::exists(File()));
  std::ofstream(File()) << "no database";
  EXPECT_EQ(InventoryReader::Open(File()).code(), Code::kCorruption);
  fs::remove(File());
  EXPECT_EQ(InventoryWriter::Open((directory_ / "none" / "x").string(), store_, {}).code(),
            Code::kUnavailable);
}

}  // namespace
}  // namespace xec

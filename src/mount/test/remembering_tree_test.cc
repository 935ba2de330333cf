// SPDX-License-Identifier: LGPL-3.0-or-later
#include "mount/remembering_tree.hh"

#include <functional>

#include <gtest/gtest.h>

#include "mount/directory_times.hh"
#include "mount/test/memory_tree.hh"

namespace xec {
namespace {

class RememberingTreeTest : public testing::Test {
 protected:
  RememberingTreeTest() {
    inner.directories.insert("/d");
    for (const char* path : {"/d/a", "/d/b", "/d/c"}) inner.Put(path, "old");
  }
  std::string Listed(const std::string& directory = "/d") {
    std::string all;
    const Result<TreePage> page = tree->List(directory, "");
    if (!page) return CodeName(page.code());
    for (const NamedEntry& named : page->names) all += fmt::format("{}{} ", named.name, named.entry.size);
    return all;
  }
  int64_t TimeOf(const std::string& path) {
    const Result<TreeEntry> entry = tree->Stat(path);
    return entry ? entry->mtime_ns : -1;
  }

  MemoryTree inner;
  const std::unique_ptr<MountedTree> tree = MakeRememberingTree(inner, std::chrono::hours(1));
};

TEST_F(RememberingTreeTest, AListingIsAskedForOnce) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Listed(), "a3 b3 c3 ");
  EXPECT_EQ(inner.lists, 1);
  inner.Put("/d/0", "");  // on another machine
  EXPECT_EQ(Listed(), "a3 b3 c3 ");
  tree->ForgetNames();
  EXPECT_EQ(Listed(), "00 a3 b3 ");
}

TEST_F(RememberingTreeTest, ChangesOfOursShowAtOnce) {
  const std::vector<std::pair<std::string, std::function<Status()>>> changes = {
      {"00 a3 b3 ",
       [&] { return tree->CreateFile("/d/0", 0644) ? OkStatus() : Status(Fail(Code::kInternal, "")); }},
      {"a3 b3 c3 ", [&] { return tree->Remove("/d/0"); }},
      {"a3 b3 z3 ", [&] { return tree->Rename("/d/c", "/d/z", true); }},
      {"a1 b3 z3 ", [&]() -> Status {
         XEC_ASSIGN_OR_RETURN(const auto edit, tree->OpenEdit("/d/a", {.truncate = true}));
         XEC_TRY(edit->Write(0, AsBytes("x")));
         EXPECT_EQ(Listed(), "a3 b3 z3 ");
         return edit->Commit() ? OkStatus() : Status(Fail(Code::kInternal, ""));
       }}};
  Listed();
  for (const auto& [wanted, change] : changes) {
    EXPECT_TRUE(change());
    EXPECT_EQ(Listed(), wanted);
  }
  for (const auto& change : std::vector<std::function<Status()>>{
           [&] { return tree->SetSettings("/d/a", {.mtime_ns = 1}); },
           [&] { return tree->SetAttribute("/d/a", "k", "v"); }, [&] { return tree->MakeDirectory("/d/e"); },
           [&] { return tree->RemoveDirectory("/d/e"); }}) {
    Listed();
    const int before = inner.lists;
    EXPECT_TRUE(change());
    Listed();
    EXPECT_EQ(inner.lists, before + 1);
  }
}

TEST_F(RememberingTreeTest, ADirectoryHasTheTimeOfItsEntries) {
  EXPECT_EQ(TimeOf("/d"), 0);
  ASSERT_TRUE(tree->CreateFile("/d/0", 0644));
  const int64_t made = TimeOf("/d");
  EXPECT_GT(made, 0);
  EXPECT_EQ(TimeOf("/"), 0);
  // Of another one that has the name later it is not the time, and one that is set counts.
  ASSERT_TRUE(tree->SetSettings("/d", {.mtime_ns = 5}));
  EXPECT_EQ(TimeOf("/d"), 0);
  ASSERT_TRUE(tree->Remove("/d/0"));
  EXPECT_GE(TimeOf("/d"), made);
  ASSERT_TRUE(tree->RemoveDirectory("/d"));
  ASSERT_TRUE(tree->MakeDirectory("/d"));
  EXPECT_EQ(TimeOf("/d"), 0);
  EXPECT_GE(TimeOf("/"), made);
  EXPECT_FALSE(tree->Remove("/d/none"));
  EXPECT_EQ(TimeOf("/d"), 0);
}

TEST(DirectoryTimesTest, TheOldestAreForgotten) {
  DirectoryTimes times(2);
  times.Changed("/a", 10);
  times.Changed("/b", 20);
  times.Changed("/a", 30);
  times.Changed("/c", 40);
  EXPECT_EQ(times.TimeOf("/a", 1), 30);
  EXPECT_EQ(times.TimeOf("/b", 1), 1);
  EXPECT_EQ(times.TimeOf("/c", 50), 50);
}

}  // namespace
}  // namespace xec

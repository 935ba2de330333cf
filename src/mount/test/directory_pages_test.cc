// SPDX-License-Identifier: LGPL-3.0-or-later
#include "mount/directory_pages.hh"

#include <gtest/gtest.h>

#include "mount/test/memory_tree.hh"

namespace xec {
namespace {

class DirectoryPagesTest : public testing::Test {
 protected:
  std::string At(uint64_t place) {
    const Result<const NamedEntry*> found = pages.At(place);
    if (!found) return CodeName(found.code());
    return *found == nullptr ? "" : (*found)->name;
  }

  MemoryTree tree;
  DirectoryPages pages{tree, [] { return Result<std::string>("/"); }};
};

TEST_F(DirectoryPagesTest, EachPageIsReadOnce) {
  for (const char* name : {"/a", "/b", "/c", "/d", "/e"}) tree.Put(name, "");
  std::string all;
  for (uint64_t place = 0; place < 6; ++place) all += At(place);
  EXPECT_EQ(all, "abcde");
  EXPECT_EQ(At(6), "");
  EXPECT_EQ(tree.lists, 2);
}

TEST_F(DirectoryPagesTest, WhatIsRemovedOnTheWayHidesNothing) {
  for (const char* name : {"/a", "/b", "/c", "/d", "/e"}) tree.Put(name, "");
  for (uint64_t place = 0; place < 5; ++place) {
    const std::string name = At(place);
    EXPECT_EQ(name, std::string(1, static_cast<char>('a' + place)));
    EXPECT_TRUE(tree.Remove("/" + name));
  }
}

TEST_F(DirectoryPagesTest, GoingBackBeginsAnew) {
  for (const char* name : {"/a", "/b", "/c", "/d"}) tree.Put(name, "");
  EXPECT_EQ(At(3), "d");
  EXPECT_EQ(At(1), "b");
  tree.Put("/0", "");
  EXPECT_EQ(At(0), "a");
  pages.Rewind();
  EXPECT_EQ(At(0), "0");
}

TEST_F(DirectoryPagesTest, AnEmptyDirectoryHasNothing) {
  EXPECT_EQ(At(0), "");
  EXPECT_EQ(At(5), "");
  EXPECT_EQ(tree.lists, 1);
}

}  // namespace
}  // namespace xec

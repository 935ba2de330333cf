// SPDX-License-Identifier: LGPL-3.0-or-later
#include "mount/node_table.hh"

#include <gtest/gtest.h>

#include "mount/test/memory_tree.hh"

namespace xec {
namespace {

class NodeTableTest : public testing::Test {
 protected:
  NodePtr Node(const NodePtr& directory, const std::string& name, bool is_directory = false) {
    return table.LookedUp(directory, name, is_directory ? NodeKind::kDirectory : NodeKind::kFile);
  }
  std::string PathOf(const NodePtr& node) {
    const Result<std::string> path = table.PathOf(*node);
    return path ? *path : std::string(CodeName(path.code()));
  }

  MemoryTree tree;
  NodeTable table{tree};
  const NodePtr root = table.Find(NodeTable::kRootId);
};

TEST_F(NodeTableTest, WhatBecomesALinkIsAnotherNode) {
  const NodePtr file = Node(root, "a");
  const NodePtr link = table.LookedUp(root, "a", KindOf({.link = true}));
  EXPECT_NE(file->id, link->id);
  EXPECT_EQ(PathOf(link), "/a");
  EXPECT_EQ(PathOf(file), "not_found");
  EXPECT_EQ(table.LookedUp(root, "a", NodeKind::kLink), link);
}

TEST_F(NodeTableTest, ANameHasOneNodeUntilTheKernelForgetsIt) {
  const NodePtr a = Node(root, "a", true), b = Node(a, "b");
  EXPECT_EQ(PathOf(root), "/");
  EXPECT_EQ(PathOf(b), "/a/b");
  EXPECT_EQ(Node(a, "b"), b);
  table.Forget(b->id, 1);
  EXPECT_EQ(table.Known(*a, "b"), b);
  table.Forget(b->id, 1);
  EXPECT_EQ(table.Known(*a, "b"), nullptr);
  EXPECT_EQ(table.Find(b->id), nullptr);
  EXPECT_NE(Node(a, "b")->id, b->id);
  EXPECT_EQ(table.size(), 3u);
  table.Forget(NodeTable::kRootId, 100);
  EXPECT_EQ(table.Find(NodeTable::kRootId), root);
}

TEST_F(NodeTableTest, WhatIsBelowADirectoryFollowsItsName) {
  const NodePtr a = Node(root, "a", true), b = Node(a, "b", true), c = Node(b, "c");
  const uint64_t shown = c->shown_id;
  table.Renamed(*a, "b", root, "x");
  EXPECT_EQ(PathOf(c), "/x/c");
  EXPECT_EQ(c->shown_id, shown);
  EXPECT_EQ(table.Known(*root, "x"), b);
  EXPECT_EQ(table.Known(*a, "b"), nullptr);
}

TEST_F(NodeTableTest, NoTwoThatAreKnownHaveOneShownId) {
  const NodePtr renamed = Node(root, "f");
  const uint64_t first = renamed->shown_id;
  table.Renamed(*root, "f", root, "f~");
  const uint64_t listed = table.ShownIdOf(*root, "f");
  const NodePtr anew = Node(root, "f");
  EXPECT_EQ(renamed->shown_id, first);
  EXPECT_NE(anew->shown_id, first);
  EXPECT_EQ(anew->shown_id, listed);
  table.Removed(*root, "f");
  EXPECT_NE(Node(root, "f")->shown_id, anew->shown_id);
  table.Forget(renamed->id, 1);
  table.Removed(*root, "f");
  EXPECT_EQ(Node(root, "f")->shown_id, first);
}

TEST_F(NodeTableTest, WhatLosesItsNameHasNoPath) {
  const NodePtr a = Node(root, "a"), b = Node(root, "b"), d = Node(root, "d", true), below = Node(d, "e");
  table.Removed(*root, "a");
  EXPECT_EQ(PathOf(a), "not_found");
  table.Renamed(*root, "x", root, "b");
  EXPECT_EQ(PathOf(b), "not_found");
  table.Removed(*root, "d");
  EXPECT_EQ(PathOf(below), "not_found");
  // A file in the place of the directory.
  const NodePtr file = Node(root, "d");
  EXPECT_NE(file, d);
  EXPECT_EQ(PathOf(file), "/d");
  table.Forget(d->id, 1);
  EXPECT_EQ(table.Known(*root, "d"), file);
}

TEST_F(NodeTableTest, FilesInUseAreFoundBelowADirectory) {
  const NodePtr a = Node(root, "a", true), b = Node(a, "b"), c = Node(a, "c"), d = Node(root, "d");
  for (const NodePtr& node : {d, b}) node->file.OpenCreated({.reads = true}, "");
  EXPECT_EQ(table.InUse(*root, "a"), std::vector<NodePtr>{b});
  EXPECT_EQ(table.InUse(*root, "d"), std::vector<NodePtr>{d});
  EXPECT_EQ(table.InUse(*a, "c"), std::vector<NodePtr>{});
  EXPECT_EQ(table.InUse(), (std::vector<NodePtr>{b, d}));
}

}  // namespace
}  // namespace xec

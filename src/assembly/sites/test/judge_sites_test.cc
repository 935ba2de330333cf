// SPDX-License-Identifier: LGPL-3.0-or-later
// What the answers of data servers mean for a store that is to be opened; without a network.
#include <cerrno>

#include <gtest/gtest.h>

#include "assembly/sites/sites.hh"

namespace xec {
namespace {

SiteView Remote(int i, SiteView::State state, const std::string& member = "", uint64_t epoch = 0) {
  SiteView view;
  view.site.address = fmt::format("root://h{}:1094", i);
  view.state = state;
  const std::string store(32, 'a');
  if (!member.empty()) view.identity = Identity{store, member};
  if (epoch > 0) {
    view.descriptor.emplace();
    view.descriptor->store_id = store;
    view.descriptor->epoch = epoch;
    view.descriptor->geometry = Geometry{2, 1, kMiB};
    for (int m = 1; m <= 5; ++m) {
      view.descriptor->members.push_back(
          {fmt::format("s{:02}", m), fmt::format("root://h{}:1094", m), fmt::format("h{}", m)});
    }
  }
  if (state == SiteView::kMissing) view.problem = Fail(Code::kUnavailable, "h{} does not answer", i);
  return view;
}

TEST(JudgeSitesTest, ServersNeedAQuorum) {
  std::vector<SiteView> views = {Remote(1, SiteView::kMember, "s01", 1),
                                 Remote(2, SiteView::kMember, "s02", 2), Remote(3, SiteView::kMissing),
                                 Remote(4, SiteView::kMissing), Remote(5, SiteView::kMissing)};
  auto judged = JudgeSites(views, {});
  ASSERT_FALSE(judged);
  EXPECT_EQ(judged.code(), Code::kNoQuorum);
  EXPECT_EQ(judged.error().message, "only 2 of the 5 data servers of the store answer");
  views[2] = Remote(3, SiteView::kMember, "s03", 1);
  EXPECT_EQ(JudgeSites(views, {}).code(), Code::kNoQuorum) << "neither list has a majority";
  views[0] = Remote(1, SiteView::kMember, "s01", 2);
  views[2] = Remote(3, SiteView::kMember, "s03", 2);
  judged = JudgeSites(views, {});
  ASSERT_TRUE(judged) << judged.error().message;
  EXPECT_EQ(judged->kind, Judgement::kOpen);
  EXPECT_EQ(judged->descriptor.epoch, 2u);
  EXPECT_FALSE(judged->site_of_member[3]);
}

// On a busy machine a program went on with one directory of eight, and could not tell anything.
TEST(JudgeSitesTest, WhoIsLateIsWaitedForWhileMoreAreMissingThanMayBeBad) {
  std::vector<SiteView> views = {
      Remote(1, SiteView::kMember, "s01", 1), Remote(2, SiteView::kMember, "s02", 1),
      Remote(3, SiteView::kMember, "s03", 1), Remote(4, SiteView::kMissing), Remote(5, SiteView::kMissing)};
  for (SiteView& view : views) {
    if (view.descriptor) view.descriptor->tolerance = 1;
  }
  EXPECT_TRUE(JudgeSites(views, {}));
  EXPECT_FALSE(EnoughAnswered(views, {}));
  views[3] = Remote(4, SiteView::kMember, "s04");
  EXPECT_TRUE(EnoughAnswered(views, {}));
  views.front() = Remote(1, SiteView::kMissing);
  EXPECT_FALSE(EnoughAnswered(views, {}));
}

TEST(JudgeSitesTest, WhoLostItsCopyConfirmsNoChangedStore) {
  std::vector<SiteView> views = {Remote(1, SiteView::kMember, "s01", 1), Remote(2, SiteView::kMember, "s02"),
                                 Remote(3, SiteView::kMember, "s03"), Remote(4, SiteView::kMissing),
                                 Remote(5, SiteView::kMissing)};
  EXPECT_TRUE(JudgeSites(views, {})) << "while a store is made there has been no change";
  views[0] = Remote(1, SiteView::kMember, "s01", 2);
  EXPECT_EQ(JudgeSites(views, {}).code(), Code::kNoQuorum);
  views[1] = Remote(2, SiteView::kMember, "s02", 2);
  EXPECT_EQ(JudgeSites(views, {}).code(), Code::kNoQuorum);
  views[2] = Remote(3, SiteView::kMember, "s03", 2);
  EXPECT_TRUE(JudgeSites(views, {}));
}

// The list that follows is gone by once a majority shows it, the one before until then.
TEST(JudgeSitesTest, AStoreWhoseMembersAreBeingChangedIsOpenedByAListOfAMajority) {
  std::vector<SiteView> views;
  for (int i = 1; i <= 5; ++i) views.push_back(Remote(i, SiteView::kMember, fmt::format("s{:02}", i), 2));
  views[4].descriptor->epoch = 3;
  views[3].descriptor->epoch = 3;
  auto judged = JudgeSites(views, {});
  ASSERT_TRUE(judged) << judged.error().message;
  EXPECT_EQ(judged->descriptor.epoch, 2u);
  views[2].descriptor->epoch = 3;
  judged = JudgeSites(views, {});
  ASSERT_TRUE(judged) << judged.error().message;
  EXPECT_EQ(judged->descriptor.epoch, 3u);
}

TEST(JudgeSitesTest, TwoDescriptorsOfOneEpochAreRefused) {
  std::vector<SiteView> views;
  for (int i = 1; i <= 5; ++i) views.push_back(Remote(i, SiteView::kMember, fmt::format("s{:02}", i), 2));
  views[3].descriptor->tolerance = 3;
  const auto judged = JudgeSites(views, {});
  ASSERT_FALSE(judged);
  EXPECT_EQ(judged.code(), Code::kConflict);
  EXPECT_EQ(
      judged.error().message,
      "root://h4:1094 shows another descriptor of store aaaaaaaa, epoch 2, than others do: the wrong one has "
      "to be replaced");
}

TEST(JudgeSitesTest, AServerThatIsNotInTheStoreIsLeftOutAndNamed) {
  std::vector<SiteView> views;
  for (int i = 1; i <= 5; ++i) views.push_back(Remote(i, SiteView::kMember, fmt::format("s{:02}", i), 2));
  views.push_back(Remote(6, SiteView::kMember, "s06", 0));
  auto judged = JudgeSites(views, {});
  ASSERT_TRUE(judged) << judged.error().message;
  ASSERT_EQ(judged->notes.size(), 1u);
  EXPECT_EQ(judged->notes.front(),
            "root://h6:1094 is left out: it was made for s06, and the store has no such member (epoch 2)");
  // One that only an older descriptor named is not worth a word.
  views.back().listed = false;
  EXPECT_TRUE(JudgeSites(views, {})->notes.empty());
}

TEST(JudgeSitesTest, OneThatOnlyAnOldDescriptorNamesMayHaveLeft) {
  std::vector<SiteView> views;
  for (int i = 1; i <= 6; ++i) views.push_back(Remote(i, SiteView::kMember, fmt::format("s{:02}", i), 2));
  views[5].listed = false;
  const auto judged = JudgeSites(views, {});
  ASSERT_TRUE(judged) << judged.error().message;
}

TEST(JudgeSitesTest, ANewStoreNeedsAllServers) {
  std::vector<SiteView> views = {Remote(1, SiteView::kEmpty), Remote(2, SiteView::kMissing),
                                 Remote(3, SiteView::kEmpty)};
  auto judged = JudgeSites(views, {});
  ASSERT_FALSE(judged);
  EXPECT_EQ(judged.code(), Code::kNoQuorum);
  EXPECT_EQ(judged.error().message, "h2 does not answer");
  views[1] = Remote(2, SiteView::kEmpty);
  judged = JudgeSites(views, {});
  ASSERT_TRUE(judged);
  EXPECT_EQ(judged->kind, Judgement::kCreate);
}

// One that hung was taken for one that does not exist yet: a store would have been made over what it holds.
TEST(JudgeSitesTest, ANewStoreIsMadeOnDirectoriesThatAreKnownToBeAbsent) {
  std::vector<SiteView> views = {Remote(1, SiteView::kEmpty), Remote(2, SiteView::kMissing)};
  for (SiteView& view : views) view.directory = true;
  auto judged = JudgeSites(views, {});
  ASSERT_FALSE(judged);
  EXPECT_EQ(judged.code(), Code::kNoQuorum);
  EXPECT_EQ(judged.error().message, "h2 does not answer");
  views[1].absent = true;
  judged = JudgeSites(views, {});
  ASSERT_TRUE(judged) << judged.error().message;
  EXPECT_EQ(judged->kind, Judgement::kCreate);
}

SiteView Closed(int i) {
  SiteView view = Remote(i, SiteView::kClosed);
  view.problem = Fail(Code::kPermissionDenied, "h{} may not be read", i);
  return view;
}

// One that the user may not read kept the store from being opened.
TEST(JudgeSitesTest, GoesOnWithoutThoseThatTheUserMayNotReadUnlessTheyAreTooMany) {
  std::vector<SiteView> views;
  for (int i = 1; i <= 5; ++i) views.push_back(Remote(i, SiteView::kMember, fmt::format("s{:02}", i), 1));
  for (SiteView& view : views) view.descriptor->tolerance = 1;
  views[3] = Closed(4);
  auto judged = JudgeSites(views, {});
  ASSERT_TRUE(judged) << judged.error().message;
  EXPECT_FALSE(judged->site_of_member[3]);
  EXPECT_EQ(judged->unbound, std::vector<size_t>{3});
  ASSERT_EQ(judged->notes.size(), 1u);
  EXPECT_EQ(judged->notes.front(),
            "h4 may not be read. It is left out, and used again once it is a directory that may be read and "
            "written: see what it is, its owner and its mode");
  EXPECT_TRUE(EnoughAnswered(views, {}));
  // A dead one beside it is no reason to refuse.
  views[0] = Remote(1, SiteView::kMissing);
  EXPECT_TRUE(JudgeSites(views, {}));
  views[2] = Closed(3);
  judged = JudgeSites(views, {});
  ASSERT_FALSE(judged);
  EXPECT_EQ(judged.code(), Code::kPermissionDenied);
  EXPECT_EQ(judged.error().message,
            "h3 may not be read; h4 may not be read: the store can do without 1 of its data servers at most, "
            "not 2");
}

TEST(JudgeSitesTest, TooFewServersThatAnswerAreToldWithThoseThatMayNotBeRead) {
  std::vector<SiteView> views = {Remote(1, SiteView::kMember, "s01", 1),
                                 Remote(2, SiteView::kMember, "s02", 1), Remote(3, SiteView::kMissing),
                                 Remote(4, SiteView::kMissing), Closed(5)};
  for (SiteView& view : views) {
    if (view.descriptor) view.descriptor->tolerance = 2;
  }
  const auto judged = JudgeSites(views, {});
  ASSERT_FALSE(judged);
  EXPECT_EQ(judged.code(), Code::kNoQuorum);
  EXPECT_EQ(judged.error().message, "only 2 of the 5 data servers of the store answer; h5 may not be read");
}

TEST(JudgeSitesTest, ANewStoreNeedsPermissionOnAll) {
  const std::vector<SiteView> views = {Remote(1, SiteView::kEmpty), Closed(2), Remote(3, SiteView::kMissing)};
  EXPECT_EQ(JudgeSites(views, {}).code(), Code::kPermissionDenied);
  std::vector<SiteView> directories = {Remote(1, SiteView::kEmpty)};
  directories[0].directory = true;
  directories[0].unwritable = EROFS;
  EXPECT_EQ(JudgeSites(directories, {}).error().message,
            "the directory root://h1:1094 cannot be written: Read-only file system");
}

// It was said that somebody was making a store.
TEST(JudgeSitesTest, ADirectoryUnderTwoNamesIsToldAsThat) {
  std::vector<SiteView> views = {Remote(1, SiteView::kEmpty), Remote(2, SiteView::kEmpty),
                                 Remote(3, SiteView::kEmpty)};
  for (SiteView& view : views) {
    view.directory = true;
    view.site.address.replace(0, std::string("root://").size(), "/");
  }
  for (uint64_t i = 0; i < 2; ++i) views[i].inode.emplace(7, i);
  views[2].inode.emplace(8, 1);  // of another file system
  EXPECT_TRUE(JudgeSites(views, {}));
  views[2].inode = views[1].inode;
  const auto judged = JudgeSites(views, {});
  ASSERT_FALSE(judged);
  EXPECT_EQ(judged.code(), Code::kInvalidArgument);
  EXPECT_EQ(judged.error().message, "/h2:1094 and /h3:1094 are the same directory: list it once");
  // A site that shows two identities is two, whatever the file system says.
  for (int i = 1; i <= 3; ++i) {
    const auto inode = views[i - 1].inode;
    views[i - 1] = Remote(i, SiteView::kMember, fmt::format("s{:02}", i), 1);
    views[i - 1].inode = inode;
  }
  EXPECT_TRUE(JudgeSites(views, {}));
}

// What lay in the inner one was found as objects of the store, and went when they were removed.
TEST(JudgeSitesTest, ADirectoryInsideAnotherIsRefused) {
  std::vector<SiteView> views = {Remote(1, SiteView::kEmpty), Remote(2, SiteView::kMissing),
                                 Remote(3, SiteView::kEmpty)};
  for (SiteView& view : views) view.directory = true;
  views[1].absent = true;
  views[0].place = "/data/a";
  views[1].place = "/data/ab";
  EXPECT_TRUE(JudgeSites(views, {}));
  views[1].place = "/data/a/b";
  const auto judged = JudgeSites(views, {});
  ASSERT_FALSE(judged);
  EXPECT_EQ(judged.code(), Code::kInvalidArgument);
  EXPECT_EQ(judged.error().message,
            "root://h2:1094 lies inside root://h1:1094: give directories that are apart");
}

}  // namespace
}  // namespace xec

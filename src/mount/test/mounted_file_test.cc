// SPDX-License-Identifier: LGPL-3.0-or-later
#include "mount/mounted_file.hh"

#include <future>
#include <thread>

#include <gtest/gtest.h>

#include "mount/test/memory_tree.hh"

namespace xec {
namespace {

constexpr OpenHow kReads = {.reads = true}, kWrites = {.writes = true},
                  kBoth = {.reads = true, .writes = true};

class MountedFileTest : public testing::Test {
 protected:
  std::string Read() {
    std::string bytes(100, '\0');
    const auto got = file.Read(0, std::as_writable_bytes(std::span(bytes)));
    if (!got) return CodeName(got.code());
    bytes.resize(static_cast<size_t>(*got));
    return bytes;
  }
  Status Write(uint64_t offset, std::string_view bytes) { return file.Write(offset, AsBytes(bytes)); }
  bool Open(OpenHow how) {
    const Result<bool> same = file.Open(how);
    EXPECT_TRUE(same);
    return same && *same;
  }
  std::string Code(const Status& status) { return status ? "ok" : CodeName(status.code()); }

  MemoryTree tree;
  std::string path = "/f";
  MountedFile file{tree, [this]() -> Result<std::string> {
                     if (path.empty()) return Fail(Code::kNotFound, "it has no name");
                     return path;
                   }};
};

TEST_F(MountedFileTest, TwoHandlesSeeEachOthersBytesAndOthersSeeThemOnceCommitted) {
  tree.Put("/f", "hello");
  Open(kReads);
  Open(kWrites);
  EXPECT_EQ(Read(), "hello");
  EXPECT_TRUE(Write(1, "E"));
  EXPECT_TRUE(file.Write(std::nullopt, AsBytes("!")));
  EXPECT_EQ(Read(), "hEllo!");
  EXPECT_EQ(file.Seen({}).size, 6u);
  EXPECT_TRUE(file.changed());
  EXPECT_EQ(tree.files["/f"].bytes, "hello");
  EXPECT_TRUE(file.Commit());
  EXPECT_EQ(tree.files["/f"].bytes, "hEllo!");
  EXPECT_FALSE(file.changed());
  EXPECT_TRUE(file.Close(kWrites));
  EXPECT_EQ(tree.commits, 1);
  EXPECT_EQ(Read(), "hEllo!");
}

TEST_F(MountedFileTest, SettingsBecomeVisibleWithTheChangesOrAtOnce) {
  tree.Put("/f", "hello");
  Open(kWrites);
  EXPECT_TRUE(file.SetSettings({.mode = 0600}));
  EXPECT_EQ(tree.files["/f"].settings, Settings{.mode = 0600});
  EXPECT_TRUE(Write(0, "H"));
  EXPECT_TRUE(file.SetSettings({.mtime_ns = 7, .mode = 0640}));
  EXPECT_EQ(tree.files["/f"].settings, Settings{.mode = 0600});
  EXPECT_EQ(file.Seen({}).mode, 0640u);
  EXPECT_EQ(file.Seen({}).mtime_ns, 7);
  // The time was that of the bytes before this.
  EXPECT_TRUE(Write(1, "E"));
  EXPECT_GT(file.Seen({}).mtime_ns, 7);
  EXPECT_TRUE(file.SetSettings({.mtime_ns = 8}));
  EXPECT_TRUE(file.Close(kWrites));
  EXPECT_EQ(tree.commits, 1);
  EXPECT_EQ(tree.files["/f"].settings, (Settings{.mtime_ns = 8, .mode = 0640}));
}

TEST_F(MountedFileTest, WhereAnEditTakesNoSettingsChangesAreCommittedFirst) {
  tree.edits_take_settings = false;
  tree.Put("/f", "hello");
  Open(kWrites);
  EXPECT_TRUE(Write(0, "H"));
  EXPECT_TRUE(file.SetSettings({.mode = 0600}));
  EXPECT_EQ(tree.commits, 1);
  EXPECT_EQ(tree.files["/f"].settings, Settings{.mode = 0600});
  EXPECT_TRUE(file.Close(kWrites));
}

TEST_F(MountedFileTest, AnOpenSeesWhatOthersHaveWrittenAndSaysWhetherPagesHold) {
  tree.Put("/f", "one");
  EXPECT_FALSE(Open(kReads));
  EXPECT_TRUE(Open(kReads));
  tree.Put("/f", "of two");
  EXPECT_EQ(Read(), "one");
  EXPECT_EQ(file.Seen({.size = 6, .mtime_ns = 7}).size, 3u) << "as long as it is read";
  EXPECT_EQ(file.Seen({.size = 6, .mtime_ns = 7}).mtime_ns, 7);
  tree.readers_stay = false;
  EXPECT_EQ(file.Seen({.size = 6}).size, 6u);
  tree.readers_stay = true;
  EXPECT_FALSE(Open(kReads));
  EXPECT_EQ(file.Seen({.size = 6}).size, 6u);
  EXPECT_EQ(Read(), "of two");
  // Our own version is what the kernel has already.
  Open(kBoth);
  EXPECT_TRUE(Write(0, "T"));
  EXPECT_TRUE(file.Commit());
  EXPECT_TRUE(Open(kReads));
  EXPECT_EQ(Read(), "Tf two");
}

TEST_F(MountedFileTest, PagesOfAnotherVersionThanTheEditBeganWithDoNotHold) {
  tree.Put("/f", "one");
  Open(kReads);
  tree.Put("/f", "two");
  Open(kWrites);
  EXPECT_TRUE(Write(0, "T"));
  EXPECT_TRUE(file.Commit());
  EXPECT_FALSE(Open(kReads));
  EXPECT_EQ(Read(), "Two");
}

TEST_F(MountedFileTest, ChangesOfTwoMountsDoNotOverwriteEachOther) {
  tree.Put("/f", "one");
  Open(kWrites);
  EXPECT_TRUE(Write(0, "O"));
  tree.Put("/f", "two");
  EXPECT_EQ(Code(file.Commit()), "not_current");
  EXPECT_EQ(Code(file.Close(kWrites)), "not_current");
  EXPECT_EQ(tree.files["/f"].bytes, "two");
}

TEST_F(MountedFileTest, AWriterChangesTheVersionThatItsOpenSaw) {
  file.OpenCreated(kWrites, "1");
  tree.Put("/f", "created");
  tree.Put("/f", "two");
  EXPECT_EQ(Code(Write(0, "T")), "not_current");
  EXPECT_TRUE(file.Close(kWrites));
  Open(kBoth);
  tree.Put("/f", "three");
  EXPECT_EQ(Code(Write(0, "T")), "not_current");
  // One that looks at nothing takes what is there then.
  Open(kWrites);
  tree.Put("/f", "four");
  EXPECT_TRUE(Write(0, "F"));
  EXPECT_TRUE(file.Commit());
  EXPECT_EQ(tree.files["/f"].bytes, "Four");
}

TEST_F(MountedFileTest, ACommitThatFailsIsTriedAgainByTheNextOne) {
  tree.Put("/f", "one");
  Open(kWrites);
  EXPECT_TRUE(Write(0, "O"));
  tree.next_commit = Fail(Code::kNoQuorum, "later");
  EXPECT_EQ(Code(file.Commit()), "cannot_tell");
  EXPECT_TRUE(file.Close(kWrites));
  EXPECT_EQ(tree.files["/f"].bytes, "One");
}

TEST_F(MountedFileTest, TruncatingIsAChange) {
  tree.Put("/f", "one");
  Open({.writes = true, .truncate = true});
  EXPECT_TRUE(file.Close(kWrites));
  EXPECT_EQ(tree.files["/f"].bytes, "");
  // Of a file that nobody has open it is committed at once.
  tree.Put("/f", "three");
  EXPECT_TRUE(file.Truncate(2));
  EXPECT_EQ(tree.files["/f"].bytes, "th");
  EXPECT_TRUE(file.Truncate(2));
  EXPECT_TRUE(file.Truncate(0));
  EXPECT_EQ(tree.files["/f"].bytes, "");
  EXPECT_EQ(tree.commits, 3);
}

TEST_F(MountedFileTest, ChangesThatNobodyGoesOnWithRestAndAreCommittedInTheEnd) {
  tree.Put("/f", "one");
  Open(kWrites);
  const SteadyTime now = std::chrono::steady_clock::now();
  file.Tend(now + 2 * kRestAfter);
  EXPECT_EQ(tree.rests, 0);
  EXPECT_TRUE(Write(0, "O"));
  file.Tend(now);
  EXPECT_EQ(tree.rests, 0);
  for (int i = 2; i < 4; ++i) file.Tend(now + i * kRestAfter);
  EXPECT_EQ(tree.rests, 1);
  EXPECT_TRUE(Write(1, "N"));
  file.Tend(now + 2 * kRestAfter);
  EXPECT_EQ(tree.rests, 2);
  file.CommitIfIdle(now + 2 * kRestAfter);
  EXPECT_EQ(tree.commits, 0);
  file.CommitIfIdle(now + 2 * kCommitAfter);
  EXPECT_EQ(tree.files["/f"].bytes, "ONe");
  file.CommitIfIdle(now + 4 * kCommitAfter);
  EXPECT_EQ(tree.commits, 1);
}

// Bug: it was tried again, and the log told so, every two seconds.
TEST_F(MountedFileTest, AnIdleCommitThatFailsIsTriedAgainAfterPausesThatGrow) {
  tree.Put("/f", "one");
  Open(kWrites);
  EXPECT_TRUE(Write(0, "O"));
  tree.every_commit = Fail(Code::kNoQuorum, "later");
  const SteadyTime idle = std::chrono::steady_clock::now() + kCommitAfter;
  std::vector<std::chrono::seconds> tries;
  const std::chrono::seconds hours = std::chrono::hours(2);
  for (std::chrono::seconds late{1}; late < hours; ++late) {
    const int before = tree.tries;
    file.CommitIfIdle(idle + late);
    if (tree.tries > before) tries.push_back(late);
  }
  ASSERT_GT(tries.size(), 3u);
  EXPECT_EQ(tries[1] - tries[0], kCommitPauseMin);
  EXPECT_EQ(tries[2] - tries[1], 2 * kCommitPauseMin);
  EXPECT_EQ(tries.back() - tries[tries.size() - 2], kCommitPauseMax);
  // Another change is another start.
  EXPECT_TRUE(Write(1, "N"));
  file.CommitIfIdle(idle + hours);
  tree.every_commit.reset();
  file.CommitIfIdle(idle + hours + kCommitPauseMin);
  EXPECT_EQ(tree.files["/f"].bytes, "ONe");
}

// Bug: it was told the size of its name, and the kernel reads no further.
TEST_F(MountedFileTest, WhatIsCommittedHasItsOwnSizeWhateverItsNameShows) {
  tree.Put("/f", "one");
  Open(kBoth);
  EXPECT_TRUE(Write(3, "!"));
  EXPECT_TRUE(file.Commit());
  tree.Put("/f", "another");
  EXPECT_EQ(file.Seen({.size = 7}).size, 4u);
  tree.readers_stay = false;
  EXPECT_EQ(file.Seen({.size = 7}).size, 7u);
}

TEST_F(MountedFileTest, OneThatOthersWaitForGivesItsMemoryBackUnlessItIsUsed) {
  tree.Put("/f", "one");
  Open(kWrites);
  EXPECT_FALSE(file.GiveMemoryBack());
  EXPECT_TRUE(Write(0, "O"));
  EXPECT_TRUE(file.GiveMemoryBack());
  EXPECT_EQ(tree.rests, 1);
  const AloneTurn turn(file.turns());
  EXPECT_FALSE(file.GiveMemoryBack());
}

TEST_F(MountedFileTest, OneWhoseWriterWaitsIsPassedOver) {
  tree.Put("/f", "one");
  Open(kWrites);
  EXPECT_TRUE(Write(0, "O"));
  std::promise<void> begun, others_rest;
  tree.before_write = [&] {
    begun.set_value();
    others_rest.get_future().wait();
  };
  std::jthread writer([&] { EXPECT_TRUE(Write(1, "N")); });
  begun.get_future().wait();
  file.Tend(std::chrono::steady_clock::now() + 2 * kRestAfter);
  file.CommitIfIdle(std::chrono::steady_clock::now() + 2 * kCommitAfter);
  EXPECT_EQ(tree.rests, 0);
  others_rest.set_value();
}

TEST_F(MountedFileTest, PagesOfChangesThatAreLostDoNotHold) {
  tree.Put("/f", "one");
  Open(kBoth);
  EXPECT_TRUE(Write(0, "O"));
  tree.next_commit = Fail(Code::kNoSpace, "full");
  EXPECT_EQ(Code(file.Close(kBoth)), "no_space");
  EXPECT_FALSE(Open(kReads));
  EXPECT_EQ(Read(), "one");
}

TEST_F(MountedFileTest, ARemovedFileLivesUntilItsLastHandleEnds) {
  tree.Put("/f", "one");
  Open(kReads);
  Open(kWrites);
  {
    const AloneTurn turn(file.turns());
    file.KeepForUsers();
    EXPECT_TRUE(tree.Remove("/f"));
    path.clear();
    file.LostName();
  }
  EXPECT_EQ(tree.holds, 1);
  EXPECT_EQ(tree.names_lost, 1);
  EXPECT_EQ(Read(), "one");
  EXPECT_TRUE(Write(3, "!"));
  EXPECT_EQ(Read(), "one!");
  EXPECT_EQ(file.SeenWithoutName()->size, 4u);
  EXPECT_TRUE(file.Commit());
  EXPECT_TRUE(file.Close(kWrites));
  EXPECT_FALSE(tree.files.contains("/f"));
  // With its last writer it was gone for those who only read.
  EXPECT_EQ(Read(), "one!");
  EXPECT_TRUE(file.Close(kReads));
}

// Bug: they could not be set any more, and what had been set was not told.
TEST_F(MountedFileTest, ARemovedFileHasAModeATimeAndAttributesUntilItEnds) {
  tree.Put("/f", "one");
  tree.attributes = {{"k", "v"}};
  tree.stat_entry = {.size = 3, .mtime_ns = 5, .mode = 0600};
  Open(kReads);
  EXPECT_FALSE(file.AttributesWithoutName());
  EXPECT_FALSE(*file.SetAttributeWithoutName("k", "w"));
  {
    const AloneTurn turn(file.turns());
    file.KeepForUsers();
    EXPECT_TRUE(tree.Remove("/f"));
    path.clear();
    file.LostName();
  }
  EXPECT_EQ(file.SeenWithoutName()->mode, 0600u);
  EXPECT_EQ(file.SeenWithoutName()->mtime_ns, 5);
  EXPECT_TRUE(file.SetSettings({.mtime_ns = 7}));
  EXPECT_TRUE(file.SetSettings({.mode = 0640}));
  EXPECT_EQ(file.SeenWithoutName()->mode, 0640u);
  EXPECT_EQ(file.SeenWithoutName()->mtime_ns, 7);
  EXPECT_TRUE(*file.SetAttributeWithoutName("l", "w"));
  EXPECT_EQ(file.AttributesWithoutName(), (std::map<std::string, std::string>{{"k", "v"}, {"l", "w"}}));
  EXPECT_TRUE(*file.SetAttributeWithoutName("k", std::nullopt));
  const std::string large(kKeptAttributesBytesMax - 2, 'x');
  EXPECT_EQ(file.SetAttributeWithoutName("m", large).code(), Code::kInvalidArgument);
  EXPECT_TRUE(*file.SetAttributeWithoutName("l", large));
  EXPECT_TRUE(file.Close(kReads));
  EXPECT_EQ(Code(file.SetSettings({.mode = 0600})), "not_found");
}

// An edit that was open, with changes or without, was not told.
TEST_F(MountedFileTest, WhatIsOpenAlreadyIsHeldAndAFileThatKeepsItsNameIsCommitted) {
  tree.Put("/f", "one");
  Open(kBoth);
  EXPECT_TRUE(Write(0, "O"));
  {
    const AloneTurn turn(file.turns());
    file.KeepForUsers();
  }
  EXPECT_EQ(tree.holds, 1);
  EXPECT_EQ(tree.names_lost, 0);
  EXPECT_TRUE(Write(3, "!"));
  EXPECT_TRUE(file.Close(kBoth));
  EXPECT_EQ(tree.files["/f"].bytes, "One!");
}

TEST_F(MountedFileTest, ARenamedFileGoesOnAtItsNewName) {
  tree.Put("/f", "one");
  Open(kBoth);
  EXPECT_TRUE(Write(0, "O"));
  {
    const AloneTurn turn(file.turns());
    EXPECT_TRUE(file.CommitAlone());
    EXPECT_TRUE(tree.Rename("/f", "/g", true));
    path = "/g";
    file.Renamed();
  }
  EXPECT_EQ(Read(), "One");
  EXPECT_TRUE(Write(3, "!"));
  EXPECT_TRUE(file.Close(kBoth));
  EXPECT_EQ(tree.files["/g"].bytes, "One!");
  EXPECT_FALSE(tree.files.contains("/f"));
}

}  // namespace
}  // namespace xec

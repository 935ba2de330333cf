// SPDX-License-Identifier: LGPL-3.0-or-later
// Conformance of what concerns names: creation, renaming, listing, removal; and what is said of names when
// the disk is gone or its power was cut.
#include <algorithm>
#include <functional>
#include <set>

#include "runtime/sync_wait.hh"
#include "server/conformance/conformance.hh"
#include "server/test/expect_status.hh"

namespace xec {
namespace {

constexpr size_t kNameBytesMax = 255;

std::vector<std::string> Names(const std::vector<Entry>& entries) {
  std::vector<std::string> names;
  for (const Entry& entry : entries) names.push_back(entry.name);
  std::sort(names.begin(), names.end());
  return names;
}

int Successes(const std::vector<Status>& results) {
  return static_cast<int>(
      std::count_if(results.begin(), results.end(), [](const Status& s) { return s.has_value(); }));
}

Task<Status> CreateAndClose(CallContext context, DataServerPtr server, std::string path) {
  Result<ArchiveFilePtr> opened = co_await Open(context, server, path, OpenMode::kCreate);
  if (!opened) co_return opened.error();
  co_return co_await Close(context, *opened);
}

TEST_P(ConformanceTest, CreateIsExclusive) {
  EXPECT_OK(Make(Path("f"), "first"));
  EXPECT_CODE(OpenFile(Path("f"), OpenMode::kCreate), Code::kAlreadyExists);
  EXPECT_EQ(*Content(Path("f")), "first");
}

TEST_P(ConformanceTest, RacingCreatorsHaveOneWinner) {
  for (int round = 0; round < 5; ++round) {
    const std::string path = Path(fmt::format("new-{}/f", round));
    std::vector<Task<Status>> creators;
    for (int i = 0; i < GetParam().racers; ++i) creators.push_back(CreateAndClose(context(), server_, path));
    const std::vector<Status> results = RunAll(std::move(creators));
    EXPECT_EQ(Successes(results), 1);
    for (const Status& result : results) {
      if (!result) {
        EXPECT_EQ(result.code(), Code::kAlreadyExists) << result.error().ToString();
      }
    }
  }
}

TEST_P(ConformanceTest, CreateMakesParents) {
  EXPECT_OK(Make(Path("a/b/c/d/f"), "deep"));
  EXPECT_EQ(*Content(Path("a/b/c/d/f")), "deep");
  EXPECT_EQ(Names(*ListDirectory(Path("a/b/c"))), std::vector<std::string>{"d"});
}

TEST_P(ConformanceTest, CreateBelowAFileFails) {
  EXPECT_OK(Make(Path("f"), "x"));
  EXPECT_FALSE(OpenFile(Path("f/below"), OpenMode::kCreate));
  EXPECT_EQ(*Content(Path("f")), "x");
}

TEST_P(ConformanceTest, MakeDirectoryTwiceAndWithParents) {
  EXPECT_OK(SyncWait(MakeDirectory(context(), server_, Path("d/e/f"))));
  EXPECT_OK(SyncWait(MakeDirectory(context(), server_, Path("d/e/f"))));
  EXPECT_OK(SyncWait(MakeDirectory(context(), server_, Path("d"))));
  EXPECT_EQ(ListDirectory(Path("d/e/f"))->size(), 0u);
}

TEST_P(ConformanceTest, RacingMakersOfOneDirectoryAllSucceed) {
  std::vector<Task<Status>> makers;
  for (int i = 0; i < GetParam().racers; ++i)
    makers.push_back(MakeDirectory(context(), server_, Path("x/y/z")));
  for (const Status& result : RunAll(std::move(makers))) EXPECT_OK(result);
}

TEST_P(ConformanceTest, RenameMovesTheBytesAndMakesParentsOfTheTarget) {
  EXPECT_OK(Make(Path("from"), "payload"));
  EXPECT_OK(RenameTo(Path("from"), Path("new/sub/to")));
  EXPECT_EQ(*Content(Path("new/sub/to")), "payload");
  EXPECT_CODE(OpenFile(Path("from"), OpenMode::kRead), Code::kNotFound);
}

TEST_P(ConformanceTest, RenameOfAMissingSourceIsNotFound) {
  EXPECT_CODE(RenameTo(Path("nothing"), Path("to")), Code::kNotFound);
  EXPECT_CODE(RenameTo(Path("no/such/dir/f"), Path("to")), Code::kNotFound);
  EXPECT_CODE(OpenFile(Path("to"), OpenMode::kRead), Code::kNotFound);
}

TEST_P(ConformanceTest, RacingRenamesOfOneSourceHaveOneWinner) {
  for (int round = 0; round < 5; ++round) {
    const std::string directory = Path(fmt::format("r{}", round));
    EXPECT_OK(Make(directory + "/s", "unique"));
    std::vector<Task<Status>> renamers;
    for (int i = 0; i < GetParam().racers; ++i) {
      renamers.push_back(Rename(context(), server_, directory + "/s", fmt::format("{}/p.{}", directory, i)));
    }
    const std::vector<Status> results = RunAll(std::move(renamers));
    ASSERT_EQ(Successes(results), 1);
    std::string winner;
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i]) {
        winner = fmt::format("p.{}", i);
      } else {
        EXPECT_EQ(results[i].code(), Code::kNotFound) << results[i].error().ToString();
      }
    }
    EXPECT_EQ(Names(*ListDirectory(directory)), std::vector<std::string>{winner});
    EXPECT_EQ(*Content(directory + "/" + winner), "unique");
  }
}

// The engine never does it. Whatever the server does, it is all or nothing; which of them is on record.
TEST_P(ConformanceTest, RenameOntoAnExistingNameIsWhole) {
  EXPECT_OK(Make(Path("from"), "new"));
  EXPECT_OK(Make(Path("to"), "old"));
  const Status renamed = RenameTo(Path("from"), Path("to"));
  RecordProperty("rename_onto_existing", renamed ? "replaces" : CodeName(renamed.code()));
  EXPECT_EQ(*Content(Path("to")), renamed ? "new" : "old");
  EXPECT_EQ(OpenFile(Path("from"), OpenMode::kRead).has_value(), !renamed);
}

TEST_P(ConformanceTest, ADirectoryIsRenamedWithAllBelow) {
  EXPECT_OK(Make(Path("d/sub/one"), "1"));
  EXPECT_OK(Make(Path("d/two"), "22"));
  EXPECT_OK(RenameTo(Path("d"), Path("other/e")));
  EXPECT_EQ(*Content(Path("other/e/sub/one")), "1");
  EXPECT_EQ(*Content(Path("other/e/two")), "22");
  EXPECT_CODE(ListDirectory(Path("d")), Code::kNotFound);
}

TEST_P(ConformanceTest, ListGivesNamesKindsAndSizes) {
  std::set<std::string> expected;
  for (int i = 0; i < 40; ++i) {
    const std::string name = fmt::format("p.{:016x}.{}", i, i * 7);
    EXPECT_OK(Make(Path("od/" + name), std::string(static_cast<size_t>(i) * 7, 'x')));
    expected.insert(name);
  }
  EXPECT_OK(SyncWait(MakeDirectory(context(), server_, Path("od/t.1"))));
  expected.insert("t.1");
  const Result<std::vector<Entry>> entries = ListDirectory(Path("od"));
  ASSERT_TRUE(entries) << entries.error().ToString();
  EXPECT_EQ(Names(*entries), std::vector<std::string>(expected.begin(), expected.end()));
  const int64_t now_s = pool_->WallNow() / 1000;
  for (const Entry& entry : *entries) {
    EXPECT_EQ(entry.directory, entry.name == "t.1");
    if (entry.directory) {
      EXPECT_EQ(entry.size, 0u);
    } else {
      EXPECT_EQ(fmt::format("{}", entry.size), entry.name.substr(entry.name.rfind('.') + 1));
      EXPECT_NEAR(static_cast<double>(entry.mtime_s), static_cast<double>(now_s), 3600.0);
    }
  }
}

// What a cleaner may pass over is told by them.
TEST_P(ConformanceTest, TheTimeOfADirectoryMovesOnWithWhatComesAndGoes) {
  EXPECT_OK(Make(Path("d/f"), "x"));
  const auto time = [&] {
    const Result<std::vector<Entry>> entries = ListDirectory(directory_);
    EXPECT_OK(entries);
    return entries && entries->size() == 1 ? entries->front().mtime_s : 0;
  };
  // It has seconds only.
  const auto moves_on = [&](const std::function<void()>& change) {
    const int64_t before = time();
    EXPECT_NEAR(static_cast<double>(before), static_cast<double>(pool_->WallNow() / 1000), 3600.0);
    const TimePoint until = pool_->Now() + std::chrono::seconds(10);
    while (time() == before && pool_->Now() < until) change();
    EXPECT_GT(time(), before);
  };
  int renames = 0;
  moves_on([&] {
    const bool back = renames++ % 2 == 1;
    EXPECT_OK(RenameTo(Path(back ? "d/g" : "d/f"), Path(back ? "d/f" : "d/g")));
  });
  moves_on([&] {
    EXPECT_OK(SyncWait(MakeDirectory(context(), server_, Path("d/mark"))));
    EXPECT_OK(SyncWait(RemoveDirectory(context(), server_, Path("d/mark"))));
  });
  moves_on([&] {
    EXPECT_OK(Make(Path("d/new"), "x"));
    EXPECT_OK(RemoveFile(Path("d/new")));
  });
}

TEST_P(ConformanceTest, ListOfNothingOfAFileAndOfAnEmptyDirectory) {
  EXPECT_CODE(ListDirectory(Path("missing")), Code::kNotFound);
  EXPECT_CODE(ListDirectory(Path("missing/below")), Code::kNotFound);
  EXPECT_OK(Make(Path("f"), "x"));
  EXPECT_CODE(ListDirectory(Path("f")), Code::kNotDirectory);
  EXPECT_OK(SyncWait(MakeDirectory(context(), server_, Path("empty"))));
  EXPECT_EQ(ListDirectory(Path("empty"))->size(), 0u);
}

TEST_P(ConformanceTest, ManyDirectoriesAreListedInTheirOrder) {
  EXPECT_OK(Make(Path("b/x"), "x"));
  EXPECT_OK(Make(Path("a/y"), "yy"));
  EXPECT_OK(SyncWait(MakeDirectory(context(), server_, Path("empty"))));
  const auto list = [&](std::vector<std::string> names) {
    for (std::string& name : names) name = Path(name);
    return SyncWait(ListMany(context(), server_, std::move(names)));
  };
  const Result<std::vector<Listed>> lists = list({"b", "missing", "a", "empty", "b"});
  ASSERT_TRUE(lists) << lists.error().ToString();
  ASSERT_EQ(lists->size(), 5u);
  ASSERT_TRUE((*lists)[0] && (*lists)[2] && (*lists)[3] && (*lists)[4]);
  EXPECT_EQ(Names(*(*lists)[0]), std::vector<std::string>{"x"});
  EXPECT_FALSE((*lists)[1]);
  EXPECT_EQ(Names(*(*lists)[2]), std::vector<std::string>{"y"});
  EXPECT_EQ((*lists)[2]->front().size, 2u);
  EXPECT_TRUE((*lists)[3]->empty());
  EXPECT_EQ(*(*lists)[4], *(*lists)[0]);
  EXPECT_CODE(list({"b", "a/y", "empty"}), Code::kNotDirectory);
}

TEST_P(ConformanceTest, RemoveOnceThenNotFound) {
  EXPECT_OK(Make(Path("f"), "x"));
  EXPECT_OK(RemoveFile(Path("f")));
  EXPECT_CODE(RemoveFile(Path("f")), Code::kNotFound);
  EXPECT_CODE(RemoveFile(Path("no/such/directory/f")), Code::kNotFound);
  EXPECT_CODE(OpenFile(Path("f"), OpenMode::kRead), Code::kNotFound);
  EXPECT_OK(Make(Path("f"), "again"));
}

TEST_P(ConformanceTest, RemoveDirectoryOnlyWhenEmpty) {
  EXPECT_OK(Make(Path("d/f"), "x"));
  EXPECT_CODE(SyncWait(RemoveDirectory(context(), server_, Path("d"))), Code::kNotEmpty);
  EXPECT_EQ(*Content(Path("d/f")), "x");
  EXPECT_OK(RemoveFile(Path("d/f")));
  EXPECT_OK(SyncWait(RemoveDirectory(context(), server_, Path("d"))));
  EXPECT_CODE(SyncWait(RemoveDirectory(context(), server_, Path("d"))), Code::kNotFound);
  EXPECT_CODE(ListDirectory(Path("d")), Code::kNotFound);
}

// The cleaner removes the directory of an object while a writer creates in it: one of them wins, and the
// creator always gets its file.
TEST_P(ConformanceTest, CreateWinsAgainstRemovalOfItsParents) {
  for (int round = 0; round < 20; ++round) {
    const std::string directory = Path(fmt::format("od{}", round));
    EXPECT_OK(SyncWait(MakeDirectory(context(), server_, directory)));
    std::vector<Task<Status>> both;
    both.push_back(CreateAndClose(context(), server_, directory + "/s"));
    both.push_back(RemoveDirectory(context(), server_, directory));
    const std::vector<Status> results = RunAll(std::move(both));
    // A server that looks at the parents once may refuse the creation: the writer then tries again.
    const Status created = results[0] ? OkStatus() : Make(directory + "/s", "");
    EXPECT_OK(created);
    EXPECT_EQ(Names(*ListDirectory(directory)), std::vector<std::string>{"s"});
  }
}

TEST_P(ConformanceTest, NamesOfAllKinds) {
  std::vector<std::string> names = {"with space", "ünïcødé-漢字-🙂", "100%41%2f%",
                                    "hash#tag",   "a+b&c=d",         "..dots..",
                                    "~tilde",     "semi;colon",      "quote'\"back\\slash",
                                    "tab\there",  ".hidden",         std::string(kNameBytesMax, 'n')};
  if (GetParam().question_marks) names.push_back("what?x=1");
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    EXPECT_OK(Make(Path("names/" + name), name));
    const Result<std::string> content = Content(Path("names/" + name));
    EXPECT_OK(content);
    if (content) {
      EXPECT_EQ(*content, name);
    }
  }
  std::vector<std::string> sorted = names;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(Names(*ListDirectory(Path("names"))), sorted);
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    EXPECT_OK(RenameTo(Path("names/" + name), Path("moved/" + name)));
    EXPECT_OK(RemoveFile(Path("moved/" + name)));
  }
}

// Found with stock servers, whose listings have room for 254 bytes of a name: those of 255 were refused.
TEST_P(ConformanceTest, TheLongestNamesAreListedWhole) {
  const std::string stem(kNameBytesMax - 1, 'l');
  std::vector<std::string> names = {std::string(kNameBytesMax, 'f'), std::string(kNameBytesMax - 1, 'g'),
                                    std::string(kNameBytesMax - 2, 'h'), stem};
  for (const char* ending : {"o", "x", " ", "%", "\x01", "\xff"}) names.push_back(stem + ending);
  std::sort(names.begin(), names.end());
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string path = Path("long/" + names[i]);
    EXPECT_OK(i % 2 == 0 ? Make(path, std::string(i, 'x')) : Make(path + "/" + names[i], "below"));
  }
  Result<std::vector<Entry>> listed = ListDirectory(Path("long"));
  ASSERT_TRUE(listed) << listed.error().message;
  EXPECT_EQ(Names(*listed), names);
  std::sort(listed->begin(), listed->end(), [](const Entry& a, const Entry& b) { return a.name < b.name; });
  for (size_t i = 0; i < listed->size(); ++i) {
    const Entry& entry = (*listed)[i];
    SCOPED_TRACE(entry.name.back());
    EXPECT_EQ(entry.directory, i % 2 == 1);
    EXPECT_EQ(entry.size, i % 2 == 0 ? i : 0);
    EXPECT_GT(entry.mtime_s, 0);
    if (!entry.directory) continue;
    EXPECT_EQ(Names(*ListDirectory(Path("long/" + entry.name))), std::vector<std::string>{entry.name});
  }
}

TEST_P(ConformanceTest, ANameThatIsTooLongIsRefused) {
  const Status made = Make(Path(std::string(kNameBytesMax + 1, 'n')), "x");
  EXPECT_FALSE(made);
  EXPECT_EQ(ListDirectory(directory_)->size(), 0u);
}

TEST_P(ConformanceTest, AttributesRoundTrip) {
  if (!GetParam().attributes) GTEST_SKIP() << "this server offers no attributes";
  EXPECT_OK(Make(Path("f"), "x"));
  const Attributes some = {{"xec.one", "1"}, {"xec.two", std::string(1000, 'z')}, {"other.three", "3"}};
  EXPECT_OK(SyncWait(SetAttributes(context(), server_, Path("f"), some)));
  EXPECT_OK(SyncWait(SetAttributes(context(), server_, Path("f"), {{"xec.one", "uno"}})));
  Result<Attributes> got = SyncWait(GetAttributes(context(), server_, Path("f"), "xec."));
  ASSERT_TRUE(got) << got.error().ToString();
  std::sort(got->begin(), got->end());
  EXPECT_EQ(*got, (Attributes{{"xec.one", "uno"}, {"xec.two", std::string(1000, 'z')}}));
  EXPECT_EQ(SyncWait(GetAttributes(context(), server_, Path("f"), "none."))->size(), 0u);
  EXPECT_CODE(SyncWait(GetAttributes(context(), server_, Path("missing"), "xec.")), Code::kNotFound);
  EXPECT_CODE(SyncWait(SetAttributes(context(), server_, Path("missing"), some)), Code::kNotFound);
}

TEST_P(ConformanceTest, SixteenAttributesInOneRequest) {
  if (!GetParam().attributes) GTEST_SKIP() << "this server offers no attributes";
  EXPECT_OK(Make(Path("f"), "x"));
  Attributes many;
  for (int i = 0; i < 16; ++i) many.emplace_back(fmt::format("xrdec.{:02}", i), fmt::format("value {}", i));
  EXPECT_OK(SyncWait(SetAttributes(context(), server_, Path("f"), many)));
  Result<Attributes> got = SyncWait(GetAttributes(context(), server_, Path("f"), "xrdec."));
  ASSERT_TRUE(got) << got.error().ToString();
  std::sort(got->begin(), got->end());
  EXPECT_EQ(*got, many);
}

TEST_P(ConformanceTest, AMissingDiskDoesNotLookEmpty) {
  if (const std::string& reason = GetParam().proves_no_disk; !reason.empty()) GTEST_SKIP() << reason;
  ASSERT_TRUE(GetParam().disk) << "say how this server's disk is taken away, or why it cannot notice";
  const auto disk = GetParam().disk();
  EXPECT_THAT(ProblemsWithoutItsDisk(Subject(), *disk), testing::IsEmpty());
}

TEST_P(ConformanceTest, WhatWasAnsweredSurvivesAPowerCut) {
  if (const std::string& reason = GetParam().syncs_no_names; !reason.empty()) GTEST_SKIP() << reason;
  ASSERT_TRUE(GetParam().disk) << "say how the power of this server is cut, or why it syncs no names";
  const auto disk = GetParam().disk();
  EXPECT_THAT(ProblemsAfterPowerCuts(Subject(), *disk), testing::IsEmpty());
}

TEST_P(ConformanceTest, SpaceIsPlausible) {
  const Result<Space> space = SyncWait(GetSpace(context(), server_));
  ASSERT_TRUE(space) << space.error().ToString();
  EXPECT_GT(space->total_bytes, 0u);
  EXPECT_LE(space->free_bytes, space->total_bytes);
}

}  // namespace
}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/engine/names_at_rest.hh"

#include "commit/clean/idle_names.hh"
#include "commit/rename/rename.hh"
#include "commit/test/test_attributes.hh"
#include "commit/test/test_world.hh"

namespace xec {
namespace {

using std::chrono::seconds;

constexpr uint64_t kShown = 512, kOther = 77;

class NamesAtRestTest : public testing::Test {
 protected:
  // A pass that is told the verdict if it has to look.
  std::optional<ToClean> Pass(uint64_t shown, CleanVerdict verdict = {ToClean::kNothing}) {
    NamesAtRest::Pass pass(rests_, world_.executor);
    const std::optional<ToClean> known = pass.Known(shown);
    if (!known) pass.Learn(shown, world_.executor.Now(), verdict);
    return known;
  }
  // Looked at twice.
  void Settle(uint64_t shown, CleanVerdict verdict = {ToClean::kNothing}) {
    EXPECT_FALSE(Pass(shown, verdict));
    world_.Pass(kShownFor);
    EXPECT_FALSE(Pass(shown, verdict));
  }
  int64_t After(Duration wait) {
    const auto wait_ms = std::chrono::duration_cast<std::chrono::milliseconds>(wait);
    return world_.executor.WallNow() + wait_ms.count();
  }

  TestWorld world_{TestWorld::Options{}};
  NamesAtRest rests_;
};

TEST_F(NamesAtRestTest, ANameIsPassedOverWhenItWasLookedAtAfterItHadBeenShownForAWhile) {
  EXPECT_FALSE(Pass(kShown));
  world_.Pass(kShownFor - seconds(1));
  EXPECT_FALSE(Pass(kShown));
  world_.Pass(seconds(1));
  EXPECT_FALSE(Pass(kShown));
  EXPECT_EQ(Pass(kShown), ToClean::kNothing);
  EXPECT_FALSE(Pass(kOther));
}

TEST_F(NamesAtRestTest, WhatAPassDoesNotMeetIsForgotten) {
  Settle(kShown);
  EXPECT_FALSE(Pass(kOther));
  EXPECT_FALSE(Pass(kShown));
  EXPECT_FALSE(Pass(kShown));
}

TEST_F(NamesAtRestTest, WhatIsToBeDoneIsNot) {
  Settle(kShown, {ToClean::kNow});
  EXPECT_FALSE(Pass(kShown));
}

TEST_F(NamesAtRestTest, WhatWaitsIsLookedAtWhenItIsDue) {
  const CleanVerdict later = {ToClean::kLater, After(kShownFor + seconds(60))};
  Settle(kShown, later);
  world_.Pass(seconds(59));
  EXPECT_EQ(Pass(kShown), ToClean::kLater);
  world_.Pass(seconds(1));
  EXPECT_FALSE(Pass(kShown, {ToClean::kNow}));
}

TEST_F(NamesAtRestTest, ANameIsLookedAtAgainSomeTimeWhateverIsShown) {
  Settle(kShown);
  for (Duration passed = {}; passed < kLookAgainAfter / 2 - seconds(1); passed += seconds(60)) {
    EXPECT_EQ(Pass(kShown), ToClean::kNothing);
    world_.Pass(seconds(60));
  }
  world_.Pass(kLookAgainAfter / 2);
  EXPECT_FALSE(Pass(kShown));
  EXPECT_EQ(Pass(kShown), ToClean::kNothing);
}

TEST_F(NamesAtRestTest, ListingsHearOnlyWhatIsKnownAndBelieved) {
  const RestingName object{.kind = RestingName::kObject, .size = 7, .version = {1000}};
  const CleanVerdict verdict{.what = ToClean::kNothing, .lives = object};
  const auto lives = [&](uint64_t shown) { return rests_.Now(world_.executor.Now()).Lives(shown); };
  EXPECT_FALSE(Pass(kShown, verdict));
  EXPECT_FALSE(lives(kShown));
  world_.Pass(kShownFor);
  EXPECT_FALSE(Pass(kShown, verdict));
  EXPECT_EQ(lives(kShown), object);
  EXPECT_FALSE(lives(kOther));
  world_.Pass(kLookAgainAfter);
  EXPECT_FALSE(lives(kShown));
  // Nobody knows what lives where a full pass had nothing to do.
  Settle(kOther);
  EXPECT_EQ(Pass(kOther), ToClean::kNothing);
  EXPECT_FALSE(lives(kOther));
}

TEST_F(NamesAtRestTest, WhereTimesDoNotTellOfChangesListingsHearNothing) {
  Settle(kShown,
         {.what = ToClean::kNothing, .lives = {.kind = RestingName::kObject, .size = 7, .version = {1000}}});
  EXPECT_TRUE(rests_.Now(world_.executor.Now()).Lives(kShown));
  world_.Pass(kLookAgainAfter);
  EXPECT_FALSE(Pass(kShown, {.what = ToClean::kNothing,
                             .lives = {.kind = RestingName::kObject, .size = 8, .version = {2000}}}));
  EXPECT_FALSE(rests_.Now(world_.executor.Now()).Lives(kShown));
  EXPECT_EQ(Pass(kShown), ToClean::kNothing);
}

TEST_F(NamesAtRestTest, OfTooManyThoseAreKeptThatWereKeptBefore) {
  constexpr uint64_t kTooMany = kNamesAtRestMax + kNamesAtRestMax / 4;
  uint64_t known = 0;
  for (int i = 0; i < 3; ++i) {
    known = 0;
    NamesAtRest::Pass pass(rests_, world_.executor);
    for (uint64_t name = 0; name < kTooMany; ++name) {
      // Another name comes first each time.
      const uint64_t shown = Mix64((name + static_cast<uint64_t>(i) * kTooMany / 3) % kTooMany);
      if (pass.Known(shown)) {
        ++known;
      } else {
        pass.Learn(shown, world_.executor.Now(), {ToClean::kNothing});
      }
    }
    world_.Pass(kShownFor);
  }
  EXPECT_NEAR(static_cast<double>(known), kTooMany / 2.0, kTooMany / 100.0);
}

TEST_F(NamesAtRestTest, PassesAtTheSameTimeDoNotDisturbEachOther) {
  Settle(kShown);
  NamesAtRest::Pass one(rests_, world_.executor);
  EXPECT_EQ(Pass(kShown), ToClean::kNothing);
  EXPECT_EQ(one.Known(kShown), ToClean::kNothing);
}

// The passes of one gateway's cleaner over a folder.
class PassesTest : public testing::Test {
 protected:
  PassesTest() {
    for (int i = 0; i < kNames; ++i) EXPECT_TRUE(world_.Put(gateway_, Name(i)));
  }
  static std::string Name(int i) { return fmt::format("/{:03}", i); }

  // Replaces or makes an object of that size; it lacks so many archives.
  void Put(const std::string& name, uint64_t size, size_t lacking = 0) {
    const ObjectPath path = TestWorld::Path(name);
    PutRequest request{path, SealedState(gateway_.engine->NewObjectId()), size, {}, 0, std::nullopt};
    request.archives = world_.Placement(path);
    request.archives.resize(request.archives.size() - lacking);
    for (const MemberIndex server : request.archives)
      ASSERT_TRUE(world_.Seal(gateway_, path, server, request.seal));
    ASSERT_TRUE(world_.Run(CommitPut(*gateway_.engine, std::move(request))));
  }

  CleanOutcome Clean() {
    const auto cleaned = world_.Run(CleanTree(*cleaner_.engine, TestWorld::Path("/"), nullptr, &rests_));
    EXPECT_TRUE(cleaned) << cleaned.error().message;
    return *cleaned;
  }
  // How many requests that makes beside the listing of the folder.
  uint64_t Requests() {
    const uint64_t before = cleaner_.counts->Total();
    Clean();
    return cleaner_.counts->Total() - before - world_.options.servers;
  }
  void Settle() {
    for (int i = 0; i < 2; ++i) {
      world_.Pass(kShownFor);
      Clean();
    }
  }
  void SettleWithAttribute(const std::string& name) {
    ASSERT_TRUE(world_.Run(SetAttribute(*gateway_.engine, TestWorld::Path(name), "colour", "blue")));
    Clean();
    world_.Pass(world_.options.engine.operation_limit);
    Settle();
  }
  // Times of directories show seconds.
  void BeginSecond() { world_.Pass(seconds(1) - world_.executor.Now().time_since_epoch() % seconds(1)); }
  void Remove(int i) { EXPECT_TRUE(world_.Run(RemoveObject(*gateway_.engine, TestWorld::Path(Name(i))))); }

  static constexpr int kNames = 100;
  TestWorld world_{TestWorld::Options{}};
  TestWorld::Gateway& gateway_ = world_.NewGateway();
  TestWorld::Gateway& cleaner_ = world_.NewGateway();
  NamesAtRest rests_;
};

TEST_F(PassesTest, AStoreAtRestCostsTheListingOfItsFolders) {
  EXPECT_EQ(Requests(), kNames * world_.descriptor.geometry.Total());
  world_.Pass(kShownFor);
  EXPECT_EQ(Requests(), kNames * world_.descriptor.geometry.Total());
  EXPECT_EQ(Requests(), 0u);
  EXPECT_EQ(Clean().names, size_t{kNames});
  world_.Pass(kLookAgainAfter);
  EXPECT_EQ(Requests(), kNames * world_.descriptor.geometry.Total());
}

TEST_F(PassesTest, WhatChangesIsLookedAt) {
  Settle();
  EXPECT_EQ(Requests(), 0u);
  ASSERT_TRUE(world_.Put(gateway_, Name(7)));
  Remove(8);
  EXPECT_GT(Requests(), 0u);
  world_.Pass(world_.options.engine.superseded_grace + seconds(5));
  EXPECT_EQ(Clean().removed, 2 * world_.descriptor.geometry.Total());
}

TEST_F(PassesTest, WhatChangesInTheSecondOfTheLastChangeIsSeen) {
  const auto times = [&] {
    const FolderUnion found = world_.Run(ListFolder(*gateway_.engine, TestWorld::Path("/")));
    return found.names.at(TestWorld::Path("/new")).times;
  };
  BeginSecond();
  ASSERT_TRUE(world_.Put(gateway_, "/new"));
  Clean();
  const uint64_t before = times();
  ASSERT_TRUE(world_.Put(gateway_, "/new"));
  ASSERT_EQ(times(), before);
  Settle();
  world_.Pass(world_.options.engine.superseded_grace + seconds(5));
  EXPECT_EQ(Clean().removed, world_.descriptor.geometry.Total());
}

TEST_F(PassesTest, ATombstoneIsForgottenWhenItIsTime) {
  for (int i = 0; i < kNames; ++i) Remove(i);
  Clean();
  world_.Pass(world_.options.engine.superseded_grace + seconds(5));
  Clean();
  Settle();
  EXPECT_EQ(Requests(), 0u);
  EXPECT_EQ(Clean().left, size_t{kNames});
  world_.Pass(world_.options.engine.tombstone_horizon);
  EXPECT_GT(Requests(), 0u);
  EXPECT_EQ(Clean().names, 0u);
}

TEST_F(PassesTest, WhatIsShownWhileAServerIsSilentIsAnotherThing) {
  Settle();
  cleaner_.faults[0]->plan().SetDown(true);
  EXPECT_GT(Clean().left, size_t{kNames});
  Settle();
  const uint64_t before = cleaner_.counts->Of(Operation::kList);
  EXPECT_GT(Clean().left, size_t{kNames});
  EXPECT_LE(cleaner_.counts->Of(Operation::kList), before + world_.options.servers);
  cleaner_.faults[0]->plan().SetDown(false);
  world_.Pass(seconds(60));
  EXPECT_EQ(Clean().left, 0u);
}

// Whoever is to repair it may have forgotten it.
TEST_F(PassesTest, AnObjectThatLacksArchivesIsToldInEachPass) {
  Put("/thin", 300'000, 1);
  // It may be on its way yet.
  Settle();
  EXPECT_EQ(Clean().left, 1u);
  world_.Pass(world_.options.engine.operation_limit);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(Clean().thin.size(), 1u);
    world_.Pass(kShownFor);
  }
}

// What a listing tells, with what the cleaner knows and without; and how many requests that is but for the
// listing of the folder.
class RestingListTest : public PassesTest {
 protected:
  static std::vector<std::string> Tell(const Result<std::vector<ListedName>>& names) {
    std::vector<std::string> told;
    if (!names) return {names.error().message};
    for (const ListedName& name : *names)
      told.push_back(fmt::format("{} {} {} {}", name.name, name.directory, name.size, name.mtime_ms));
    return told;
  }
  uint64_t List() {
    const ObjectPath root = TestWorld::Path("/");
    const uint64_t before = cleaner_.counts->Total();
    const auto with = Tell(world_.Run(ListDirectory(*cleaner_.engine, root, &rests_)));
    const uint64_t after = cleaner_.counts->Total();
    EXPECT_EQ(with, Tell(world_.Run(ListDirectory(*gateway_.engine, root))));
    return after - before - world_.options.servers;
  }
};

TEST_F(RestingListTest, WhatTheCleanerKnowsIsNotLookedUp) {
  ASSERT_TRUE(world_.Run(MakeDirectoryName(*gateway_.engine, TestWorld::Path("/d"), false)));
  Remove(3);
  Clean();
  EXPECT_GT(List(), size_t{kNames});
  Settle();
  EXPECT_EQ(List(), 0u);
  world_.Pass(world_.options.engine.superseded_grace + seconds(5));
  Clean();
  Settle();
  EXPECT_EQ(List(), 0u);
}

TEST_F(RestingListTest, WhatReplacedAnotherIsToldWithItsOwnSize) {
  Put(Name(3), 300'000);
  Settle();
  EXPECT_EQ(List(), 0u);
}

TEST_F(RestingListTest, WithUserAttributesANameIsLookedUp) {
  SettleWithAttribute(Name(7));
  const uint64_t requests = List();
  EXPECT_GT(requests, 0u);
  EXPECT_LT(requests, size_t{kNames});
}

TEST_F(RestingListTest, WhatChangedInTheSecondOfTheLastChangeIsToldAsItIs) {
  BeginSecond();
  Put("/new", 7);
  Clean();
  Put("/new", 300'000);
  Settle();
  EXPECT_EQ(List(), 0u);
}

TEST_F(RestingListTest, WhatHasChangedIs) {
  Settle();
  ASSERT_TRUE(world_.Put(gateway_, Name(7)));
  Remove(8);
  ASSERT_TRUE(world_.Put(gateway_, "/new"));
  ASSERT_TRUE(
      world_.Run(RenameObject(*gateway_.engine, TestWorld::Path(Name(9)), TestWorld::Path(Name(10)))));
  const uint64_t requests = List();
  EXPECT_GT(requests, 0u);
  EXPECT_LT(requests, size_t{kNames});
}

TEST_F(RestingListTest, SoIsEverythingWhileAServerIsSilent) {
  Settle();
  cleaner_.faults[0]->plan().SetDown(true);
  EXPECT_GT(List(), size_t{kNames});
  Settle();
  EXPECT_GT(List(), size_t{kNames});
}

TEST_F(RestingListTest, AndWhatTheCleanerHasNotLookedAtForLong) {
  Settle();
  world_.Pass(kLookAgainAfter);
  EXPECT_GT(List(), size_t{kNames});
}

// With user attributes a name takes a full pass each time that it is looked at.
TEST_F(PassesTest, WhereAFullPassHasNothingToDoThereIsNoneForAWhile) {
  SettleWithAttribute(Name(7));
  EXPECT_EQ(Requests(), 0u);
  world_.Pass(world_.options.engine.tombstone_horizon);
  EXPECT_GT(Requests(), 2 * world_.options.servers);
}

}  // namespace
}  // namespace xec

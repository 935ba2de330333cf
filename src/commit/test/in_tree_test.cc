// SPDX-License-Identifier: LGPL-3.0-or-later
// Promise P10: whoever is answered OK for an upload, a rename or a directory is found by listings from the
// root on. The bug was that a parent was looked at only before the upload, and remembered for ten seconds.
#include <set>

#include "commit/engine/pause.hh"
#include "commit/programs/removal_seal.hh"
#include "commit/steps/fence.hh"
#include "commit/test/test_world.hh"

namespace xec {
namespace {

using namespace std::chrono_literals;
using Gateway = TestWorld::Gateway;

ObjectPath Name(std::string_view text) { return TestWorld::Path(text); }

// An upload as a front end makes it: the parent is expected at its beginning and looked at before its commit,
// `slow` later.
Task<Status> PutInTree(TestWorld& world, Gateway& gateway, ObjectPath path, Duration slow = {},
                       Duration sealed_for = {}) {
  Engine& engine = *gateway.engine;
  const ParentNeed need{true, engine.executor().Now()};
  const Status parent = co_await ExpectParent(engine, path, need);
  if (!parent) co_return parent.error();
  if (slow > 0s) co_await Pause(engine, slow);
  Result<PutRequest> started = co_await world.StartPut(gateway, path, false);
  if (!started) co_return started.error();
  PutRequest request = std::move(*started);
  request.parent = need;
  const std::vector<MemberIndex> servers = world.Placement(path);
  for (const MemberIndex server : servers) {
    const Status sealed = co_await world.SealTask(gateway, path, server, request.seal);
    if (sealed) request.archives.push_back(server);
  }
  if (sealed_for > 0s) co_await Pause(engine, sealed_for);
  const State seal = request.seal;
  Result<Version> put = co_await CommitPut(engine, std::move(request));
  if (put) co_return OkStatus();
  if (put.code() != Code::kUnknown) co_await AbandonUpload(engine, path, seal, servers);
  co_return put.error();
}

Task<Status> RenameInTree(Gateway& gateway, ObjectPath from, ObjectPath to) {
  const ParentNeed need{true, gateway.engine->executor().Now()};
  const Status parent = co_await ExpectParent(*gateway.engine, to, need);
  if (!parent) co_return parent.error();
  co_return co_await RenameObject(*gateway.engine, from, to, {.parent = need});
}

// All names that listings show from the root on.
std::set<std::string> Tree(TestWorld& world, Gateway& gateway, const ObjectPath& directory = Name("/")) {
  std::set<std::string> found;
  const auto names = world.Run(ListDirectory(*gateway.engine, directory));
  EXPECT_TRUE(names) << names.error().message;
  if (!names) return found;
  for (const ListedName& name : *names) {
    const ObjectPath path = *directory.Child(name.name);
    found.insert(path.text());
    if (name.directory) found.merge(Tree(world, gateway, path));
  }
  return found;
}

class InTreeTest : public ::testing::Test {
 protected:
  InTreeTest() : world_(TestWorld::Options{}), a_(world_.NewGateway()), b_(world_.NewGateway()) {}

  Status Put(Gateway& gateway, std::string_view name) {
    return world_.Run(PutInTree(world_, gateway, Name(name)));
  }
  Status MakeDirectory(Gateway& gateway, std::string_view name) {
    return world_.Run(MakeDirectoryName(*gateway.engine, Name(name), true));
  }
  Status RemoveDirectory(Gateway& gateway, std::string_view name) {
    return world_.Run(RemoveDirectoryName(*gateway.engine, Name(name)));
  }
  // A has written to /d/dir and knows it; nothing is in it.
  void AKnowsTheDirectory() {
    ASSERT_TRUE(Put(a_, "/d/dir/a"));
    ASSERT_TRUE(world_.Run(RemoveObject(*a_.engine, Name("/d/dir/a"))));
  }
  void ExpectInTree(const std::string& name) {
    for (Gateway* gateway : {&a_, &b_}) EXPECT_TRUE(Tree(world_, *gateway).contains(name)) << name;
  }
  // An upload that has sealed, and waits.
  std::optional<Status>& StartUpload(Gateway& gateway, std::string_view name, Duration sealed_for) {
    gateway.scope.Spawn(Keep(PutInTree(world_, gateway, Name(name), 0s, sealed_for)));
    world_.Pass(sealed_for / 2);
    return uploaded_;
  }
  Task<void> Keep(Task<Status> task) { uploaded_ = co_await task; }

  TestWorld world_;
  Gateway& a_;
  Gateway& b_;
  std::optional<Status> uploaded_;
};

TEST_F(InTreeTest, WhatIsPutAfterTheDirectoryWasRemovedElsewhere) {
  for (const Duration later : {0ms, 1000ms, 5000ms, 8000ms, 11000ms}) {
    AKnowsTheDirectory();
    ASSERT_TRUE(RemoveDirectory(b_, "/d/dir"));
    world_.Pass(later);
    ASSERT_TRUE(Put(a_, "/d/dir/b")) << later.count();
    ExpectInTree("/d/dir/b");
    ASSERT_TRUE(world_.Run(RemoveObject(*a_.engine, Name("/d/dir/b"))));
  }
}

TEST_F(InTreeTest, WhatIsPutAfterTheDirectoryWasRenamedElsewhere) {
  AKnowsTheDirectory();
  ASSERT_TRUE(world_.Run(RenameDirectory(*b_.engine, Name("/d/dir"), Name("/d/other"))));
  ASSERT_TRUE(Put(a_, "/d/dir/b"));
  ExpectInTree("/d/dir/b");
  ExpectInTree("/d/other");
}

TEST_F(InTreeTest, NothingIsPutBelowAnObject) {
  AKnowsTheDirectory();
  ASSERT_TRUE(RemoveDirectory(b_, "/d/dir"));
  ASSERT_TRUE(Put(b_, "/d/dir"));
  EXPECT_EQ(Put(a_, "/d/dir/b").code(), Code::kNotDirectory);
  EXPECT_FALSE(world_.Lives(b_, "/d/dir/b"));
  ExpectInTree("/d/dir");
}

TEST_F(InTreeTest, WhatIsRenamedIntoADirectoryThatWasRemovedElsewhere) {
  AKnowsTheDirectory();
  ASSERT_TRUE(Put(a_, "/d/precious"));
  ASSERT_TRUE(RemoveDirectory(b_, "/d/dir"));
  ASSERT_TRUE(world_.Run(RenameInTree(a_, Name("/d/precious"), Name("/d/dir/precious"))));
  ExpectInTree("/d/dir/precious");
}

TEST_F(InTreeTest, ADirectoryMadeInOneThatWasRemovedElsewhere) {
  AKnowsTheDirectory();
  ASSERT_TRUE(RemoveDirectory(b_, "/d/dir"));
  ASSERT_TRUE(MakeDirectory(a_, "/d/dir/sub"));
  ExpectInTree("/d/dir/sub");
}

TEST_F(InTreeTest, ADirectoryWithAnUploadUnderWayIsNotEmpty) {
  ASSERT_TRUE(MakeDirectory(a_, "/d/dir"));
  StartUpload(a_, "/d/dir/obj", 10s);
  EXPECT_EQ(RemoveDirectory(b_, "/d/dir").code(), Code::kNotEmpty);
  world_.Pass(20s);
  ASSERT_TRUE(uploaded_ && *uploaded_);
  ExpectInTree("/d/dir/obj");
}

TEST_F(InTreeTest, AnUploadThatHasNotSealedYetMakesItsDirectoryAnew) {
  ASSERT_TRUE(MakeDirectory(a_, "/d/dir"));
  a_.scope.Spawn(Keep(PutInTree(world_, a_, Name("/d/dir/obj"), 10s)));
  world_.Pass(5s);
  ASSERT_TRUE(RemoveDirectory(b_, "/d/dir"));
  world_.Pass(20s);
  ASSERT_TRUE(uploaded_ && *uploaded_);
  ExpectInTree("/d/dir/obj");
}

TEST_F(InTreeTest, UploadsUnderWayAreRefusedWhenTheirDirectoryIsRenamed) {
  for (const bool sealed : {true, false}) {
    ASSERT_TRUE(MakeDirectory(a_, "/d/dir/sub"));
    ASSERT_TRUE(Put(a_, "/d/dir/sub/obj"));
    const Version before = world_.StateOf(b_, "/d/dir/sub/obj").version;
    uploaded_.reset();
    const Duration slow = sealed ? 0s : 10s;
    a_.scope.Spawn(Keep(PutInTree(world_, a_, Name("/d/dir/sub/obj"), slow, 10s - slow)));
    world_.Pass(5s);
    ASSERT_TRUE(world_.Run(RenameDirectory(*b_.engine, Name("/d/dir"), Name("/d/moved"))));
    world_.Pass(20s);
    ASSERT_TRUE(uploaded_);
    EXPECT_EQ(uploaded_->code(), Code::kConflict) << sealed;
    EXPECT_EQ(Tree(world_, b_),
              (std::set<std::string>{"/d", "/d/moved", "/d/moved/sub", "/d/moved/sub/obj"}));
    EXPECT_LT(before, world_.StateOf(b_, "/d/moved/sub/obj").version);
    ASSERT_TRUE(world_.Run(RemoveObject(*b_.engine, Name("/d/moved/sub/obj"))));
    ASSERT_TRUE(RemoveDirectory(b_, "/d/moved/sub"));
    ASSERT_TRUE(RemoveDirectory(b_, "/d/moved"));
  }
}

// Its gateway has died: whoever removes the directory need not wait for the cleaner.
TEST_F(InTreeTest, ASilentUploadDoesNotHoldADirectoryForEver) {
  ASSERT_TRUE(MakeDirectory(a_, "/d/dir"));
  StartUpload(a_, "/d/dir/obj", 10s);
  a_.Kill();
  EXPECT_EQ(RemoveDirectory(b_, "/d/dir").code(), Code::kNotEmpty);
  world_.Pass(kSilentUpload + 10s);
  EXPECT_TRUE(RemoveDirectory(b_, "/d/dir"));
}

// Beside the requests for the name itself: docs/protocol.md, "Requests".
TEST_F(InTreeTest, WhatAParentCosts) {
  const auto cost = [&](std::string_view name) {
    a_.counts->Reset();
    EXPECT_TRUE(Put(a_, name));
    return a_.counts->Total();
  };
  ASSERT_TRUE(MakeDirectory(a_, "/d"));
  const uint64_t alone = cost("/a");
  EXPECT_EQ(cost("/d/a"), alone + 1);
  world_.Pass(5s);
  EXPECT_EQ(cost("/d/b"), alone + a_.engine->Homes(Name("/d")).size() / 2 + 1);
  world_.Pass(11s);
  EXPECT_EQ(cost("/d/c"), alone + a_.engine->Homes(Name("/d")).size() / 2 + 2);
}

// Whoever has died over removing a directory does not keep anybody from writing into it.
TEST_F(InTreeTest, EveryCrashOfARemoverLeavesATreeToWriteInto) {
  for (size_t steps = 1;; steps += 3) {
    TestWorld world({.seed = steps % 5 + 1});
    Gateway& writer = world.NewGateway();
    Gateway& dies = world.NewGateway();
    ASSERT_TRUE(world.Run(MakeDirectoryName(*writer.engine, Name("/d/dir"), true)));
    const auto ended = world.executor.RunTask(RemoveDirectoryName(*dies.engine, Name("/d/dir")), steps);
    dies.Kill();
    ASSERT_TRUE(world.Run(PutInTree(world, writer, Name("/d/dir/a")))) << steps;
    EXPECT_TRUE(Tree(world, writer).contains("/d/dir/a")) << steps;
    world.Clean(writer);
    EXPECT_TRUE(Tree(world, writer).contains("/d/dir/a")) << steps;
    for (const std::string& entry : world.EntriesOf(writer, "/d/dir")) EXPECT_EQ(entry[0], 'd') << entry;
    if (HasFailure() || ended) break;
  }
}

// What lives is in the tree, once cleaners have gone on with what died.
void ExpectAllInTree(TestWorld& world, Gateway& gateway, const std::vector<std::string>& names,
                     size_t steps) {
  for (int pass = 0; pass < 4; ++pass) {
    world.Pass(2h);
    const Result<bool> resumed = world.Run(ResumeDirectoryRenames(*gateway.engine));
    (void)resumed;
    world.Clean(gateway);
  }
  const std::set<std::string> tree = Tree(world, gateway);
  for (const std::string& name : names)
    EXPECT_EQ(tree.contains(name), world.Lives(gateway, name)) << name << " after " << steps << " steps";
}

// It has committed at its source, and what it renames lives at its target as soon as somebody looks there.
TEST(InTreeCrashTest, ADeadRenameIntoADirectoryThatIsRenamedOrRemoved) {
  bool ended = false;
  for (size_t steps = 1; !ended && !testing::Test::HasFailure(); steps += 5) {
    for (const bool renames : {true, false}) {
      TestWorld world({.seed = steps % 5 + 1});
      Gateway& dies = world.NewGateway();
      Gateway& other = world.NewGateway();
      ASSERT_TRUE(world.Put(other, "/o"));
      ASSERT_TRUE(world.Run(MakeDirectoryName(*other.engine, Name("/d/s"), true)));
      ASSERT_TRUE(world.Run(MakeDirectoryName(*other.engine, Name("/e"), true)));
      ended = world.executor.RunTask(RenameInTree(dies, Name("/o"), Name("/d/s/o")), steps).has_value();
      dies.Kill();
      world.Pass(kSilentUpload + 1min);
      const Status gone = renames ? world.Run(RenameDirectory(*other.engine, Name("/d/s"), Name("/e/s")))
                                  : world.Run(RemoveDirectoryName(*other.engine, Name("/d/s")));
      (void)gone;
      ExpectAllInTree(world, other, {"/o", "/d/s", "/d/s/o", "/e/s", "/e/s/o"}, steps);
    }
  }
}

// However long the rename takes: whoever writes into the directory has to see that it is renamed.
TEST(InTreeCrashTest, ARemovalSealStaysAsLongAsTheLogOfItsRename) {
  bool met = false;
  bool ended = false;
  for (size_t steps = 1; !ended && !testing::Test::HasFailure(); steps += 7) {
    TestWorld world({.seed = steps % 5 + 1});
    Gateway& dies = world.NewGateway();
    Gateway& other = world.NewGateway();
    ASSERT_TRUE(world.Run(MakeDirectoryName(*other.engine, Name("/d"), true)));
    ASSERT_TRUE(world.Put(other, "/d/a"));
    ended = world.executor.RunTask(RenameDirectory(*dies.engine, Name("/d"), Name("/e")), steps).has_value();
    dies.Kill();
    world.Pass(1min);
    const auto seals = [&] {
      const std::vector<std::string> entries = world.EntriesOf(other, "/d");
      return std::count_if(entries.begin(), entries.end(), [](const auto& e) { return e[0] == 'g'; });
    };
    const auto before = seals();
    if (ended || before < 2 || !world.Lives(other, "/d")) continue;
    met = true;
    world.Clean(other);
    EXPECT_EQ(seals(), before) << steps;
    EXPECT_EQ(world.Run(PutInTree(world, other, Name("/d/b"))).code(), Code::kConflict) << steps;
  }
  EXPECT_TRUE(met);
}

// Without the first home of a directory nobody confirms it alone: its remover waits until all have looked.
TEST_F(InTreeTest, WithoutItsFirstHome) {
  const MemberIndex first = a_.engine->Homes(Name("/d/dir")).front();
  for (const Duration later : {0ms, 500ms, 900ms}) {
    AKnowsTheDirectory();
    b_.faults[first]->plan().Add({.kind = FaultKind::kHang});
    ASSERT_TRUE(RemoveDirectory(b_, "/d/dir"));
    b_.faults[first]->plan().Clear();
    world_.Pass(later);
    ASSERT_TRUE(Put(a_, "/d/dir/b"));
    ExpectInTree("/d/dir/b");
    ASSERT_TRUE(world_.Run(RemoveObject(*a_.engine, Name("/d/dir/b"))));
  }
}

// Two gateways at the same names, at the same time: what lives in the end is in the tree.
class AtOnce {
 public:
  explicit AtOnce(uint64_t seed)
      : random_(seed), world_({.seed = seed}), gateways_{&world_.NewGateway(), &world_.NewGateway()} {}

  void Run() {
    for (const char* directory : {"/d/s", "/e"})
      ASSERT_TRUE(world_.Run(MakeDirectoryName(*gateways_[0]->engine, Name(directory), true)));
    for (const char* object : {"/o", "/d/o"})
      ASSERT_TRUE(world_.Run(PutInTree(world_, *gateways_[1], Name(object))));
    for (Gateway* gateway : gateways_) {
      for (const auto& fault : gateway->faults) {
        fault->plan().Add({.kind = FaultKind::kDelay,
                           .one_in = 2 + random_.Next() % 6,
                           .delay = std::chrono::milliseconds(random_.Next() % 150)});
      }
    }
    for (int i = 0; i < 6; ++i) scope_.Spawn(Work());
    ASSERT_TRUE(world_.executor.RunUntil([&] { return ended_ == 6; }, 2'000'000)) << world_.options.seed;
    for (Gateway* gateway : gateways_) {
      for (const auto& fault : gateway->faults) fault->plan().Clear();
    }
    world_.Pass(30s);
    const std::set<std::string> tree = Tree(world_, *gateways_[0]);
    for (const std::string& name : names_) {
      const bool lives = world_.Lives(*gateways_[1], name);
      EXPECT_EQ(tree.contains(name), lives) << world_.options.seed << " " << name << told_;
    }
    for (Gateway* gateway : gateways_) gateway->Kill();
  }

 private:
  Task<void> Work() {
    Gateway& gateway = *gateways_[random_.Next() % 2];
    Engine& engine = *gateway.engine;
    co_await Pause(engine, std::chrono::milliseconds(random_.Next() % 300));
    const bool slow = random_.Next() % 4 == 0;
    const Duration sealed_for = slow ? Duration(2500ms) : Duration(0);
    Status done;
    std::string what;
    switch (random_.Next() % 8) {
      case 0:
      case 1:
        what = "put /d/s/x";
        done = co_await PutInTree(world_, gateway, Name("/d/s/x"), 0s, sealed_for);
        break;
      case 2:
        what = "put /d/y";
        done = co_await PutInTree(world_, gateway, Name("/d/y"), sealed_for);
        break;
      case 3:
        what = "mv /o /d/s/o";
        done = co_await RenameInTree(gateway, Name("/o"), Name("/d/s/o"));
        break;
      case 4:
        what = "mkdir /d/s/t";
        done = co_await MakeDirectoryName(engine, Name("/d/s/t"), true);
        break;
      case 5:
        what = "rmdir /d/s";
        done = co_await RemoveDirectoryName(engine, Name("/d/s"));
        break;
      case 6:
        what = "mv /d/s /e/s";
        done = co_await RenameDirectory(engine, Name("/d/s"), Name("/e/s"));
        break;
      default:
        what = "mv /d /f";
        done = co_await RenameDirectory(engine, Name("/d"), Name("/f"));
        break;
    }
    told_ += fmt::format("\n  {}: {}", what, done ? "ok" : done.error().message);
    ++ended_;
  }

  const std::vector<std::string> names_ = {"/d",     "/d/s", "/d/s/x", "/d/y",   "/d/s/o", "/d/s/t", "/d/o",
                                           "/e",     "/e/s", "/e/s/x", "/e/s/o", "/e/s/t", "/f",     "/f/s",
                                           "/f/s/x", "/f/y", "/f/s/o", "/f/s/t", "/f/o",   "/o"};
  Random random_;
  TestWorld world_;
  TaskScope scope_;
  std::vector<Gateway*> gateways_;
  int ended_ = 0;
  std::string told_;
};

TEST(InTreeAtOnceTest, WhatLivesIsInTheTree) {
  for (uint64_t seed = 1; seed <= 400 && !::testing::Test::HasFailure(); ++seed) AtOnce(seed).Run();
}

}  // namespace
}  // namespace xec

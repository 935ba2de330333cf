// SPDX-License-Identifier: LGPL-3.0-or-later
// One name as object and as directory: whoever makes, puts, renames or removes it, stopped at each of its
// steps while somebody else does something with the same name and is answered.
#include <functional>

#include "commit/test/test_world.hh"

namespace xec {
namespace {

using namespace std::chrono_literals;
using Gateway = TestWorld::Gateway;
using Act = std::function<Task<Status>(Gateway&)>;

constexpr size_t kStepsMax = 100'000;
constexpr Duration kShort = 3s;  // nothing is given up meanwhile

ObjectPath Name(std::string_view text) { return TestWorld::Path(text); }

Task<Status> MakeDirectory(Gateway& gateway) {
  co_return co_await MakeDirectoryName(*gateway.engine, Name("/a"), false);
}

Task<Status> RenameOnto(Gateway& gateway) {
  co_return co_await RenameObject(*gateway.engine, Name("/b"), Name("/a"));
}

Task<Status> RemoveIt(Gateway& gateway) { co_return co_await RemoveObject(*gateway.engine, Name("/a")); }

Task<Status> RemoveDirectoryIt(Gateway& gateway) {
  co_return co_await RemoveDirectoryName(*gateway.engine, Name("/a"));
}

Task<Status> RemoveAndMake(TestWorld& world, Gateway& gateway) {
  Status done = co_await RemoveIt(gateway);
  if (done) done = co_await MakeDirectory(gateway);
  if (done) done = co_await world.PutOn(gateway, Name("/a/x"), false);
  co_return std::move(done);
}

Task<Status> RemoveDirectoryAndPut(TestWorld& world, Gateway& gateway) {
  Status done = co_await RemoveDirectoryIt(gateway);
  if (done) done = co_await world.PutOn(gateway, Name("/a"), false);
  co_return std::move(done);
}

Task<void> Keep(Task<Status> task, std::optional<Status>& into) {
  Status status = co_await task;
  into = std::move(status);
}

bool MayTakeEffect(const Status& status) { return status || status.code() == Code::kUnknown; }

class KindRaceTest : public ToleranceTest {
 protected:
  struct Race {
    const char* what;
    Act stopped;
    Act other;
    Duration sleep = kShort;
    bool clean = false;  // while it sleeps, before the other begins
  };
  using Prepare = std::function<void(TestWorld&, Gateway&)>;
  using Judge = std::function<void(TestWorld&, const Status&, const Status&, const std::string&)>;
  using Acts = std::function<Race(TestWorld&)>;

  // `stopped` sleeps at each of its steps in turn, and goes on when `other` was answered.
  static void AtEveryStep(const Prepare& prepare, const Acts& acts, const Judge& judge) {
    for (size_t steps = 1;; ++steps) {
      ASSERT_LT(steps, kStepsMax);
      TestWorld world(OptionsOf(steps % 5 + 1));
      prepare(world, world.NewGateway());
      const Race race = acts(world);
      Gateway& sleeper = world.NewGateway();
      std::optional<Status> first;
      sleeper.scope.Spawn(Keep(race.stopped(sleeper), first));
      world.executor.RunUntilIdle(steps);
      if (first) break;
      sleeper.process.SleepUntil(world.executor.Now() + race.sleep);
      if (race.clean) {
        world.Pass(race.sleep / 2);
        Gateway& cleaner = world.NewGateway();
        for (int i = 0; i < 3; ++i) {
          const Result<CleanOutcome> cleaned = world.Run(CleanTree(*cleaner.engine, Name("/")));
          (void)cleaned;
        }
      }
      const Status second = world.Run(race.other(world.NewGateway()));
      ASSERT_TRUE(world.executor.RunUntil([&] { return first.has_value(); }, kStepsMax));
      judge(world, *first, second, fmt::format("{}, stopped after {} steps", race.what, steps));
      if (HasFailure()) return;
    }
  }

  static std::string Told(const Status& status) {
    return status ? "OK" : fmt::format("{}", status.error().message);
  }

  // What is there is as was told, and nothing is left over when all is cleaned.
  static void ExpectAsTold(TestWorld& world, const std::optional<Accepted::Kind>& told,
                           const std::string& when) {
    Gateway& fresh = world.NewGateway();
    const Accepted seen = world.StateOf(fresh, "/a");
    EXPECT_EQ(seen.kind, told.value_or(seen.kind)) << when;
    world.Pass(2h);
    world.Clean(world.NewGateway());
    const Accepted after = world.StateOf(fresh, "/a");
    // Any client that meets what one home has of a dead maker may decide it.
    const bool open = !told && !seen.Live();
    EXPECT_TRUE(open || after == seen) << when << ": the cleaner changed it";
    for (const std::string& entry : world.EntriesOf(fresh, "/a")) {
      const std::optional<State> state = ParseState(entry);
      EXPECT_TRUE(after.Live() && state->Accepted() && state->version == after.version)
          << when << ": " << entry << " is left";
    }
  }

  // If one client makes a directory and another one an object, at most one may be told that it did.
  static void JudgeKinds(TestWorld& world, const Status& directory, const Status& object,
                         const std::string& when) {
    const std::string both = when + ": mkdir " + Told(directory) + ", object " + Told(object);
    EXPECT_FALSE(directory && object) << both;
    std::optional<Accepted::Kind> told;
    if (directory) told = Accepted::kDirectory;
    if (object) told = Accepted::kObject;
    const bool open = MayTakeEffect(directory) || MayTakeEffect(object);
    EXPECT_TRUE(open || !world.Lives(world.NewGateway(), "/a")) << both;
    ExpectAsTold(world, told, both);
  }

  static void PutB(TestWorld& world, Gateway& gateway) { ASSERT_TRUE(world.Put(gateway, "/b")); }

  static Act MakerOfObject(TestWorld& world, int kind) {
    if (kind == 2) return [](Gateway& gateway) { return RenameOnto(gateway); };
    return [&world, kind](Gateway& gateway) { return world.PutOn(gateway, Name("/a"), kind == 1); };
  }
};

INSTANTIATE_TEST_SUITE_P(Tolerance, KindRaceTest, ::testing::Values(1, 2));

constexpr const char* kKinds[] = {"a put", "an exclusive put", "a rename"};
struct Nap {
  Duration sleep;
  bool clean;
};
const Nap kNaps[] = {{kShort, false}, {40min, true}};

// mkdir looked, an object came and was told, then the directory was made above it.
TEST_P(KindRaceTest, ADirectoryIsNotMadeAboveAnObjectThatCameMeanwhile) {
  for (int kind = 0; kind < 3; ++kind) {
    for (const Nap& nap : kNaps) {
      size_t objects = 0;
      AtEveryStep(
          PutB,
          [&](TestWorld& world) {
            return Race{kKinds[kind], [](Gateway& gateway) { return MakeDirectory(gateway); },
                        MakerOfObject(world, kind), nap.sleep, nap.clean};
          },
          [&](TestWorld& world, const Status& first, const Status& second, const std::string& when) {
            JudgeKinds(world, first, second, "a directory, beside " + when);
            objects += second ? 1 : 0;
          });
      EXPECT_GT(objects, 0u) << kKinds[kind];
    }
  }
}

// Somebody who makes an object looked, a directory was made and told, then the object was promoted above it.
TEST_P(KindRaceTest, AnObjectIsNotPromotedAboveADirectoryThatCameMeanwhile) {
  for (int kind = 0; kind < 3; ++kind) {
    for (const Nap& nap : kNaps) {
      AtEveryStep(
          PutB,
          [&](TestWorld& world) {
            return Race{kKinds[kind], MakerOfObject(world, kind),
                        [](Gateway& gateway) { return MakeDirectory(gateway); }, nap.sleep, nap.clean};
          },
          [&](TestWorld& world, const Status& first, const Status& second, const std::string& when) {
            JudgeKinds(world, second, first, when);
          });
    }
  }
}

// rm looked at an object; when it goes on somebody else has removed that and made a directory, which it
// removed.
TEST_P(KindRaceTest, RemovingAnObjectSparesWhatCameAfterIt) {
  AtEveryStep([](TestWorld& world, Gateway& gateway) { ASSERT_TRUE(world.Put(gateway, "/a")); },
              [&](TestWorld& world) {
                return Race{"rm", [](Gateway& gateway) { return RemoveIt(gateway); },
                            [&world](Gateway& gateway) { return RemoveAndMake(world, gateway); }};
              },
              [&](TestWorld& world, const Status& first, const Status& second, const std::string& when) {
                // The first rm may have come to its end before the second began.
                if (!second && second.code() == Code::kNotFound) return;
                EXPECT_TRUE(second) << when << ": " << Told(second);
                EXPECT_TRUE(first || first.code() == Code::kNotFound || first.code() == Code::kIsDirectory)
                    << when << ": " << Told(first);
                EXPECT_TRUE(world.Lives(world.NewGateway(), "/a/x")) << when;
                ExpectAsTold(world, Accepted::kDirectory, when);
              });
}

TEST_P(KindRaceTest, RemovingADirectorySparesWhatCameAfterIt) {
  AtEveryStep([](TestWorld& world, Gateway& gateway) { ASSERT_TRUE(world.Run(MakeDirectory(gateway))); },
              [&](TestWorld& world) {
                return Race{"rmdir", [](Gateway& gateway) { return RemoveDirectoryIt(gateway); },
                            [&world](Gateway& gateway) { return RemoveDirectoryAndPut(world, gateway); }};
              },
              [&](TestWorld& world, const Status& first, const Status& second, const std::string& when) {
                if (!second && second.code() == Code::kNotFound) return;
                EXPECT_TRUE(second) << when << ": " << Told(second);
                EXPECT_TRUE(first || first.code() == Code::kNotFound || first.code() == Code::kNotDirectory)
                    << when << ": " << Told(first);
                ExpectAsTold(world, Accepted::kObject, when);
              });
}

// A removal is of what it saw, however old that is. A client that has it open keeps it for the readers'
// grace, and the removal is not forgotten before the horizon.
TEST_P(KindRaceTest, TheRemovalOfAnOldObjectIsYoung) {
  // The cleaner's clock may be behind those of the servers.
  for (const Duration skew : {Duration(0), Duration(-2min)}) {
    TestWorld world(OptionsOf(1));
    Gateway& gateway = world.NewGateway();
    ASSERT_TRUE(world.Put(gateway, "/a"));
    world.Pass(2h);
    ASSERT_TRUE(world.Run(RemoveIt(gateway)));
    const auto count = [&](std::string_view kind) {
      const std::vector<std::string> entries = world.EntriesOf(gateway, "/a");
      return std::count_if(entries.begin(), entries.end(),
                           [&](const auto& e) { return e.starts_with(kind); });
    };
    Gateway& cleaner = world.NewGateway();
    cleaner.process.SetWallSkew(skew);
    const auto clean = [&] { ASSERT_TRUE(world.Run(CleanName(*cleaner.engine, Name("/a")))); };
    const auto archives = count("p.");
    ASSERT_GT(archives, 0);
    clean();
    EXPECT_EQ(count("p."), archives) << "who opened it just now reads on";
    world.Pass(4min);
    clean();
    EXPECT_EQ(count("p."), archives);
    world.Pass(4min);
    clean();
    EXPECT_EQ(count("p."), 0);
    EXPECT_GT(count("t."), 0) << "the horizon has not passed";
    world.Pass(4min);
    clean();
    EXPECT_GT(count("t."), 0) << "the horizon has not passed";
    world.Pass(6min);
    clean();
    EXPECT_EQ(count("t."), 0);
  }
}

// Killed after each of its steps: a directory or nothing, and nothing left behind.
TEST_P(KindRaceTest, EveryCrashPointOfMkdirLeavesADirectoryOrNothing) {
  bool with = false;
  bool without = false;
  for (size_t steps = 1;; ++steps) {
    ASSERT_LT(steps, kStepsMax);
    TestWorld world(OptionsOf(steps % 5 + 1));
    Gateway& gateway = world.NewGateway();
    const auto ended = world.executor.RunTask(MakeDirectory(gateway), steps);
    gateway.Kill();
    const std::string when = fmt::format("killed after {} steps", steps);
    ExpectAsTold(world, std::nullopt, when);
    const bool lives = world.Lives(world.NewGateway(), "/a");
    (lives ? with : without) = true;
    // Whatever it was, the name can be used.
    Gateway& fresh = world.NewGateway();
    Status used;
    if (lives) used = world.Run(RemoveDirectoryIt(fresh));
    if (!lives) used = world.Run(world.PutOn(fresh, Name("/a"), false));
    EXPECT_TRUE(used) << when << ": " << Told(used);
    if (HasFailure() || ended) break;
  }
  EXPECT_TRUE(with && without);
}

}  // namespace
}  // namespace xec

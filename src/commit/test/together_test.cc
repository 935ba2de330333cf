// SPDX-License-Identifier: LGPL-3.0-or-later
// Promise P8 among several: clients of two gateways are at work on the same names when servers stop, no more
// than the store tolerates. Nobody waits for the deadline of a request, nobody is told that nobody can tell.
#include <set>

#include "commit/engine/server_gather.hh"
#include "commit/programs/attributes.hh"
#include "commit/rename/rename.hh"
#include "commit/steps/move.hh"
#include "commit/test/test_clients.hh"
#include "runtime/status_of.hh"

namespace xec {
namespace {

using namespace std::chrono_literals;
using Gateway = TestWorld::Gateway;

constexpr uint64_t kSeeds = 2'000;
// Shorter than the deadline of any request, which is 10 s, and than any patience with others' seals.
constexpr Duration kLongest = 9s;

template <typename T>
Task<Status> Done(Task<Result<T>> task) {
  const Result<T> result = co_await std::move(task);
  co_return result ? OkStatus() : Status(result.error());
}

class NamesAtOnce final : public ClientsAtOnce {
 public:
  explicit NamesAtOnce(const TestWorld::Options& options)
      : ClientsAtOnce(options, {.delay_max = 60ms, .stop_within = 600ms, .longest = kLongest}) {}

 private:
  void Prepare() override {
    if (Below(2) == 0) (void)world_.Put(*gateways_[0], "/d/a");
    if (Below(2) == 0) (void)world_.Put(*gateways_[1], "/d/b");
  }

  Task<Status> Act(Gateway& gateway, std::string& told) override {
    const auto& [what, work] = kWork[Below(kWork.size())];
    const ObjectPath path = AnyName();
    told = fmt::format("{} {}", what, path.text());
    return work(*this, gateway, path);
  }

  bool IsFair(Code code, const std::string& what) const override {
    const std::set<Code> fair = {Code::kNotFound, Code::kAlreadyExists, Code::kConflict, Code::kNotEmpty};
    const bool may_be_unknown =
        what.starts_with("set an attribute") || what.starts_with("rename the directory");
    return (code == Code::kUnknown && may_be_unknown) || fair.contains(code);
  }

  Task<Status> Put(Gateway& gateway, ObjectPath path, bool exclusive) {
    Status parent = co_await MakeDirectoryName(*gateway.engine, path.Parent(), true);
    if (!parent && parent.code() != Code::kAlreadyExists) co_return std::move(parent);
    Result<PutRequest> started = co_await world_.StartPut(gateway, path, exclusive);
    if (!started) co_return started.error();
    PutRequest request = std::move(*started);
    ServerGather<Status> gather(*gateway.engine, RequestKind::kSync);
    const std::vector<MemberIndex> servers = world_.Placement(path);
    for (const MemberIndex server : servers)
      gather.Start(server, server, kLongest, world_.SealTask(gateway, path, server, request.seal));
    while (gather.pending() > 0 &&
           (gather.timely() > 0 || request.archives.size() < servers.size() - world_.options.tolerance)) {
      const auto event = co_await gather.Next();
      if (event.value && *event.value) request.archives.push_back(event.member);
    }
    const State seal = request.seal;
    Result<Version> put = co_await CommitPut(*gateway.engine, std::move(request));
    if (put) co_return OkStatus();
    if (put.code() != Code::kUnknown) co_await AbandonUpload(*gateway.engine, path, seal, servers);
    co_return put.error();
  }

  static Task<Status> SetAttribute(Engine& engine, ObjectPath path) {
    Result<NameInfo> info = co_await LookUpLive(engine, path);
    if (!info) co_return info.error();
    AttributeChange change{{{"a", "b"}}, std::nullopt, {}};
    co_return co_await ChangeAttribute(engine, *info, std::move(change));
  }

  using Working = std::function<Task<Status>(NamesAtOnce&, Gateway&, ObjectPath)>;
  static const std::vector<std::pair<std::string, Working>> kWork;
};

const std::vector<std::pair<std::string, NamesAtOnce::Working>> NamesAtOnce::kWork = {
    {"put", [](auto& self, Gateway& gateway, ObjectPath path) { return self.Put(gateway, path, false); }},
    {"create", [](auto& self, Gateway& gateway, ObjectPath path) { return self.Put(gateway, path, true); }},
    {"remove",
     [](auto&, Gateway& gateway, ObjectPath path) { return StatusOf(RemoveObject(*gateway.engine, path)); }},
    {"rename", [](auto& self, Gateway& gateway,
                  ObjectPath path) { return StatusOf(RenameObject(*gateway.engine, path, self.AnyName())); }},
    {"look up", [](auto&, Gateway& gateway, ObjectPath path) { return Done(LookUp(*gateway.engine, path)); }},
    {"list", [](auto&, Gateway& gateway,
                ObjectPath path) { return Done(ListDirectory(*gateway.engine, path.Parent())); }},
    {"make the directory of",
     [](auto&, Gateway& gateway, ObjectPath path) {
       return MakeDirectoryName(*gateway.engine, path.Parent(), false);
     }},
    {"remove the directory of",
     [](auto&, Gateway& gateway, ObjectPath path) {
       return RemoveDirectoryName(*gateway.engine, path.Parent());
     }},
    {"rename the directory of",
     [](auto&, Gateway& gateway, ObjectPath path) {
       return RenameDirectory(*gateway.engine, path.Parent(), TestWorld::Path("/e"));
     }},
    {"set an attribute of",
     [](auto&, Gateway& gateway, ObjectPath path) { return SetAttribute(*gateway.engine, path); }},
    {"tell the attributes of",
     [](auto&, Gateway& gateway, ObjectPath path) { return Done(LookUpAttributes(*gateway.engine, path)); }},
};

class TogetherTest : public ToleranceTest {};

INSTANTIATE_TEST_SUITE_P(Tolerance, TogetherTest, ::testing::Values(1, 2));

TEST_P(TogetherTest, NobodyWaitsForServersThatStop) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) NamesAtOnce(OptionsOf(seed)).Run();
}

Task<void> PutAgainAndAgain(TestWorld& world, TestWorld::Gateway& gateway, int times, bool* over) {
  for (int i = 0; i < times; ++i) (void)co_await world.PutOn(gateway, TestWorld::Path("/a"), false);
  *over = true;
}

// The bug: after five looks that changes had overtaken a reader was told that nobody can tell what the name
// is.
TEST_P(TogetherTest, AReaderOfWhatIsAlwaysBeingReplacedIsAnsweredInTheEnd) {
  TestWorld world(OptionsOf(1));
  auto& writer = world.NewGateway();
  ASSERT_TRUE(world.Put(writer, "/a"));
  bool over = false;
  writer.scope.Spawn(PutAgainAndAgain(world, writer, 300, &over));
  // To be overtaken is not counted as a try, of which there is one. The homes are never listed in the same
  // state.
  EngineOptions once;
  once.retries_max = 0;
  auto& reader = world.NewGateway(once);
  std::chrono::milliseconds delay{0};
  for (const MemberIndex home : HomeFinder(world.descriptor).Of("a")) {
    reader.faults[home]->plan().Add({.kind = FaultKind::kDelay, .delay = delay});
    delay += std::chrono::milliseconds(40);
  }
  int answered = 0;
  while (!over) {
    EXPECT_TRUE(world.Lives(reader, "/a"));
    ++answered;
  }
  EXPECT_GT(answered, 0);
}

// A put whose client dies when only this home has accepted it.
void PutOnOneHome(TestWorld& world, MemberIndex home) {
  auto& writer = world.NewGateway();
  for (size_t server = 0; server < writer.faults.size(); ++server) {
    if (server != home) writer.faults[server]->plan().Add({.operation = Operation::kRename});
  }
  EXPECT_FALSE(world.Put(writer, "/a"));
  writer.Kill();
}

// The bug: each look heard the same homes, and not the one that is asked in place of the read-only one and
// has something higher: nobody could tell what the name is.
TEST_P(TogetherTest, AHomeThatHasOvertakenALookIsHeardByTheNext) {
  TestWorld world(OptionsOf(1));
  ASSERT_TRUE(world.Put(world.NewGateway(), "/a"));
  const Homes homes = HomeFinder(world.descriptor).Of("a");
  PutOnOneHome(world, homes.front());
  PutOnOneHome(world, homes.back());
  auto& reader = world.NewGateway();
  for (size_t i = 1; i <= GetParam(); ++i) reader.faults[homes[i]]->plan().SetReadOnly(true);
  EXPECT_TRUE(world.Lives(reader, "/a"));
}

// The bug: as if the move had been completed since the look, for which there was no need to wait.
TEST_P(TogetherTest, AHomeThatIsLateWithItsTombstoneIsNotTakenForOneWithout) {
  TestWorld world(OptionsOf(1));
  Gateway& dying = world.NewGateway();
  ASSERT_TRUE(world.Put(dying, "/a"));
  const MemberIndex knows = HomeFinder(world.descriptor).Of("a").front();
  for (size_t server = 0; server < dying.faults.size(); ++server) {
    const FaultRule refused{.operation = Operation::kRename, .path_contains = "/a.~xo/"};
    if (server != knows) dying.faults[server]->plan().Add(refused);
  }
  EXPECT_FALSE(world.Run(RenameObject(*dying.engine, world.Path("/a"), world.Path("/b"))));
  dying.Kill();
  Gateway& reader = world.NewGateway();
  std::map<MemberIndex, States> listings;
  listings[knows] = *world.Run(ListStates(*reader.engine, knows, world.Path("/a")));
  const Accepted moved = HighestAccepted(listings[knows]);
  ASSERT_EQ(moved.kind, Accepted::kMoved);
  reader.faults[knows]->plan().Add(
      {.kind = FaultKind::kHang, .operation = Operation::kOpen, .path_contains = "/a.~xo/t."});
  const Status finished = world.Run(
      FinishMovesShown(*reader.engine, world.Path("/a"), listings, moved, {knows}, Late::kPassedOver));
  EXPECT_EQ(finished.code(), Code::kNoQuorum) << finished.error().message;
}

}  // namespace
}  // namespace xec

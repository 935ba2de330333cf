// SPDX-License-Identifier: LGPL-3.0-or-later
// Promise P8 among several: clients of two gateways are at work on the same names when servers stop, no more
// than the store tolerates. Nobody waits for the deadline of a request, nobody is told that nobody can tell.
#include <set>

#include "base/random.hh"
#include "commit/attributes.hh"
#include "commit/pause.hh"
#include "commit/server_gather.hh"
#include "commit/test_world.hh"

namespace xec {
namespace {

using namespace std::chrono_literals;
using Gateway = TestWorld::Gateway;

constexpr uint64_t kSeeds = 2'000;
constexpr size_t kClients = 4;
constexpr size_t kStepsMax = 400'000;
// Shorter than the deadline of any request, which is 10 s, and than any patience with others' seals.
constexpr Duration kLongest = 9s;

struct Told {
  std::string what;
  std::optional<Status> status;
  TimePoint begun;
  TimePoint ended;
};

template <typename T>
Task<Status> Done(Task<Result<T>> task) {
  const Result<T> result = co_await std::move(task);
  co_return result ? OkStatus() : Status(result.error());
}

class ClientsAtOnce {
 public:
  explicit ClientsAtOnce(const TestWorld::Options& options)
      : random_(options.seed), world_(options), gateways_{&world_.NewGateway(), &world_.NewGateway()} {}

  void Run() {
    if (random_.Next() % 2 == 0) (void)world_.Put(*gateways_[0], "/d/a");
    if (random_.Next() % 2 == 0) (void)world_.Put(*gateways_[1], "/d/b");
    ServersSuffer();
    std::vector<Told> told(kClients);
    for (Told& one : told) scope_.Spawn(Work(one));
    const auto ended = [&] {
      return std::all_of(told.begin(), told.end(), [](const Told& one) { return one.status.has_value(); });
    };
    ASSERT_TRUE(world_.executor.RunUntil(ended, kStepsMax)) << world_.options.seed;
    for (const Told& one : told) Check(one);
    for (Gateway* gateway : gateways_) gateway->Kill();
  }

 private:
  uint64_t Below(uint64_t limit) { return random_.Next() % limit; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  ObjectPath AnyName() {
    static constexpr std::array kNames = {"/d/a", "/d/b"};
    return TestWorld::Path(kNames[Below(kNames.size())]);
  }

  // Some stop, each at one of its requests; all are slow now and then, but not so slow that they seem
  // stopped.
  void ServersSuffer() {
    const uint64_t seldom = 2 + Below(6);
    const auto delay = Duration(std::chrono::milliseconds(5 + Below(55)));
    for (Gateway* gateway : gateways_) {
      for (const auto& fault : gateway->faults)
        fault->plan().Add({.kind = FaultKind::kDelay, .one_in = seldom, .delay = delay});
    }
    for (uint32_t i = 0; i < world_.options.tolerance; ++i) {
      const size_t server = Below(world_.memory.size());
      const auto stop = [this, server] {
        for (Gateway* gateway : gateways_) {
          gateway->faults[server]->plan().Clear();
          gateway->faults[server]->plan().Add({.kind = FaultKind::kHang});
        }
      };
      world_.executor.RunAt(world_.executor.Now() + std::chrono::milliseconds(Below(600)), stop);
    }
  }

  Task<void> Work(Told& told) {
    Gateway& gateway = *gateways_[Below(gateways_.size())];
    co_await Pause(*gateway.engine, std::chrono::milliseconds(Below(300)));
    told.begun = world_.executor.Now();
    const uint64_t which = Below(kWork.size());
    const ObjectPath path = AnyName();
    const auto& [what, work] = kWork[which];
    told.what = fmt::format("{} {}", what, path.text());
    Status status = co_await work(*this, gateway, path);
    told.ended = world_.executor.Now();
    told.status = std::move(status);
  }

  Task<Status> Put(Gateway& gateway, ObjectPath path, bool exclusive) {
    Status parent = co_await MakeDirectoryName(*gateway.engine, path.Parent(), true);
    if (!parent && parent.code() != Code::kAlreadyExists) co_return std::move(parent);
    PutRequest request{path, SealedState(gateway.engine->NewObjectId()), 7, {}, 0, std::nullopt};
    if (exclusive) {
      Result<ExclusiveStart> start = co_await StartExclusive(*gateway.engine, path);
      if (!start) co_return start.error();
      request.seal.version = start->version;
      request.exclusive_base = start->base;
    }
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
    AttributeChange change{"a", "b", std::nullopt, {}};
    co_return co_await ChangeAttribute(engine, *info, std::move(change));
  }

  using Working = std::function<Task<Status>(ClientsAtOnce&, Gateway&, ObjectPath)>;
  static const std::vector<std::pair<std::string, Working>> kWork;

  void Check(const Told& told) {
    const std::string when = fmt::format("seed {}, {}: {}", world_.options.seed, told.what,
                                         *told.status ? "ok" : told.status->error().message);
    EXPECT_LE(told.ended - told.begun, kLongest) << when;
    if (*told.status) return;
    const std::set<Code> fair = {Code::kNotFound, Code::kAlreadyExists, Code::kConflict, Code::kNotEmpty};
    const Code code = told.status->code();
    const bool may_be_unknown =
        told.what.starts_with("set an attribute") || told.what.starts_with("rename the directory");
    EXPECT_TRUE((code == Code::kUnknown && may_be_unknown) || fair.contains(code)) << when;
  }

  Random random_;
  TestWorld world_;
  TaskScope scope_;
  std::vector<Gateway*> gateways_;
};

const std::vector<std::pair<std::string, ClientsAtOnce::Working>> ClientsAtOnce::kWork = {
    {"put", [](auto& self, Gateway& gateway, ObjectPath path) { return self.Put(gateway, path, false); }},
    {"create", [](auto& self, Gateway& gateway, ObjectPath path) { return self.Put(gateway, path, true); }},
    {"remove", [](auto&, Gateway& gateway, ObjectPath path) { return RemoveObject(*gateway.engine, path); }},
    {"rename", [](auto& self, Gateway& gateway,
                  ObjectPath path) { return RenameObject(*gateway.engine, path, self.AnyName()); }},
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
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) ClientsAtOnce(OptionsOf(seed)).Run();
}

}  // namespace
}  // namespace xec

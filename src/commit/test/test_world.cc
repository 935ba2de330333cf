// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/test/test_world.hh"

#include "archive/archive_writer.hh"

namespace xec {

TestWorld::Gateway::Gateway(TestWorld& world, uint64_t seed, const EngineOptions& options)
    : process(world.executor) {
  std::vector<DataServerPtr> views;
  for (const auto& server : world.memory) {
    faults.push_back(std::make_shared<FaultServer>(server->ViewFor(process), process, seed));
    views.push_back(std::make_shared<CountingServer>(faults.back(), counts));
  }
  engine = std::make_unique<Engine>(world.descriptor, views, process, scope, seed, options);
}

TestWorld::Gateway::~Gateway() { Kill(); }

void TestWorld::Gateway::Kill() {
  process.Kill();
  scope.Abandon();
  for (const auto& fault : faults) fault->plan().DropHung();
}

TestWorld::TestWorld(const Options& world_options)
    : options(world_options), executor(VirtualOptions{.seed = world_options.seed}) {
  descriptor.store_id = std::string(32, 'a');
  descriptor.tolerance = options.tolerance;
  descriptor.geometry = Geometry{3, options.tolerance, 64 * kKiB};
  for (size_t i = 0; i < options.servers; ++i) {
    Member member;
    member.id = fmt::format("s{:02}", i);
    member.address = "local";
    member.host = member.id;
    descriptor.members.push_back(member);
    MemoryServerOptions server;
    server.latency = [this](Operation) {
      return Duration(std::chrono::milliseconds(1 + random_.Next() % 5));
    };
    memory.push_back(std::make_shared<MemoryServer>(member.id, executor, server));
  }
}

TestWorld::~TestWorld() = default;

ObjectPath TestWorld::Path(std::string_view text) {
  Result<ObjectPath> path = ObjectPath::Parse(text);
  XEC_CHECK(path.has_value());
  return *path;
}

TestWorld::Gateway& TestWorld::NewGateway(const EngineOptions& engine) {
  gateways.push_back(std::make_unique<Gateway>(*this, 100 * options.seed + gateways.size(), engine));
  return *gateways.back();
}

std::vector<MemberIndex> TestWorld::Placement(const ObjectPath& path) const {
  std::vector<MemberIndex> servers = HomeFinder(descriptor).Of(path.Last());
  for (size_t i = 0; i < memory.size() && servers.size() < descriptor.geometry.Total(); ++i) {
    const auto member = static_cast<MemberIndex>(i);
    if (!Contains(servers, member)) servers.push_back(member);
  }
  return servers;
}

Status TestWorld::Seal(Gateway& gateway, const ObjectPath& path, MemberIndex server, const State& seal,
                       std::optional<uint32_t> lane) {
  return Run(SealTask(gateway, path, server, seal, lane));
}

Task<Status> TestWorld::SealTask(Gateway& gateway, const ObjectPath& path, MemberIndex server,
                                 const State& seal, std::optional<uint32_t> lane) {
  Manifest manifest;
  manifest.lane = lane;
  manifest.object_id = seal.oid;
  manifest.size_bytes = 7;
  manifest.geometry = descriptor.geometry;
  manifest.path = path.text();
  for (const MemberIndex member : Placement(path)) manifest.servers.push_back(descriptor.members[member].id);
  manifest.servers.resize(descriptor.geometry.Total());
  const auto text = manifest.Serialize();
  const auto bytes = ArchiveWriter().Finish(*text);
  return CreateFile(gateway.engine->MetadataCall(), gateway.engine->server(server),
                    StatePath(path, FormatState(seal)), std::string(AsText(*bytes)), true);
}

Result<Version> TestWorld::Put(Gateway& gateway, const std::string& name, std::vector<MemberIndex> without) {
  const ObjectPath path = Path(name);
  PutRequest request{path, SealedState(gateway.engine->NewObjectId()), 7, {}, 0, std::nullopt};
  for (const MemberIndex server : Placement(path)) {
    if (Contains(without, server)) continue;
    if (Seal(gateway, path, server, request.seal)) request.archives.push_back(server);
  }
  return Run(CommitPut(*gateway.engine, std::move(request)));
}

Task<Result<PutRequest>> TestWorld::StartPut(Gateway& gateway, ObjectPath path, bool exclusive) {
  PutRequest request{path, SealedState(gateway.engine->NewObjectId()), 7, {}, 0, std::nullopt};
  if (exclusive) {
    Result<ExclusiveStart> start = co_await StartExclusive(*gateway.engine, path);
    if (!start) co_return start.error();
    request.seal.version = start->version;
    request.exclusive_base = start->base;
  }
  co_return std::move(request);
}

Task<Status> TestWorld::PutOn(Gateway& gateway, ObjectPath path, bool exclusive) {
  Result<PutRequest> started = co_await StartPut(gateway, path, exclusive);
  if (!started) co_return started.error();
  PutRequest request = std::move(*started);
  const std::vector<MemberIndex> servers = Placement(path);
  for (const MemberIndex server : servers) {
    Status sealed = co_await SealTask(gateway, path, server, request.seal);
    if (sealed) {
      request.archives.push_back(server);
    } else {
      gateway.engine->given_up_files().Add(server, StatePath(path, FormatState(request.seal)));
    }
  }
  const State seal = request.seal;
  Result<Version> put = co_await CommitPut(*gateway.engine, std::move(request));
  if (put) co_return OkStatus();
  if (put.code() != Code::kUnknown) co_await AbandonUpload(*gateway.engine, path, seal, servers);
  co_return put.error();
}

Accepted TestWorld::StateOf(Gateway& gateway, const std::string& name) {
  const Result<NameInfo> info = Run(LookUp(*gateway.engine, Path(name)));
  EXPECT_TRUE(info) << name << ": " << info.error().message;
  return info ? info->accepted : Accepted{};
}

void TestWorld::Clean(Gateway& gateway) {
  for (int i = 0; i < 6; ++i) {
    const Result<CleanOutcome> cleaned = Run(CleanTree(*gateway.engine, Path("/")));
    if (cleaned && cleaned->left == 0 && cleaned->removed == 0) return;
    Pass(std::chrono::hours(2));
  }
}

bool TestWorld::Tidy(Gateway& gateway, Duration at_most) {
  const TimePoint until = executor.Now() + at_most;
  while (gateway.engine->given_up_files().size() > 0 && executor.Now() < until) {
    gateway.scope.Spawn(TidyGivenUpFiles(*gateway.engine));
    Pass(std::chrono::milliseconds(250));
  }
  return gateway.engine->given_up_files().size() == 0;
}

std::vector<std::string> TestWorld::EntriesOf(Gateway& gateway, const std::string& name) {
  std::vector<std::string> entries;
  for (size_t i = 0; i < memory.size(); ++i) {
    const auto states = Run(ListStates(*gateway.engine, static_cast<MemberIndex>(i), Path(name)));
    if (!states) continue;
    for (const State& state : *states) entries.push_back(FormatState(state));
  }
  return entries;
}

}  // namespace xec

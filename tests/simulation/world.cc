// SPDX-License-Identifier: LGPL-3.0-or-later
#include "world.hh"

#include <algorithm>
#include <cstring>

#include "commit/cleaner.hh"
#include "commit/clean_pass.hh"
#include "object/object_reader.hh"
#include "steps.hh"

namespace xec::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr size_t kGateways = 2;
constexpr size_t kClients = 5;  // the first three write
constexpr size_t kTraceLines = 250;
constexpr size_t kStepsMax = 20'000'000;
constexpr Duration kLongestOperation = minutes(20);
constexpr size_t kLastPasses = 12;
const std::vector<std::string> kNames = {"/a/x", "/a/y", "/b/x", "/b/z"};

class World;

struct Gateway {
  size_t index = 0;
  std::unique_ptr<VirtualProcess> process;
  std::unique_ptr<TaskScope> scope;
  std::unique_ptr<Engine> engine;
  std::unique_ptr<Store> store;
  bool dying = false;  // dies as soon as the present piece of work has ended
  bool dead = false;
};

// Stands between one gateway and one server and lets things go wrong.
class Line {
 public:
  Line(World& world, Gateway& gateway, size_t server) : world_(world), gateway_(gateway), server_(server) {}
  template <typename T>
  void Around(const Request& request, Start<T> start, Done<T> done);
  template <typename T>
  void Send(Operation operation, const std::string& path, const std::string& to, Start<T> start, Done<T> done);

 private:
  World& world_;
  Gateway& gateway_;
  const size_t server_;
};

class LineServer final : public DecoratedServer<Line> {
 public:
  LineServer(DataServerPtr inner, std::shared_ptr<Line> line) : DecoratedServer(std::move(inner), std::move(line)) {}
  void Rename(OpContext context, std::string from, std::string to, Done<void> done) override {
    core_->Send<void>(
        Operation::kRename, from, to,
        [inner = inner_, context, from, to](Done<void> d) mutable { inner->Rename(context, from, to, std::move(d)); },
        std::move(done));
  }
};

class World {
 public:
  explicit World(const WorldOptions& options)
      : options_(options), random_(options.seed), executor_(VirtualOptions{options.seed, false, 1'700'000'000'000}), history_(SizeOf) {}

  Outcome Run();

 private:
  friend class Line;
  struct Client {
    bool busy = false;
    size_t op = 0;
    Gateway* gateway = nullptr;
    TimePoint since = {};
  };

  void MakeServers();
  void StartGateway(size_t index);
  void Bury(Gateway& gateway);
  void KillTheDying();
  bool RunUntil(const std::function<bool()>& done, Duration longest);

  Duration Between(Duration low, Duration high) {
    return low + Duration(static_cast<int64_t>(random_.Below(static_cast<uint64_t>((high - low).count()) + 1)));
  }
  bool Chance(double p) { return static_cast<double>(random_.Below(1'000'000)) < p * 1e6; }
  void Say(const std::string& who, const std::string& what);
  void Break(std::string rule);

  Fault PickFault(Operation operation);
  bool TakeDown(size_t server);
  void Think(size_t client);
  void Act(size_t client);
  Op ChooseOp(size_t client);
  Task<void> Perform(Gateway* gateway, size_t client, size_t id);
  Task<Status> Put(Store* store, Op op);
  Task<Status> Read(Store* store, size_t id, std::string name);
  Task<Status> Other(Store* store, size_t id, Op op);
  Task<void> Clean(Gateway* gateway);
  void ScheduleCleaner(size_t gateway);
  void Finish(size_t client, size_t id, Status status);

  void ComeToRest();
  bool CleanAll(Gateway& gateway);
  void CheckNames(Gateway& gateway);
  void CheckFiles(Gateway& gateway, const std::string& name, const std::optional<NameInfo>& info);
  template <typename T>
  std::optional<T> Wait(Task<T> task, Gateway& gateway);

  const WorldOptions options_;
  Random random_;
  VirtualExecutor executor_;
  History history_;
  StoreDescriptor descriptor_;
  std::vector<std::unique_ptr<MemoryServer>> servers_;
  std::vector<bool> down_;
  std::array<std::unique_ptr<Gateway>, kGateways> gateways_;
  std::vector<std::unique_ptr<Gateway>> graves_;  // what is still under way refers to them
  std::array<Client, kClients> clients_;
  Moment moment_ = 1;
  size_t issued_ = 0;
  Content next_content_ = 1;
  double intensity_ = 1;
  bool faults_ = false;
  Outcome outcome_;
};

template <typename T>
void Line::Around(const Request& request, Start<T> start, Done<T> done) {
  Send(request.operation, request.path, {}, std::move(start), std::move(done));
}

template <typename T>
void Line::Send(Operation operation, const std::string& path, const std::string& to, Start<T> start, Done<T> done) {
  if (gateway_.dying || gateway_.dead) return;
  Fault fault = world_.PickFault(operation);
  if (fault == Fault::kServerDown && !world_.TakeDown(server_)) fault = Fault::kNone;
  const std::string step = StepOf(operation, path, to);
  ++world_.outcome_.coverage[step][static_cast<size_t>(fault)];
  if (world_.options_.trace) {
    std::string line = fmt::format("s{} {:24} {}", server_, step, path);
    if (!to.empty()) line += " -> " + to.substr(to.rfind('/') + 1);
    if (fault != Fault::kNone) line += fmt::format("  *** {}", FaultName(fault));
    world_.Say(fmt::format("g{}", gateway_.index), line);
    if (fault == Fault::kNone) {
      done = [this, step, path, done = std::move(done)](Result<T> result) mutable {
        if (!result) world_.Say(fmt::format("g{}", gateway_.index), fmt::format("s{} {} answers {}", server_, step, result.error().ToString()));
        done(std::move(result));
      };
    }
  }
  VirtualProcess& process = *gateway_.process;
  switch (fault) {
    case Fault::kCrashBefore: gateway_.dying = true; return;
    case Fault::kCrashAfter: gateway_.dying = true; break;
    case Fault::kPowerLoss: world_.servers_[server_]->Crash(world_.random_.Next()); break;
    case Fault::kLostReply: {
      const bool silent = world_.random_.OneIn(2);
      start([silent, done = std::move(done)](Result<T>) mutable {
        if (!silent) done(Fail(Code::kUnavailable, "the connection broke"));
      });
      return;
    }
    case Fault::kDelayed:
      world_.executor_.RunAt(world_.executor_.Now() + world_.Between(seconds(1), seconds(60)),
                             [start = std::move(start), done = std::move(done)]() mutable { start(std::move(done)); });
      return;
    case Fault::kError: {
      const bool clear = IsMutating(operation) && world_.random_.OneIn(2);
      process.Post([clear, done = std::move(done)]() mutable {
        done(clear ? Fail(Code::kNoSpace, "the disk is full") : Fail(Code::kUnavailable, "the connection was refused"));
      });
      return;
    }
    case Fault::kNone:
    case Fault::kServerDown: break;
  }
  start(std::move(done));
}

void World::Say(const std::string& who, const std::string& what) {
  if (!options_.trace) return;
  const double at = std::chrono::duration<double>(executor_.Now() - VirtualExecutor::kStart).count();
  outcome_.trace.push_back(fmt::format("{:12.4f} {:4} {}", at, who, what));
  if (outcome_.trace.size() > kTraceLines) outcome_.trace.pop_front();
}

void World::Break(std::string rule) {
  if (outcome_.broken) return;
  Say("!!!!", rule);
  outcome_.broken = std::move(rule);
}

void World::MakeServers() {
  const bool small = options_.seed % 2 == 0;
  descriptor_.store_id = std::string(32, 'a');
  descriptor_.sync = SyncPolicy::kCommit;
  descriptor_.geometry = small ? Geometry{2, 1, 4 * kKiB} : Geometry{4, 2, 4 * kKiB};
  descriptor_.tolerance = descriptor_.geometry.parity_chunks;
  const size_t count = small ? 5 : 8;
  for (size_t i = 0; i < count; ++i) {
    Member member;
    member.id = fmt::format("s{:02}", i);
    member.address = "local";
    member.host = fmt::format("h{:02}", i);
    descriptor_.members.push_back(member);
    MemoryServerOptions options;
    options.latency = [this](Operation) { return Between(std::chrono::microseconds(100), milliseconds(random_.OneIn(20) ? 200 : 4)); };
    servers_.push_back(std::make_unique<MemoryServer>(member.id, executor_, std::move(options)));
  }
  down_.resize(count);
}

void World::StartGateway(size_t index) {
  auto gateway = std::make_unique<Gateway>();
  gateway->index = index;
  ProcessOptions clock;
  clock.wall_skew = Between(minutes(0), minutes(4)) - minutes(2);
  gateway->process = std::make_unique<VirtualProcess>(executor_, clock);
  gateway->scope = std::make_unique<TaskScope>();
  std::vector<DataServerPtr> lines;
  for (size_t i = 0; i < servers_.size(); ++i) {
    lines.push_back(std::make_shared<LineServer>(servers_[i]->ViewFor(*gateway->process), std::make_shared<Line>(*this, *gateway, i)));
  }
  EngineOptions options;
  options.write_timeout = seconds(30);
  options.read_timeout = seconds(20);
  options.memory_bytes = kMiB;
  gateway->engine = std::make_unique<Engine>(descriptor_, std::move(lines), *gateway->process, *gateway->scope, random_.Next(), options);
  gateway->store = Store::Make(*gateway->engine);
  gateways_[index] = std::move(gateway);
  Say(fmt::format("g{}", index), fmt::format("starts, its clock is off by {} s", std::chrono::duration_cast<seconds>(clock.wall_skew).count()));
}

void World::Bury(Gateway& gateway) {
  gateway.dead = true;
  gateway.process->Kill();
  gateway.scope->Abandon();
  const size_t index = gateway.index;
  Say(fmt::format("g{}", index), "is killed");
  graves_.push_back(std::move(gateways_[index]));
  for (size_t i = 0; i < kClients; ++i) {
    Client& client = clients_[i];
    if (!client.busy || client.gateway != &gateway) continue;
    Say(fmt::format("c{}", i), history_.at(client.op).ToString());
    client.busy = false;
    Think(i);
  }
  const Duration pause = faults_ ? Between(milliseconds(10), random_.OneIn(4) ? Duration(minutes(10)) : Duration(seconds(5))) : Duration(0);
  executor_.RunAt(executor_.Now() + pause, [this, index] { StartGateway(index); });
}

void World::KillTheDying() {
  for (auto& gateway : gateways_) {
    if (gateway && gateway->dying) Bury(*gateway);
  }
}

Fault World::PickFault(Operation) {
  if (!faults_) return Fault::kNone;
  const double dice = static_cast<double>(random_.Below(1'000'000)) / 1e6 / intensity_;
  double sum = 0;
  const auto within = [&](double p) { return dice < (sum += p); };
  if (within(1.0 / 2500)) return Fault::kCrashBefore;
  if (within(1.0 / 2500)) return Fault::kCrashAfter;
  if (within(1.0 / 500)) return Fault::kServerDown;
  if (within(1.0 / 800)) return Fault::kPowerLoss;
  if (within(1.0 / 200)) return Fault::kLostReply;
  if (within(1.0 / 200)) return Fault::kDelayed;
  if (within(1.0 / 300)) return Fault::kError;
  return Fault::kNone;
}

bool World::TakeDown(size_t server) {
  const auto count = static_cast<size_t>(std::count(down_.begin(), down_.end(), true));
  if (down_[server] || count >= descriptor_.tolerance) return false;
  down_[server] = true;
  servers_[server]->SetDown(true);
  const Duration pause = random_.OneIn(3) ? Between(minutes(1), minutes(40)) : Between(milliseconds(10), seconds(20));
  executor_.RunAt(executor_.Now() + pause, [this, server] {
    if (!down_[server]) return;
    Say(fmt::format("s{}", server), "is back");
    down_[server] = false;
    servers_[server]->SetDown(false);
  });
  return true;
}

void World::Think(size_t client) {
  TimePoint when = executor_.Now() + Between(milliseconds(0), milliseconds(300));
  if (random_.OneIn(10)) {
    // All clients pause until the same quarter of an hour, so that they meet again.
    const Duration past = (executor_.Now() - VirtualExecutor::kStart) % Duration(minutes(15));
    when += Duration(minutes(15)) - past;
  } else if (random_.OneIn(5)) {
    when += Between(seconds(0), seconds(20));
  }
  executor_.RunAt(when, [this, client] { Act(client); });
}

Op World::ChooseOp(size_t client) {
  Op op;
  op.name = kNames[random_.Below(kNames.size())];
  const bool writer = client < 3;
  const uint64_t dice = random_.Below(100);
  if (!writer || dice >= 80) {
    op.kind = dice % 10 < 6 ? OpKind::kRead : dice % 10 < 9 ? OpKind::kStat : OpKind::kList;
    if (op.kind == OpKind::kList) op.name = random_.OneIn(2) ? "/a" : "/b";
  } else if (dice < 35) {
    op.kind = OpKind::kPut;
    op.content = next_content_++;
  } else if (dice < 47) {
    op.kind = OpKind::kExclusivePut;
    op.content = next_content_++;
  } else if (dice < 62 || !options_.renames) {
    op.kind = OpKind::kRemove;
  } else {
    op.kind = OpKind::kRename;
    do op.to = kNames[random_.Below(kNames.size())];
    while (op.to == op.name);
  }
  return op;
}

void World::Act(size_t client) {
  if (issued_ >= options_.operations) return;
  Gateway* const gateway = gateways_[client % kGateways].get();
  if (gateway == nullptr || gateway->dying) return Think(client);
  ++issued_;
  const size_t id = history_.Begin(ChooseOp(client), moment_++);
  clients_[client] = {true, id, gateway, executor_.Now()};
  if (options_.trace) Say(fmt::format("c{}", client), fmt::format("asks g{}: {}", gateway->index, history_.at(id).ToString()));
  gateway->scope->Spawn(Perform(gateway, client, id));
}

Task<void> World::Perform(Gateway* gateway, size_t client, size_t id) {
  Store* const store = gateway->store.get();
  const Op op = history_.at(id);
  Status status;
  switch (op.kind) {
    case OpKind::kPut:
    case OpKind::kExclusivePut: status = co_await Put(store, op); break;
    case OpKind::kRead: status = co_await Read(store, id, op.name); break;
    default: status = co_await Other(store, id, op); break;
  }
  Finish(client, id, std::move(status));
}

Task<Status> World::Put(Store* store, Op op) {
  CreateOptions options;
  options.write.exclusive = op.kind == OpKind::kExclusivePut;
  Result<std::unique_ptr<ObjectWriter>> writer = co_await store->Create(op.name, std::move(options));
  if (!writer) co_return writer.error();
  const std::string bytes = BytesOf(op.content);
  const Status appended = co_await (*writer)->Append(AsBytes(std::string_view(bytes)));
  if (!appended) co_return appended.error();
  Result<Committed> committed = co_await (*writer)->Commit();
  if (!committed) co_return committed.error();
  co_return OkStatus();
}

Task<Status> World::Read(Store* store, size_t id, std::string name) {
  Result<std::shared_ptr<ObjectReader>> reader = co_await store->OpenRead(name);
  if (!reader) co_return reader.error();
  const Moment opened = moment_++;  // what is read was decided then
  std::string bytes((*reader)->size(), '?');
  const Result<uint64_t> got = co_await (*reader)->Read(0, std::as_writable_bytes(std::span(bytes)));
  if (!got) {
    const bool lost = got.code() == Code::kDataLoss || got.code() == Code::kCorruption;
    if (lost) Break(fmt::format("a read of {} (#{}) found data lost: {}", name, id, got.error().message));
    co_return Fail(Code::kUnavailable, "{}", got.error().ToString());
  }
  Content content = 0;
  if (bytes.size() >= sizeof content) std::memcpy(&content, bytes.data(), sizeof content);
  const bool known = content > 0 && content < next_content_;
  if (!known || *got != bytes.size() || bytes != BytesOf(content)) {
    Break(fmt::format("the read #{} of {} returned bytes that nobody wrote", id, name));
  }
  history_.at(id).content = content;
  history_.at(id).ended = opened;
  co_return OkStatus();
}

Task<Status> World::Other(Store* store, size_t id, Op op) {
  if (op.kind == OpKind::kRemove) co_return co_await store->Remove(op.name);
  if (op.kind == OpKind::kRename) co_return co_await store->Rename(op.name, op.to);
  if (op.kind == OpKind::kStat) {
    Result<ObjectInfo> info = co_await store->Stat(op.name);
    if (!info) co_return info.error();
    history_.at(id).size = info->size;
    co_return OkStatus();
  }
  Result<std::vector<ListedName>> names = co_await store->List(op.name);
  if (!names) co_return names.error();
  for (const ListedName& name : *names) history_.at(id).listed.insert(op.name + "/" + name.name);
  co_return OkStatus();
}

void World::Finish(size_t client, size_t id, Status status) {
  Op& op = history_.at(id);
  if (op.ended == kNever) op.ended = moment_++;
  if (!status) op.error = status.code();
  ++outcome_.answered;
  if (status) ++outcome_.succeeded;
  const Duration took = executor_.Now() - clients_[client].since;
  if (options_.trace) {
    Say(fmt::format("c{}", client), fmt::format("is told: {}{} ({} ms)", op.ToString(), status ? "" : " - " + status.error().message,
                                                std::chrono::duration_cast<milliseconds>(took).count()));
  }
  if (took > kLongestOperation) Break(fmt::format("{} took {} s", op.ToString(), std::chrono::duration_cast<seconds>(took).count()));
  if (status.has_value() ? false : status.code() == Code::kInternal) Break(fmt::format("{}: {}", op.ToString(), status.error().message));
  clients_[client].busy = false;
  Think(client);
}

Task<void> World::Clean(Gateway* gateway) {
  Say(fmt::format("g{}", gateway->index), "cleans");
  const Result<CleanReport> report = co_await gateway->store->Clean();
  Say(fmt::format("g{}", gateway->index), report ? fmt::format("has cleaned: removed {}, left {}", report->removed, report->left)
                                                 : "cleaning ends: " + report.error().message);
}

void World::ScheduleCleaner(size_t index) {
  executor_.RunAt(executor_.Now() + Between(seconds(10), minutes(random_.OneIn(2) ? 2 : 30)), [this, index] {
    if (issued_ >= options_.operations) return;
    Gateway* const gateway = gateways_[index].get();
    if (gateway != nullptr && !gateway->dying) gateway->scope->Spawn(Clean(gateway));
    ScheduleCleaner(index);
  });
}

bool World::RunUntil(const std::function<bool()>& done, Duration longest) {
  const TimePoint give_up = executor_.Now() + longest;
  while (!done()) {
    if (outcome_.broken || executor_.steps() > kStepsMax || executor_.Now() > give_up || !executor_.RunOne()) return false;
    KillTheDying();
  }
  return true;
}

template <typename T>
std::optional<T> World::Wait(Task<T> task, Gateway& gateway) {
  auto result = std::make_shared<std::optional<T>>();
  const auto keep = [](Task<T> inner, std::shared_ptr<std::optional<T>> into) -> Task<void> { into->emplace(co_await inner); };
  gateway.scope->Spawn(keep(std::move(task), result));
  RunUntil([&] { return result->has_value(); }, kLongestOperation);
  if (!*result) Break("an operation on a healthy store does not end");
  return std::move(*result);
}

// Everybody is back, nothing goes wrong any more: what was left half done must be brought to an end and tidied up.
void World::ComeToRest() {
  Say("----", "all servers are back, no faults from here on");
  faults_ = false;
  for (size_t i = 0; i < servers_.size(); ++i) {
    down_[i] = false;
    servers_[i]->SetDown(false);
  }
  const bool ended = RunUntil([&] { return std::none_of(clients_.begin(), clients_.end(), [](const Client& c) { return c.busy; }); },
                              Duration(minutes(60)));
  if (!ended) {
    for (const Client& client : clients_) {
      if (client.busy) Break(history_.at(client.op).ToString() + " does not end");
    }
    return Break("the world does not come to rest");
  }
  executor_.RunUntilTime(executor_.Now() + minutes(60));
  if (gateways_[0] == nullptr || gateways_[1] == nullptr) return Break("a gateway did not start again");
  bool clean = false;
  for (size_t pass = 0; pass < kLastPasses && !clean && !outcome_.broken; ++pass) {
    clean = CleanAll(*gateways_[pass % kGateways]);
    executor_.RunUntilTime(executor_.Now() + minutes(90));
  }
  if (outcome_.broken) return;
  if (!clean) Break(fmt::format("the cleaner is not done after {} passes", kLastPasses));
  for (auto& gateway : gateways_) CheckNames(*gateway);
  for (auto& gateway : gateways_) {
    if (gateway->engine->budget().in_use() != 0) {
      Break(fmt::format("g{} at rest still holds {} bytes of its memory budget", gateway->index, gateway->engine->budget().in_use()));
    }
  }
}

bool World::CleanAll(Gateway& gateway) {
  Say(fmt::format("g{}", gateway.index), "cleans");
  const auto report = Wait(gateway.store->Clean(), gateway);
  if (!report) return false;
  Say(fmt::format("g{}", gateway.index), *report ? fmt::format("has cleaned: removed {}, left {}", (*report)->removed, (*report)->left)
                                                 : "cleaning ends: " + report->error().message);
  return *report && (*report)->removed == 0 && (*report)->left == 0;
}

void World::CheckNames(Gateway& gateway) {
  for (const std::string& name : kNames) {
    Op read;
    read.kind = OpKind::kRead;
    read.name = name;
    const size_t id = history_.Begin(read, moment_++);
    const auto status = Wait(Read(gateway.store.get(), id, name), gateway);
    if (!status) return;
    if (history_.at(id).ended == kNever) history_.at(id).ended = moment_++;
    if (!*status) history_.at(id).error = status->code();
    Say(fmt::format("g{}", gateway.index), fmt::format("at rest {}{}", history_.at(id).ToString(), *status ? "" : " " + status->error().message));
    if (!*status && status->code() != Code::kNotFound) {
      Break(fmt::format("at rest {} cannot be read: {}", name, status->error().ToString()));
    }
    const Result<ObjectPath> path = ObjectPath::Parse(name);
    const auto info = Wait(LookUp(*gateway.engine, *path), gateway);
    if (!info) return;
    if (!*info) return Break(fmt::format("at rest {} cannot be looked up: {}", name, info->error().ToString()));
    CheckFiles(gateway, name, (*info)->accepted.Live() ? std::optional(**info) : std::nullopt);
  }
}

// Exactly the archives and witnesses of what lives there.
void World::CheckFiles(Gateway& gateway, const std::string& name, const std::optional<NameInfo>& info) {
  const Result<ObjectPath> path = ObjectPath::Parse(name);
  const auto servers = Wait(ListEverywhere(*gateway.engine, *path), gateway);
  if (!servers) return;
  size_t archives = 0, accepting = 0;
  const std::vector<MemberIndex> homes = gateway.engine->Homes(*path);
  for (const auto& [server, states] : *servers) {
    for (const State& state : states) {
      const bool current = info && state.Accepted() && state.version == info->accepted.version && state.oid == info->accepted.oid;
      if (!current) return Break(fmt::format("at rest {} is left over on s{} for {}", FormatState(state), server, name));
      if (state.kind == StateKind::kPromoted) ++archives;
    }
    if (!states.empty() && std::find(homes.begin(), homes.end(), server) != homes.end()) ++accepting;
  }
  if (!info) return;
  const Geometry& geometry = descriptor_.geometry;
  const size_t least = geometry.parity_chunks + 1;
  if (archives < least) Break(fmt::format("at rest {} has {} archives, {} are the least", name, archives, least));
  if (accepting < least) Break(fmt::format("at rest {} is accepted by {} homes only", name, accepting));
  Result<std::shared_ptr<ObjectReader>> reader = Fail(Code::kInternal, "not opened");
  auto opened = Wait(gateway.store->OpenRead(name), gateway);
  if (!opened || !*opened) return Break(fmt::format("at rest {} does not open", name));
  std::string problem;
  const auto verified = Wait((**opened)->Verify([&](const ChunkReport& chunk) {
                               if (chunk.health != ChunkHealth::kGood) problem = chunk.problem + " on " + chunk.archive_path;
                             }),
                             gateway);
  if (!verified || !*verified) return Break(fmt::format("at rest {} does not verify", name));
  if (!problem.empty()) Break(fmt::format("at rest {} is not whole: {}", name, problem));
}

Outcome World::Run() {
  constexpr double kIntensities[] = {0, 0.3, 1, 1, 2};
  intensity_ = std::max(kIntensities[random_.Below(5)], 1e-9);
  MakeServers();
  for (size_t i = 0; i < kGateways; ++i) {
    StartGateway(i);
    ScheduleCleaner(i);
  }
  faults_ = true;
  for (size_t i = 0; i < kClients; ++i) Think(i);
  const bool ended = RunUntil([&] { return issued_ >= options_.operations; }, Duration(std::chrono::hours(200)));
  if (!ended && !outcome_.broken) Break("the clients do not get on");
  if (!outcome_.broken) ComeToRest();
  for (const Op& op : history_.ops()) outcome_.open += op.ended == kNever;
  if (const auto broken = history_.Judge(kNames); broken) Break(*broken);
  // Nothing may be under way any more when gateways and servers go.
  for (auto& gateway : gateways_) {
    if (gateway) gateway->dying = true;
  }
  faults_ = false;
  issued_ = options_.operations;
  KillTheDying();
  executor_.RunUntilIdle(kStepsMax);
  for (auto& gateway : gateways_) {
    if (!gateway) continue;
    gateway->process->Kill();
    gateway->scope->Abandon();
  }
  executor_.RunUntilIdle(kStepsMax);
  return std::move(outcome_);
}

}  // namespace

const char* FaultName(Fault fault) {
  constexpr const char* kWords[] = {"none", "crash before", "crash after", "server down", "power loss", "lost reply", "delayed", "error"};
  return kWords[static_cast<size_t>(fault)];
}

uint64_t SizeOf(Content content) {
  constexpr uint64_t kSizes[] = {8, 100, 4095, 4096, 4097, 8192, 9000, 12288};
  return kSizes[Mix64(content) % 8] ;
}

std::string BytesOf(Content content) {
  std::string bytes(SizeOf(content) + sizeof(uint64_t), '\0');
  Random random(content);
  for (size_t at = 0; at + sizeof content <= bytes.size(); at += sizeof content) {
    const uint64_t word = at == 0 ? content : random.Next();
    std::memcpy(bytes.data() + at, &word, sizeof word);
  }
  bytes.resize(SizeOf(content));
  return bytes;
}

Outcome RunSeed(const WorldOptions& options) { return World(options).Run(); }

}  // namespace xec::sim

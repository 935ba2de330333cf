// SPDX-License-Identifier: LGPL-3.0-or-later
#include "world.hh"

#include <algorithm>
#include <cstring>

#include "object/write/stripe_buffer.hh"
#include "store/make_layout_store.hh"

namespace xec::sim {

void World::Say(const std::string& who, const std::string& what) {
  if (options_.trace_lines == 0) return;
  const double at = std::chrono::duration<double>(executor_.Now() - VirtualExecutor::kStart).count();
  outcome_.trace.push_back(fmt::format("{:12.4f} {:4} {}", at, who, what));
  if (outcome_.trace.size() > options_.trace_lines) outcome_.trace.pop_front();
}

void World::Break(std::string rule) {
  if (outcome_.broken) return;
  Say("!!!!", rule);
  outcome_.broken = std::move(rule);
}

void World::ChooseTraits() {
  constexpr double kIntensities[] = {0, 0.3, 1, 1, 2};
  const double intensity = kIntensities[random_.Below(5)];
  const bool calm = traits_.calm = intensity == 0;
  traits_.intensity = std::max(intensity, 1e-9);
  if (!calm && !random_.OneIn(4)) traits_.favourite = static_cast<Fault>(1 + random_.Below(kPickableFaults));
  if (!calm && random_.OneIn(2)) traits_.aimed = static_cast<Fault>(1 + random_.Below(kPickableFaults));
  traits_.aim = random_.Next();
  traits_.crowded = random_.OneIn(10);
  traits_.failovers = !calm && shape_random_.OneIn(8);
  traits_.blackouts = random_.OneIn(6);
  traits_.absences = random_.OneIn(4);
  traits_.sleepy = random_.OneIn(4);
  traits_.forgetful = random_.OneIn(3);
  traits_.gives_up_soon = traits_.forgetful || options_.seed / 2 % 2 == 0;
  traits_.unhurried = random_.OneIn(4);
  if (random_.OneIn(2)) {
    for (uint64_t& weight : traits_.op_weights) weight *= 1 + 3 * random_.Below(2);
  }
  traits_.names = random_.OneIn(2) ? kNames.size() : 2 + random_.Below(kNames.size() - 1);
  traits_.liars.resize(servers_.size());
  if (!calm && random_.OneIn(3)) {
    for (size_t i = 0; i < descriptor_.tolerance; ++i) traits_.liars[random_.Below(servers_.size())] = true;
  }
  traits_.rot = std::count(traits_.liars.begin(), traits_.liars.end(), true) > 0 && rot_random_.OneIn(2);
  traits_.attributes = attribute_random_.OneIn(3);
  if (!calm && shape_random_.OneIn(8)) traits_.ahead = shape_random_.Below(kGateways);
  clients_.resize(traits_.crowded ? 12 : 5);
  for (size_t i = 0; i < clients_.size(); ++i) clients_[i].writes = i < (traits_.crowded ? 10 : 3);
  if (traits_.crowded) {
    StripeBuffer::Shape stripe;
    stripe.geometry = descriptor_.geometry;
    stripe.data_bytes_max = descriptor_.geometry.StripeSize();
    memory_bytes_ = stripe.BufferBytes() + 64 * kKiB;  // the least that a writer accepts
  }
  // Few servers and many in turn.
  if (options_.seed / 2 % 4 == 1) {
    UseDirectories();
  } else if (kind_random_.Below(9) < 4) {
    UseBothKinds();
  } else if (kind_random_.OneIn(3)) {
    UseFewNames();
  }
  LengthenNames();
}

void World::MakeServers() {
  const bool small = options_.seed % 2 == 0;
  descriptor_.store_id = std::string(32, 'a');
  descriptor_.sync = SyncPolicy::kCommit;
  // Often of several pages: each has a checksum of its own.
  constexpr uint64_t kPages[] = {1, 1, 2, 3, 4, 5};
  const uint64_t chunk_size = kPages[shape_random_.Below(std::size(kPages))] * kPageSizeMin;
  descriptor_.geometry = small ? Geometry{2, 1, chunk_size} : Geometry{4, 2, chunk_size};
  descriptor_.tolerance = descriptor_.geometry.parity_chunks;
  const size_t count = small ? 5 : 8;
  for (size_t i = 0; i < count; ++i) {
    Member member;
    member.id = fmt::format("s{:02}", i);
    member.address = kLocalAddress;
    member.host = fmt::format("h{:02}", i);
    descriptor_.members.push_back(member);
    AddServer();
  }
}

void World::AddServer() {
  const size_t i = servers_.size();
  MemoryServerOptions options;
  options.latency = [this, i](Operation operation) {
    const bool slow = illnesses_[i].ailment == Fault::kSlow;
    return DeciderDelay(operation) + (slow ? 100 : 1) * Between(std::chrono::microseconds(100),
                                                                milliseconds(random_.OneIn(20) ? 200 : 4));
  };
  servers_.push_back(std::make_unique<MemoryServer>(fmt::format("s{:02}", i), executor_, std::move(options)));
  down_.push_back(false);
  illnesses_.emplace_back();
}

// Not by a request of a gateway. Nothing happens if the server is away.
void World::PutFile(size_t server, const std::string& path, const std::string& content) {
  servers_[server]->Open({}, path, OpenMode::kCreate, [content](Result<std::shared_ptr<ArchiveFile>> opened) {
    if (!opened) return;
    const std::shared_ptr<ArchiveFile> file = *opened;
    Slice bytes(Buffer::Allocate(content.size()));
    std::memcpy(bytes.span().data(), content.data(), content.size());
    file->Write({}, 0, bytes, [file](Status written) {
      if (written) file->Sync({}, [file](Status) {});
    });
  });
}

// By how much the gateway's clock is off: far ahead until somebody sees it, and again after a while.
Duration World::ChooseClock(size_t index) {
  const Duration usual = Between(minutes(0), minutes(4)) - minutes(2);
  if (traits_.ahead != index || at_rest_ || shape_random_.OneIn(4)) return usual;
  const Duration longest = shape_random_.OneIn(2) ? Duration(minutes(55)) : kFarAheadMax;
  const auto range = static_cast<uint64_t>((longest - minutes(10)).count());
  return minutes(10) + Duration(static_cast<int64_t>(shape_random_.Below(range)));
}

void World::StartGateway(size_t index) {
  const Result<StoreDescriptor> list = ListToStartWith();
  if (!list) {
    executor_.RunAt(executor_.Now() + seconds(5), [this, index] { StartGateway(index); });
    return;
  }
  auto gateway = std::make_unique<Gateway>();
  gateway->index = index;
  ProcessOptions clock;
  clock.wall_skew = ChooseClock(index);
  gateway->clock_ahead = clock.wall_skew;
  gateway->process = std::make_unique<VirtualProcess>(executor_, clock);
  gateway->scope = std::make_unique<TaskScope>();
  gateway->clocks = std::make_shared<DiskClocks>();
  std::vector<DataServerPtr> lines, beneath;
  for (size_t i = 0; i < list->members.size(); ++i) {
    lines.push_back(LineTo(*gateway, i, traits_.older_disk));
    if (traits_.older_disk) beneath.push_back(LineTo(*gateway, i, false));
  }
  EngineOptions options;
  // Seldom enough to leave most of the time to what is tested.
  options.probes.pause_first = seconds(1);
  options.probes.pause_longest = seconds(10);
  options.probes.roll_call_interval = minutes(3);
  options.probes.idle = seconds(20);
  options.write_timeout = seconds(30);
  options.read_timeout = seconds(20);
  options.memory_bytes = memory_bytes_;
  // Still longer than operations, delays and what clocks differ together.
  if (traits_.forgetful) options.tombstone_horizon = minutes(5);
  // Who sleeps then meets what has become of its upload.
  if (traits_.gives_up_soon) options.upload_grace = minutes(6);
  gateway->engine = std::make_unique<Engine>(*list, std::move(lines), *gateway->process, *gateway->scope,
                                             random_.Next(), options);
  gateway->store = MakeLayoutStore(*gateway->engine);
  if (traits_.older_disk) {
    gateway->beneath = std::make_unique<Engine>(descriptor_, std::move(beneath), *gateway->process,
                                                *gateway->scope, clock_random_.Next(), options);
    gateway->knows_clocks = false;
  }
  GoBy(*gateway, *list, executor_.Now());
  ScheduleRounds(*gateway);
  gateways_[index] = std::move(gateway);
  Say(fmt::format("g{}", index), fmt::format("starts, its clock is off by {} s",
                                             std::chrono::duration_cast<seconds>(clock.wall_skew).count()));
  ReadClocksFirst(index);
}

void World::Bury(Gateway& gateway) {
  gateway.dead = true;
  gateway.died = executor_.Now();
  gateway.process->Kill();
  gateway.scope->Abandon();
  const size_t index = gateway.index;
  Say(fmt::format("g{}", index), "is killed");
  graves_.push_back(std::move(gateways_[index]));
  for (size_t i = 0; i < clients_.size(); ++i) {
    Client& client = clients_[i];
    if (!client.busy || client.gateway != &gateway) continue;
    Say(fmt::format("c{}", i), history_.at(client.op).ToString());
    client.busy = false;
    Think(i);
  }
  const Duration pause =
      faults_ ? Between(milliseconds(10), random_.OneIn(4) ? Duration(minutes(10)) : Duration(seconds(5)))
              : Duration(0);
  executor_.RunAt(executor_.Now() + pause, [this, index] { StartGateway(index); });
}

void World::KillTheDying() {
  for (auto& gateway : gateways_) {
    if (gateway && gateway->dying) Bury(*gateway);
  }
}

bool World::RunUntil(const std::function<bool()>& done, Duration longest) {
  const TimePoint give_up = executor_.Now() + longest;
  while (!done()) {
    if (outcome_.broken || executor_.steps() > kStepsMax || executor_.Now() > give_up || !executor_.RunOne())
      return false;
    KillTheDying();
  }
  return true;
}

Outcome World::Run() {
  MakeServers();
  ChooseTraits();
  ChooseAilments();
  ChooseMemberChanges();
  for (size_t i = 0; i < kGateways; ++i) {
    StartGateway(i);
    ScheduleCleaner(i);
  }
  faults_ = true;
  for (size_t i = 0; i < clients_.size(); ++i) Think(i);
  if (traits_.rot) ScheduleRot();
  // Where gateways often fall asleep that takes weeks (seed 11721); a client that waits for ever is found at
  // rest.
  constexpr Duration kLongest = std::chrono::hours(1500);
  const bool ended = RunUntil([&] { return issued_ >= options_.operations; }, kLongest);
  if (!ended && !outcome_.broken) Break("the clients do not get on");
  // The cleaners meet what is left, and faults.
  RunUntil([] { return false; }, kAftermath);
  if (!outcome_.broken) ComeToRest();
  if (!outcome_.broken && traits_.directories && !lost_ && kind_random_.OneIn(2)) RenameAlone();
  const bool objects_only = !traits_.directories && !traits_.kinds && !traits_.older_disk && !lost_;
  const bool alone = objects_only && options_.renames && !outcome_.broken;
  if (alone && kind_random_.OneIn(2)) RenameBesideAnother();
  if (alone && !outcome_.broken && kind_random_.OneIn(2)) LookAtHalfRenamed();
  if (alone && !outcome_.broken && kind_random_.OneIn(3)) RenameInARow();
  if (!outcome_.broken && traits_.older_disk) GoBackAtRest();
  if (traits_.ailments && !lost_) AskWhileServersHang();
  for (const Op& op : history_.ops()) outcome_.open += op.ended == kNever && op.part == 0;
  const History::Verdict verdict = history_.Judge(names_, traits_.directories ? directories_ : both_);
  outcome_.unjudged = verdict.unjudged;
  if (verdict.broken) Break(*verdict.broken);
  // Nothing may be under way any more when gateways and servers go.
  for (auto& gateway : gateways_) {
    if (gateway) gateway->dying = true;
  }
  faults_ = false;
  at_rest_ = true;
  members_settled_ = true;
  issued_ = options_.operations;
  KillTheDying();
  executor_.RunUntilIdle(kStepsMax);
  for (auto& gateway : gateways_) {
    if (!gateway) continue;
    gateway->process->Kill();
    gateway->scope->Abandon();
  }
  for (Illness& ill : illnesses_) ill.hanging.clear();
  executor_.RunUntilIdle(kStepsMax);
  return std::move(outcome_);
}

Outcome RunSeed(const WorldOptions& options) { return World(options).Run(); }

}  // namespace xec::sim

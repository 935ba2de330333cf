// SPDX-License-Identifier: LGPL-3.0-or-later
#include "assembly/store_process.hh"

#include <filesystem>

#include "assembly/gone_members.hh"
#include "assembly/log_health.hh"
#include "assembly/maintenance/space_board.hh"
#include "assembly/sites/twin_servers.hh"
#include "base/log.hh"
#include "base/text.hh"
#include "commit/engine/server_gather.hh"
#include "commit/members/descriptor_copies.hh"
#include "placement/homes.hh"
#include "placement/list_changes.hh"
#include "runtime/sync_wait.hh"
#include "server_xrootd/xrootd_server.hh"
#include "store/make_layout_store.hh"

namespace xec {
namespace {

// Coroutines never block, so a few threads carry any number of operations.
constexpr int kEngineThreads = 4;
// For how long an unfinished creation must not have changed before it is done again; above the time a creator
// takes at most (create_store.cc).
constexpr Duration kWatchUnfinished = std::chrono::seconds(6);
// For how long a redirector must have named the same servers before a store is made on them.
constexpr Duration kWatchDiscovered = std::chrono::seconds(4);

constexpr Duration kSettleInterval = std::chrono::milliseconds(1);
// For how long the end of what goes on is waited for while some server does not answer.
constexpr Duration kSettleForBad = std::chrono::seconds(1);

std::string NewStoreId() { return Hex(SystemSeed(), 16) + Hex(SystemSeed(), 16); }

// How many members must confirm the descriptor: as many as were needed to open the store. Fewer directories
// may be enough for that, since the opener of a store asks all there are.
size_t ConfirmationsNeeded(const Judgement& judgement) {
  const auto& bound = judgement.site_of_member;
  const auto count = static_cast<size_t>(
      std::count_if(bound.begin(), bound.end(), [](const auto& site) { return site.has_value(); }));
  return std::min(Quorum(bound.size()), count);
}

bool ComesAndGoes(Code code) {
  return code == Code::kUnavailable || code == Code::kDeadlineExceeded || code == Code::kNoQuorum;
}

// What can be compared between two looks.
std::string Fingerprint(const std::vector<SiteView>& views) {
  std::string text;
  for (const SiteView& view : views) {
    text += fmt::format("{} {} {}\n", view.site.address, static_cast<int>(view.state),
                        view.identity ? view.identity->store_id : "");
  }
  return text;
}

}  // namespace

StoreProcess::StoreProcess(Configuration configuration, OpenOptions options)
    : configuration_(std::move(configuration)),
      options_(options),
      executor_("xec-engine", kEngineThreads),
      runner_(executor_, scope_),
      sites_(configuration_, executor_, scope_, gate_of_answers_),
      not_open_(Fail(Code::kNoQuorum, "no data server has answered")),
      gate_([this](std::string_view, const CallOptions&) { return Gate(); }),
      front_(configuration_, options_, executor_, gate_,
             [this](SpaceLedger& ledger) { return Hear(ledger); }) {}

StoreProcess::~StoreProcess() {
  Stop();
  scope_.Drain();
  for (const auto& probe : probes_) probe->scope.Drain();
  AbandonXrootdRequests(executor_);
  gate_of_answers_->Close();
  probes_.clear();
  for (const auto& generation : generations_) {
    generation->engine->monitor().Stop();
    generation->beneath.reset();
    generation->maintenance.reset();
    generation->store.reset();
    generation->layout.reset();
    // A request that a server never answered still owns its buffer, whose memory is counted by the engine's
    // budget.
    if (generation->engine->budget().in_use() > 0) (void)generation->engine.release();
  }
}

void StoreProcess::Stop() {
  stopped_ = true;
  pause_.Ring();
  runner_.Stop();
}

Status StoreProcess::Start() {
  XEC_TRY(front_.Open());
  return SyncWait(WaitUntilOpen());
}

Task<Status> StoreProcess::WaitUntilOpen() {
  OneShot<Status> opened;
  scope_.Spawn(OpenLoop(opened.Setter()));
  co_return co_await opened;
}

Task<void> StoreProcess::OpenLoop(UniqueFunction<void(Status)> answer) {
  const TimePoint deadline = executor_.Now() + options_.wait;
  const bool may_be_late = options_.background && configuration_.data.empty();
  bool answered = false;
  while (true) {
    const Attempt attempt = co_await TryToOpen();
    if (attempt.status) break;
    // Said once, not every two seconds.
    if (SetNotOpen(attempt.status.error()))
      Log(LogLevel::kWarning, "store", "not open: {}", attempt.status.error().message);
    const bool give_up = !attempt.again || executor_.Now() >= deadline;
    if (give_up && !answered) {
      if (!attempt.again || !may_be_late) {
        answer(attempt.status);
        co_return;
      }
      answered = true;
      answer(OkStatus());
    }
    co_await pause_.Wait(executor_.Now() + (answered ? kRetryInterval : kRetryInterval / 4));
    if (stopped_) break;
  }
  if (!answered) answer(stopped_ ? Status(Fail(Code::kCancelled, "stopped")) : OkStatus());
  if (stopped_) co_return;
  if (answered) Log(LogLevel::kInfo, "store", "the store is open now");
  if (options_.background) LogHealth(*engine());
  StartJobs();
}

void StoreProcess::StartJobs() {
  JobSite site{
      .now = [this]() -> Generation& { return *InUse(); },
      .follow = [this](StoreDescriptor next, TimePoint asked) { return Follow(std::move(next), asked); },
      .clocks = clocks_,
      .configuration = configuration_,
      .process = options_.process,
      .runner = runner_,
      .space = &front_.space(),
      .uploads = uploads_.get()};
  site_ = std::make_unique<JobSite>(std::move(site));
  runner_.Start(MakeJobs(*site_, options_.background));
}

Task<StoreProcess::Attempt> StoreProcess::TryToOpen() {
  TimePoint asked = executor_.Now();
  Result<std::vector<SiteView>> views = co_await sites_.Inspect();
  if (!views) co_return Attempt{views.error(), ComesAndGoes(views.code())};
  if (const auto twins = FindTwins(*views)) {
    const SiteView &one = (*views)[twins->first], &other = (*views)[twins->second];
    const bool same = co_await AreOneServer(executor_, one.server, other.server, kInspectTimeout);
    if (same) co_return Attempt{SameSite(one, other)};
  }
  Result<Judgement> judgement = JudgeSites(*views, configuration_);
  if (!judgement) {
    co_await SpreadNewest(*views);
    co_return Attempt{judgement.error(), ComesAndGoes(judgement.code())};
  }
  if (judgement->kind != Judgement::kOpen) {
    if (!options_.create_if_new) {
      co_return Attempt{Fail(Code::kNotFound,
                             "there is no store on {} yet: `xec serve`, `xec put` and `xec mkdir` make one",
                             views->size() == 1 ? views->front().site.address
                                                : fmt::format("these {} data servers", views->size()))};
    }
    const Attempt created = co_await CreateNew(std::move(*views), judgement->kind, asked);
    if (!created.status) co_return created;
    asked = executor_.Now();
    views = co_await sites_.Inspect();
    if (!views) co_return Attempt{views.error(), true};
    judgement = JudgeSites(*views, configuration_);
    if (!judgement) co_return Attempt{judgement.error(), ComesAndGoes(judgement.code())};
    if (judgement->kind != Judgement::kOpen)
      co_return Attempt{Fail(Code::kUnavailable, "the new store is not there"), true};
  }
  const Status opened = co_await OpenFrom(std::move(*judgement), std::move(*views), asked);
  co_return Attempt{opened, !opened && ComesAndGoes(opened.code())};
}

std::optional<Error> StoreProcess::CreationMustWait(const std::vector<SiteView>& views,
                                                    Judgement::Kind kind) {
  const bool discovered = configuration_.data.empty() && configuration_.servers.empty();
  if (kind == Judgement::kCreate && !discovered) return std::nullopt;
  const std::string now = Fingerprint(views);
  if (now != watched_) {
    watched_ = now;
    watched_since_ = executor_.Now();
  }
  const Duration watch = kind == Judgement::kUnfinished ? kWatchUnfinished : kWatchDiscovered;
  if (executor_.Now() - watched_since_ >= watch) return std::nullopt;
  if (kind == Judgement::kUnfinished) {
    return Fail(Code::kUnavailable,
                "a store is being made on these data servers, or its making was cut short");
  }
  return Fail(Code::kUnavailable, "waiting for more data servers behind {}", configuration_.origin);
}

Task<StoreProcess::Attempt> StoreProcess::CreateNew(std::vector<SiteView> views, Judgement::Kind kind,
                                                    TimePoint asked) {
  const Status enough = CheckListed(configuration_);
  if (!enough) co_return Attempt{enough};
  const Result<StoreDescriptor> descriptor = NewDescriptor(views, configuration_, NewStoreId());
  if (!descriptor) co_return Attempt{descriptor.error()};
  for (const PathRule& rule : descriptor->rules) {
    const Status fits = CheckBudget(rule.geometry, configuration_.engine.memory_bytes);
    if (!fits) co_return Attempt{fits};
  }
  const Status fits = CheckBudget(descriptor->geometry, configuration_.engine.memory_bytes);
  if (!fits) co_return Attempt{fits};
  if (auto wait = CreationMustWait(views, kind)) co_return Attempt{std::move(*wait), true};
  for (SiteView& view : views) {
    if (view.state != SiteView::kMissing) continue;
    std::error_code error;
    std::filesystem::create_directories(view.site.address, error);
    if (error) {
      co_return Attempt{
          Fail(error == std::errc::permission_denied ? Code::kPermissionDenied : Code::kUnavailable,
               "the directory {} cannot be made: {}", view.site.address, error.message())};
    }
  }
  const Status created = co_await CreateStoreOn(executor_, std::move(views), *descriptor, asked);
  if (!created) co_return Attempt{created, ComesAndGoes(created.code()) || created.code() == Code::kConflict};
  Note(fmt::format("made a new store, {}, on {} data servers: geometry {}, chunks of {}, layout {}",
                   descriptor->store_id, descriptor->members.size(), descriptor->geometry.ToString(),
                   FormatSize(descriptor->geometry.chunk_size_bytes), LayoutName(descriptor->layout)));
  co_return Attempt{OkStatus()};
}

Task<void> StoreProcess::FillDescriptors(const Judgement& judgement, const std::vector<SiteView>& views) {
  for (const size_t i : judgement.lack_descriptor) {
    const CallContext call{&executor_, executor_.Now() + kInspectTimeout};
    // Nothing is removed but what was seen to be damaged: somebody may be writing a newer one.
    if (views[i].damaged_descriptor)
      (void)co_await xec::Remove(call, views[i].server, DescriptorPath(judgement.descriptor.epoch));
    std::string nonce = Hex(SystemSeed() & 0xffffffff, 8);
    (void)co_await WriteDescriptor(call, views[i].server, judgement.descriptor, std::move(nonce));
  }
}

Task<void> StoreProcess::SpreadNewest(const std::vector<SiteView>& views) {
  const StoreDescriptor* newest = nullptr;
  for (const SiteView& view : views) {
    if (view.descriptor && (newest == nullptr || newest->epoch < view.descriptor->epoch))
      newest = &*view.descriptor;
  }
  for (const SiteView& view : views) {
    const bool older = view.descriptor && view.descriptor->store_id == newest->store_id &&
                       view.descriptor->epoch < newest->epoch;
    if (view.state != SiteView::kMember || !older) continue;
    const CallContext call{&executor_, executor_.Now() + kInspectTimeout};
    std::string nonce = Hex(SystemSeed() & 0xffffffff, 8);
    (void)co_await WriteDescriptor(call, view.server, *newest, std::move(nonce));
  }
}

Task<Status> StoreProcess::OpenFrom(Judgement judgement, std::vector<SiteView> views, TimePoint asked) {
  std::vector<std::string> notes = judgement.notes;
  Result<StoreDescriptor> descriptor = EffectiveDescriptor(judgement, views, configuration_, notes);
  if (!descriptor) co_return descriptor.error();
  if (configuration_.engine.tombstone_horizon < 2 * EngineOptions().operation_limit)
    notes.push_back(
        "tombstone-horizon is below 2m: every process on this store needs an operation-limit of at most half "
        "of it, or what was removed may come back");
  // Creation was cut short while it wrote descriptors, or a file was damaged.
  co_await FillDescriptors(judgement, views);
  clocks_ = std::make_shared<DiskClocks>();
  members_ = std::make_unique<MemberConnections>(*descriptor, clocks_, executor_, gate_of_answers_);
  Result<MemberConnections::Connected> connected = members_->Connect(judgement, views, notes);
  if (!connected) co_return connected.error();
  const size_t confirmations = ConfirmationsNeeded(judgement);
  // Before anything is answered. What one disk has shown before is noted on a majority of the others.
  if (descriptor->tolerance > 0) {
    auto probe = std::make_shared<Probe>(*descriptor, connected->beneath, executor_, configuration_.engine);
    const ClockRound round = co_await ReadDiskClocks(probe->engine, clocks_);
    Retire(std::move(probe));
    if (round.heard() < confirmations)
      co_return Fail(Code::kNoQuorum, "too few data servers tell the clocks of their disks");
  }
  for (std::string& note : notes) Note(std::move(note));
  for (size_t i = 0; i < judgement.descriptor.members.size(); ++i) {
    const Member& member = descriptor->members[i];
    if (member.host != judgement.descriptor.members[i].host) hosts_[member.id] = member.host;
  }
  auto beneath = std::make_unique<Engine>(*descriptor, std::move(connected->beneath), executor_, scope_,
                                          SystemSeed(), configuration_.engine);
  auto engine = std::make_unique<Engine>(std::move(*descriptor), std::move(connected->servers), executor_,
                                         scope_, SystemSeed(), configuration_.engine);
  if (options_.background) {
    uploads_ = std::make_shared<UploadJournal>(configuration_.ScratchDirectory() + "/uploads",
                                               judgement.descriptor.store_id);
    engine->SetUploadNotes(uploads_);
  }
  auto generation = NewGeneration(judgement.descriptor, std::move(beneath), std::move(engine));
  generation->confirmations = confirmations;
  generation->engine->member_list().Watch(judgement.descriptor, {confirmations, Lease(judgement.descriptor)},
                                          asked);
  // By the job that begins next.
  generation->engine->space().Expect(executor_.Now());
  {
    MutexLock lock(mutex_);
    generations_.push_back(std::move(generation));
  }
  sites_.Clear();
  if (members_->waiting()) scope_.Spawn(BindLateMembers());
  co_return OkStatus();
}

std::unique_ptr<Generation> StoreProcess::NewGeneration(StoreDescriptor stored,
                                                        std::unique_ptr<Engine> beneath,
                                                        std::unique_ptr<Engine> engine) {
  auto generation = std::make_unique<Generation>();
  generation->stored = std::move(stored);
  generation->beneath = std::move(beneath);
  generation->engine = std::move(engine);
  generation->layout = MakeLayoutStore(*generation->engine);
  generation->store = std::make_unique<EngineStore>(*generation->engine, *generation->layout);
  MemberTools tools{.engine = *generation->engine,
                    .beneath = *generation->beneath,
                    .clocks = clocks_,
                    .configuration = configuration_,
                    .gate = gate_of_answers_,
                    .now = [this] {
                      Generation& in_use = *InUse();
                      return ListInUse{*in_use.engine, in_use.stored};
                    }};
  generation->maintenance = std::make_unique<Maintenance>(
      std::move(tools),
      [one = generation.get()]() -> Result<LayoutStore*> {
        XEC_TRY(one->engine->MembersInForce());
        return one->layout.get();
      },
      [this, &members = generation->engine->descriptor().members] {
        return FindGoneMembers(members, configuration_, executor_, scope_, gate_of_answers_);
      });
  return generation;
}

Result<StoreDescriptor> StoreProcess::Effective(StoreDescriptor stored) const {
  Judgement judgement;
  judgement.descriptor = std::move(stored);
  judgement.site_of_member.resize(judgement.descriptor.members.size());
  std::vector<std::string> notes;
  XEC_ASSIGN_OR_RETURN(StoreDescriptor effective, EffectiveDescriptor(judgement, {}, configuration_, notes));
  for (Member& member : effective.members) {
    const auto host = hosts_.find(member.id);
    if (host != hosts_.end()) member.host = host->second;
  }
  return effective;
}

Task<Status> StoreProcess::Follow(StoreDescriptor next, TimePoint asked) {
  const Generation& before = *InUse();
  Result<StoreDescriptor> effective = Effective(next);
  if (!effective) co_return effective.error();
  Result<MemberConnections::Connected> connected = members_->Follow(*effective);
  if (!connected) co_return connected.error();
  auto beneath = std::make_unique<Engine>(*before.beneath, *effective, std::move(connected->beneath));
  auto engine =
      std::make_unique<Engine>(*before.engine, std::move(*effective), std::move(connected->servers));
  if (options_.background) LogHealth(*engine);
  auto generation = NewGeneration(next, std::move(beneath), std::move(engine));
  const bool majority = before.confirmations >= Quorum(before.stored.members.size());
  generation->confirmations = majority ? Quorum(next.members.size()) : before.confirmations;
  generation->engine->member_list().Watch(next, {generation->confirmations, Lease(next)}, asked);
  if (KeepsHomes(before.stored, next))
    before.engine->member_list().GoOnWith(generation->engine->member_list());
  Log(LogLevel::kInfo, "store", "the data servers of the store were changed: epoch {} follows {}", next.epoch,
      before.stored.epoch);
  MutexLock lock(mutex_);
  generations_.push_back(std::move(generation));
  co_return OkStatus();
}

Generation* StoreProcess::InUse() const {
  MutexLock lock(mutex_);
  return generations_.empty() ? nullptr : generations_.back().get();
}

Task<void> StoreProcess::BindLateMembers() {
  while (members_->waiting()) {
    co_await pause_.Wait(executor_.Now() + kRetryInterval);
    if (stopped_) co_return;
    co_await members_->BindThoseThatCame(engine()->member_list());
  }
}

std::vector<std::shared_ptr<StoreProcess::Probe>> StoreProcess::Probes() const {
  MutexLock lock(mutex_);
  return probes_;
}

void StoreProcess::Retire(std::shared_ptr<Probe> probe) {
  probe->engine.monitor().Stop();
  std::vector<std::shared_ptr<Probe>> probes = Probes();
  probes.push_back(std::move(probe));
  std::erase_if(probes, [](const auto& retired) { return retired->scope.running() == 0; });
  MutexLock lock(mutex_);
  probes_.swap(probes);  // those at rest are freed without the lock
}

size_t StoreProcess::Running() const {
  size_t running = scope_.running();
  for (const auto& probe : Probes()) running += probe->scope.running();
  return running;
}

Task<void> StoreProcess::Hear(SpaceLedger& ledger) {
  // What was heard before goes on to be true.
  if (Generation* const generation = InUse()) (void)co_await HearOfSpace(*generation->engine, ledger);
}

Result<Store*> StoreProcess::Gate() const {
  const Generation* const generation = InUse();
  if (generation == nullptr) {
    MutexLock lock(mutex_);
    return not_open_;
  }
  XEC_TRY(generation->engine->MembersInForce());
  return generation->store.get();
}

Result<StoreMaintenance*> StoreProcess::maintenance() {
  if (const Generation* const generation = InUse()) return generation->maintenance.get();
  MutexLock lock(mutex_);
  return not_open_;
}

bool StoreProcess::SetNotOpen(const Error& error) {
  Error now = Fail(Code::kNoQuorum, "the store descriptor could not be read yet: {}", error.message);
  MutexLock lock(mutex_);
  std::swap(not_open_, now);
  return not_open_.message != now.message;
}

void StoreProcess::Note(std::string note) {
  Log(LogLevel::kInfo, "store", "{}", note);
  MutexLock lock(mutex_);
  notes_.push_back(std::move(note));
}

Engine* StoreProcess::engine() const {
  const Generation* const generation = InUse();
  return generation == nullptr ? nullptr : generation->engine.get();
}

std::vector<std::string> StoreProcess::notes() const {
  MutexLock lock(mutex_);
  return notes_;
}

CreateOptions StoreProcess::CreateOptionsFor(std::string_view path) {
  CreateOptions options;
  options.write.digests = configuration_.DigestsFor(path);
  if (const Engine* opened = engine()) {
    options.write.archives_min = configuration_.ArchivesMin(GeometryFor(opened->descriptor(), path));
  }
  return options;
}

bool StoreProcess::AllAnswer(TimePoint now) {
  const Engine* opened = engine();
  for (size_t i = 0; opened != nullptr && i < opened->server_count(); ++i) {
    if (opened->health().At(i, now).state != ServerState::kUp) return false;
  }
  return true;
}

bool StoreProcess::Settle(Duration at_most) {
  Stop();
  const TimePoint start = executor_.Now();
  const auto wait = [&]() -> Task<bool> {
    Alarm pause(executor_);
    while (Running() > 0) {
      const TimePoint now = executor_.Now();
      // What is left for a server that does not answer is left to the cleaner.
      const bool hopeless = now - start >= kSettleForBad && !AllAnswer(now);
      if (hopeless || now >= start + at_most) break;
      co_await pause.Wait(now + kSettleInterval);
    }
    co_return Running() == 0;
  };
  return SyncWait(wait());
}

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "store/rebuild.hh"

#include <algorithm>
#include <atomic>
#include <set>

#include "commit/engine/pause.hh"
#include "runtime/gather.hh"
#include "store/rebuild_pace.hh"
#include "store/rebuild_queue.hh"
#include "store/rebuild_rate.hh"

namespace xec {
namespace {

// Looking at an object is mostly waiting for servers.
constexpr size_t kLooksAtOnce = 16;
constexpr size_t kLooksAtOnceLeast = 2;
// Repairs take at most so much of the memory budget together, but for a single one: clients need the rest.
constexpr uint64_t kBudgetPart = 4;
// So often the progress is told, and the pace chosen anew.
constexpr Duration kTick = std::chrono::milliseconds(250);
// Objects that could not be repaired are remembered for another try at the end; what does not fit is told
// only.
constexpr size_t kTriedAgainMax = 100'000;

// What the walk tells as the next object once there is none.
constexpr const char* kAtTheEnd = "";

constexpr uint64_t kChances = uint64_t{1} << 32;

// What the tasks of a rebuild count, also while others run.
struct Counted {
  std::atomic<uint64_t> read = 0, written = 0;
  std::atomic<bool> stopped = false;
  std::atomic<uint64_t> repaired = 0;  // objects
  // RebuildPace::Limit; a mixture of two does no harm.
  std::atomic<double> work_per_s = RebuildPace::Limit().work_per_s, work = 0;
  std::atomic<TimePoint> at{};
  uint64_t Work() const { return read + written + RebuildPace::kObjectWork * repaired; }
};

// Of a small request on a usual server that is well, as far as is known.
std::optional<Duration> UsualLatency(const Engine& engine) {
  const TimePoint now = engine.executor().Now();
  std::vector<Duration> medians;
  for (size_t i = 0; i < engine.server_count(); ++i) {
    const ServerHealth::Report report = engine.health().ReportOf(i, now);
    const auto& latency = report.latencies[static_cast<size_t>(RequestKind::kMetadata)];
    if (report.standing.state == ServerState::kUp && latency.samples >= LatencyWindow::kSamplesMin)
      medians.push_back(latency.median);
  }
  if (medians.empty()) return std::nullopt;
  const auto middle = medians.begin() + static_cast<ptrdiff_t>(medians.size() / 2);
  std::nth_element(medians.begin(), middle, medians.end());
  return *middle;
}

// What a task came to.
struct Done {
  Result<RepairReport> report = RepairReport{};
  bool brought = false;
  std::optional<Error> not_brought;
};

bool IsBehind(const RebuildDue& due, uint64_t written, Duration elapsed) {
  const double part = std::chrono::duration<double>(elapsed) / std::chrono::duration<double>(due.time);
  return static_cast<double>(written) < std::min(1.0, part) * static_cast<double>(due.bytes);
}

using Object = RebuildQueue::Object;

class Rebuilder {
 public:
  Rebuilder(Engine& engine, LayoutStore& store, RebuildOptions options)
      : engine_(engine),
        store_(store),
        options_(std::move(options)),
        began_(engine.executor().Now()),
        gather_(engine.scope(), engine.executor()),
        pace_(RepairsThatFit(engine)) {}

  Task<Result<RebuildReport>> Run();

 private:
  enum Kind { kLook, kRepair };
  struct UnderWay {
    Kind kind = kLook;
    Object object;
  };
  static constexpr size_t kTickTag = 0;

  Task<Done> Look(Object object);
  Task<Done> Repair(Object object);
  Task<Done> Ask(const Object& object, bool dry_run);
  static Task<Done> Tick(Engine& engine);

  Task<Status> Directory(std::string directory, bool in_tree);
  Task<Status> Name(Object object);
  Task<void> TryAgain();
  Task<void> RunDry();
  // Awaits it. `next`: the object that is looked at next.
  Task<void> TakeTurn(std::string next);
  Task<void> Next();
  size_t LooksAllowed() const;
  void StartRepairs();
  void Start(Kind kind, Object object);
  void Queue(Object object);
  void PlanMoves(Object& object, RepairReport& look);
  void TakeLook(Object object, Done done);
  void TakeRepair(Object object, Done done);
  void NoteFailure(const Object& object, const Error& error);
  void LeaveForLater(const Object& object, const Error& error);
  void TellError(const std::string& path, const Error& error);
  void TellReport(const Object& object, const Done& done);
  void Note(const RepairReport& report);
  void ShowProgress();
  void LookAround();
  Status Stopped() const;

  Engine& engine_;
  LayoutStore& store_;
  const RebuildOptions options_;
  const TimePoint began_;
  const std::shared_ptr<Counted> counted_ = std::make_shared<Counted>();
  Gather<Done> gather_;
  std::map<size_t, UnderWay> under_way_;  // by tag
  size_t next_tag_ = kTickTag + 1;
  bool ticking_ = false;
  size_t looks_ = 0, repairs_ = 0;  // under way
  RebuildPace pace_;
  RebuildRate rate_;
  RebuildQueue queue_;
  std::vector<Object> again_;
  bool last_try_ = false;
  uint64_t tried_ = 0;           // repairs that have ended
  uint64_t bytes_open_ = 0;      // of objects that wait or are repaired
  uint64_t bytes_repaired_ = 0;  // of those that were
  std::set<MemberIndex> silent_;
  std::optional<Error> ended_;
  RebuildReport report_;
};

// What a rebuild that is not deep asks for twice is told by the archives' directories alone the first time.
Task<Done> Rebuilder::Ask(const Object& object, bool dry_run) {
  RepairOptions options;
  options.gone = options_.gone;
  options.shown_on = object.shown_on;
  options.deep = options_.deep;
  options.dry_run = dry_run;
  options.moves = object.moves;
  options.progress = [counted = counted_](uint64_t bytes) { counted->read += bytes; };
  options.wrote = [counted = counted_](uint64_t bytes) { counted->written += bytes; };
  options.rest = [counted = counted_, &executor = engine_.executor()] {
    return RebuildPace::Limit{counted->work_per_s, counted->work, counted->at}.Rest(counted->Work(),
                                                                                    executor.Now());
  };
  options.stopped = [counted = counted_] { return counted->stopped.load(); };
  Done done;
  done.report = co_await store_.Repair(object.path, std::move(options));
  co_return std::move(done);
}

Task<Done> Rebuilder::Look(Object object) {
  Done done = co_await Ask(object, true);
  const bool gone = !done.report && done.report.code() == Code::kNotFound;
  if (!object.outside || options_.dry_run || gone) co_return std::move(done);
  const Result<bool> brought = co_await store_.BringIntoTree(object.path);
  if (brought) done.brought = *brought;
  if (!brought) done.not_brought = brought.error();
  co_return std::move(done);
}

Task<Done> Rebuilder::Repair(Object object) {
  Done done = co_await Ask(object, false);
  if (done.report) ++counted_->repaired;
  co_return std::move(done);
}

Task<Done> Rebuilder::Tick(Engine& engine) {
  co_await Pause(engine, kTick);
  co_return Done{};
}

void Rebuilder::Start(Kind kind, Object object) {
  ++(kind == kLook ? looks_ : repairs_);
  gather_.Start(next_tag_, kind == kLook ? Look(object) : Repair(object));
  under_way_.emplace(next_tag_++, UnderWay{kind, std::move(object)});
}

// Fewer as soon as fewer are repaired.
size_t Rebuilder::LooksAllowed() const {
  return std::max(kLooksAtOnceLeast, kLooksAtOnce * pace_.at_once() / RebuildPace::kObjectsMax);
}

void Rebuilder::StartRepairs() {
  report_.total.at_once = pace_.at_once();
  while (repairs_ < pace_.at_once() && !ended_) {
    std::optional<Object> object = queue_.Take();
    if (!object) return;
    Start(kRepair, std::move(*object));
  }
}

// Something is under way, or waits.
Task<void> Rebuilder::Next() {
  StartRepairs();
  if (!std::exchange(ticking_, true)) gather_.Start(kTickTag, Tick(engine_));
  Gather<Done>::Event event = co_await gather_.Next();
  if (event.tag == kTickTag) {
    ticking_ = false;
    LookAround();
  } else {
    UnderWay ended = std::move(under_way_.extract(event.tag).mapped());
    --(ended.kind == kLook ? looks_ : repairs_);
    if (ended.kind == kLook) {
      TakeLook(std::move(ended.object), std::move(*event.value));
    } else {
      TakeRepair(std::move(ended.object), std::move(*event.value));
    }
  }
  ShowProgress();
}

void Rebuilder::LookAround() {
  const TimePoint now = engine_.executor().Now();
  RebuildPace::Seen seen = xec::LookAround(engine_, *store_.clients());
  seen.work = counted_->Work();
  seen.busy = repairs_ >= pace_.at_once();
  pace_.Note(seen, now);
  if (options_.due) pace_.NoteBehind(IsBehind(*options_.due, counted_->written, now - began_));
  const RebuildPace::Limit limit = pace_.limit();
  counted_->work = limit.work;
  counted_->at = limit.at;
  counted_->work_per_s = limit.work_per_s;
  rate_.Note(counted_->written, tried_, now);
}

void Rebuilder::ShowProgress() {
  RebuildProgress& total = report_.total;
  total.under_way = repairs_;
  total.bytes_read = counted_->read;
  total.bytes_written = counted_->written;
  total.elapsed = engine_.executor().Now() - began_;
  total.left.reset();
  if (total.all_found) {
    // Of those under way: what was written and is no other's.
    const uint64_t begun = total.bytes_written - std::min(total.bytes_written, bytes_repaired_);
    total.left = rate_.Left(bytes_open_ - std::min(bytes_open_, begun), queue_.size() + repairs_);
  }
  const bool go_on = options_.progress(total);
  if (!go_on && !ended_) ended_ = Fail(Code::kCancelled, "interrupted");
  if (ended_) counted_->stopped = true;
}

void Rebuilder::NoteFailure(const Object& object, const Error& error) {
  const bool lost = error.code == Code::kDataLoss || error.code == Code::kCorruption;
  ++report_.total.not_done;
  if (report_.not_done.size() < RebuildReport::kNotDoneTold)
    report_.not_done.push_back({object.path, error.message, lost});
}

// It is tried once more at the end.
void Rebuilder::LeaveForLater(const Object& object, const Error& error) {
  NoteFailure(object, error);
  // One that has nothing to move any more would be repaired instead.
  const bool worth_it = !options_.moves || !object.moves.empty();
  const bool again = worth_it && !last_try_ && again_.size() < kTriedAgainMax;
  if (again) again_.push_back(object);
  if (again) return;
  options_.not_moved(object.moves);
  queue_.Close(object.number);
}

void Rebuilder::TellError(const std::string& path, const Error& error) {
  RebuiltObject told;
  told.path = path;
  told.code = error.code;
  told.problem = error.message;
  options_.told(told);
}

void Rebuilder::TellReport(const Object& object, const Done& done) {
  RebuiltObject told;
  told.path = object.path;
  told.brought = done.brought;
  told.report = &*done.report;
  options_.told(told);
}

void Rebuilder::Note(const RepairReport& report) {
  report_.total.twice += report.archives_twice;
  silent_.insert(report.silent.begin(), report.silent.end());
  for (const RepairReport::Copy& copy : report.copies) {
    RebuildReport::Written& written = report_.written[copy.server];
    ++written.archives;
    written.bytes += copy.bytes;
  }
}

void Rebuilder::PlanMoves(Object& object, RepairReport& look) {
  object.moves = options_.moves(object.path, look);
  look.copies.clear();
  for (const LaneMove& move : object.moves) look.copies.push_back({move.to, move.bytes});
}

void Rebuilder::TakeLook(Object object, Done done) {
  if (!done.report && done.report.code() == Code::kNotFound) return queue_.Close(object.number);
  if (!done.report && done.report.code() == Code::kUnsupported) {
    ended_ = done.report.error();
    return;
  }
  ++report_.total.objects;
  if (done.brought) ++report_.total.brought;
  if (done.not_brought) {
    NoteFailure(object, *done.not_brought);
    TellError(object.path, *done.not_brought);
  }
  if (!done.report) {
    ++report_.total.needed;
    TellError(object.path, done.report.error());
    return LeaveForLater(object, done.report.error());
  }
  if (options_.moves) PlanMoves(object, *done.report);
  for (const RepairReport::Copy& copy : done.report->copies) object.bytes += copy.bytes;
  object.survives = done.report->survives;
  const bool surplus = done.report->archives_surplus > 0;
  const bool bad = done.report->archives_bad > 0 || !done.report->problems.empty();
  const bool wanting = options_.moves ? !object.moves.empty() : surplus || bad;
  if (wanting) ++report_.total.needed;
  report_.total.bytes_lost += object.bytes;
  if (options_.dry_run || !wanting) {
    Note(*done.report);
    TellReport(object, done);
    return queue_.Close(object.number);
  }
  if (done.brought) TellReport(object, done);
  Queue(std::move(object));
}

void Rebuilder::Queue(Object object) {
  object.chance = engine_.RandomBelow(kChances);
  bytes_open_ += object.bytes;
  queue_.Add(std::move(object));
}

void Rebuilder::TakeRepair(Object object, Done done) {
  ++tried_;
  bytes_open_ -= object.bytes;
  if (!done.report && done.report.code() == Code::kNotFound) {
    options_.not_moved(object.moves);
    return queue_.Close(object.number);
  }
  if (!done.report) {
    if (done.report.code() == Code::kCancelled) return;
    TellError(object.path, done.report.error());
    return LeaveForLater(object, done.report.error());
  }
  Note(*done.report);
  TellReport(object, done);
  for (const RepairReport::Copy& copy : done.report->copies)
    std::erase_if(object.moves, [&](const LaneMove& move) { return move.to == copy.server; });
  if (done.report->problems.empty()) {
    ++report_.total.repaired;
    bytes_repaired_ += object.bytes;
    return queue_.Close(object.number);
  }
  std::string problems;
  for (const std::string& problem : done.report->problems)
    problems += (problems.empty() ? "" : "; ") + problem;
  LeaveForLater(object, Fail(Code::kUnavailable, "{}", problems));
}

Status Rebuilder::Stopped() const {
  if (ended_) return *ended_;
  return OkStatus();
}

Task<void> Rebuilder::TakeTurn(std::string next) {
  if (!options_.turn || ended_) co_return;
  WalkPoint point{.at = queue_.From(next), .done = report_.total.objects};
  const bool go_on = co_await options_.turn(std::move(point));
  if (!go_on) ended_ = Fail(Code::kCancelled, "the rebuild was ended");
}

Task<Status> Rebuilder::Name(Object object) {
  if (IsBefore(object.path, options_.from) || options_.enough()) co_return OkStatus();
  do {
    if (looks_ >= LooksAllowed() || !queue_.HasRoom()) co_await Next();
    co_await TakeTurn(object.path);
  } while (!ended_ && (looks_ >= LooksAllowed() || !queue_.HasRoom()));
  Status stopped = Stopped();
  if (!stopped) co_return std::move(stopped);
  if (options_.moves) object.outside = false;
  object.number = queue_.Begin(object.path);
  Start(kLook, std::move(object));
  co_return OkStatus();
}

Task<Status> Rebuilder::Directory(std::string directory, bool in_tree) {
  if (options_.enough()) co_return OkStatus();
  Result<StoredNames> names = co_await store_.ListStored(directory);
  if (!names && names.code() == Code::kNotFound) co_return OkStatus();
  if (!names && names.code() == Code::kCancelled) co_return names.error();
  if (!names) {
    ++report_.total.unlisted;
    if (report_.unlisted.size() < RebuildReport::kNotDoneTold)
      report_.unlisted.push_back({directory, names.error().message});
    TellError(directory, names.error());
    ShowProgress();
    co_return Stopped();
  }
  for (const ListedName& name : names->names) {
    std::string path = (directory == "/" ? "" : directory) + "/" + name.name;
    // A directory that was begun is not before its own names.
    const bool behind = IsBefore(path, options_.from) && !options_.from.starts_with(path + "/");
    Status done;
    if (name.directory && !behind) done = co_await Directory(std::move(path), in_tree);
    if (!name.directory) {
      Object object{.path = std::move(path), .outside = !in_tree, .shown_on = names->shown_on[name.name]};
      done = co_await Name(std::move(object));
    }
    if (!done) co_return std::move(done);
  }
  for (std::string& gone : names->gone) {
    Status below = co_await Directory(std::move(gone), false);
    if (!below) co_return std::move(below);
  }
  co_return OkStatus();
}

// Until nothing waits and nothing is under way.
Task<void> Rebuilder::RunDry() {
  while (looks_ + repairs_ > 0 || (queue_.size() > 0 && !ended_)) {
    co_await Next();
    co_await TakeTurn(kAtTheEnd);
  }
}

// What could not be had before may be there by now.
Task<void> Rebuilder::TryAgain() {
  last_try_ = true;
  const std::vector<Object> again = std::exchange(again_, {});
  report_.total.not_done -= again.size();
  std::set<std::string> paths;
  for (const Object& object : again) paths.insert(object.path);
  std::erase_if(report_.not_done,
                [&](const RebuildReport::NotDone& told) { return paths.contains(told.path); });
  for (const Object& object : again) {
    while (!ended_ && !queue_.HasRoom()) co_await Next();
    Queue(object);
  }
  co_await RunDry();
}

Task<Result<RebuildReport>> Rebuilder::Run() {
  Status walked = co_await Directory("/", true);
  if (!walked && !ended_) ended_ = walked.error();
  while (looks_ > 0) co_await Next();
  report_.total.all_found = true;
  co_await RunDry();
  const bool retry = !ended_ && !options_.dry_run && !again_.empty();
  if (retry) co_await TryAgain();
  ShowProgress();
  if (ended_) co_return *ended_;
  report_.silent.assign(silent_.begin(), silent_.end());
  co_return std::move(report_);
}

}  // namespace

size_t RepairsThatFit(Engine& engine) {
  const Geometry& geometry = GeometryFor(engine.descriptor(), "/");
  return engine.budget().limit() / kBudgetPart / RepairMemoryBytes(geometry);
}

RebuildPace::Seen LookAround(const Engine& engine, ClientRequests& clients) {
  return {.clients = clients.AnySinceAsked(), .latency = UsualLatency(engine)};
}

Task<Result<RebuildReport>> Rebuild(Engine& engine, LayoutStore& store, RebuildOptions options) {
  Rebuilder rebuilder(engine, store, std::move(options));
  Result<RebuildReport> report = co_await rebuilder.Run();
  co_return std::move(report);
}

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// Writes anew what members hold that have been away for too long, takes away what is there twice once they
// are back, and empties members that are to leave. One gateway at a time does it, as far as they hear of each
// other; several do no harm.
#include <algorithm>

#include "assembly/jobs/away_members.hh"
#include "assembly/jobs/store_jobs.hh"
#include "assembly/maintenance/job_board.hh"
#include "base/log.hh"
#include "base/units.hh"
#include "jobs/stepped_walk.hh"
#include "placement/list_changes.hh"
#include "store/change_list.hh"

namespace xec {

extern const JobKind kRebuildJob;

namespace {

// How often it is seen who is away, which costs nothing, and how often a rebuild looks for others like it.
constexpr Duration kLookInterval = std::chrono::seconds(5);
constexpr Duration kOthersInterval = std::chrono::seconds(30);
// Gateways that see the same do not begin at the same moment: each waits for a random part of this, or of a
// quarter of `rebuild-after`.
constexpr Duration kSpread = std::chrono::seconds(30);
// After a rebuild that left something undone; so many times as long as that took, if that is more.
constexpr Duration kTryAgain = std::chrono::minutes(10);
constexpr int kPauseForRebuild = 4;
// So many objects that cannot be repaired are named in the log for each rebuild.
constexpr size_t kToldMax = 20;

using Ids = AwayMembers::Ids;

std::string Joined(const Ids& ids) {
  std::string text;
  for (const std::string& id : ids) text += (text.empty() ? "" : ", ") + id;
  return text;
}

// Why a rebuild is made; empty sets: it is not.
struct Reasons {
  Ids gone;  // away for too long
  Ids returned;  // are back
  Ids emptying;
  bool Any() const { return !gone.empty() || !returned.empty() || !emptying.empty(); }
  std::string Text() const {
    std::string text;
    const auto add = [&](const Ids& ids, std::string_view what) {
      if (!ids.empty()) text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", what, Joined(ids));
    };
    add(gone, "away for too long");
    add(returned, "back");
    add(emptying, "to be emptied");
    return text;
  }
};

// What a rebuild and the job's steps share.
struct Rebuilt {
  RebuildProgress progress;
  std::optional<Result<RebuildReport>> report;
  size_t told = 0;
};

std::string ProgressText(const RebuildProgress& progress) {
  std::string text =
      fmt::format("{} of {} written", FormatSize(progress.bytes_written), FormatSize(progress.bytes_lost));
  if (progress.left)
    text +=
        fmt::format(", {} s left", std::chrono::duration_cast<std::chrono::seconds>(*progress.left).count());
  return text;
}

// A step ends between two objects that are looked at, or when one is repaired; a pass is one rebuild.
class RebuildJob final : public Job {
 public:
  explicit RebuildJob(JobSite& site) : site_(site), after_(site.configuration.rebuild_after) {}

  const JobText& text() const override { return kRebuildJob.text; }
  Duration first_pause() const override { return std::min(kLookInterval, after_); }
  std::string cursor() const override { return away_.Text(); }
  void Restore(std::string cursor) override { away_ = AwayMembers::Parse(cursor); }

  Task<StepEnd> Step(JobStep step) override {
    StepEnd end{.kind = StepEnd::kRest, .pause = std::min(kLookInterval, after_)};
    LookAround();
    if (!walk_) {
      const bool begins = co_await MayBegin();
      if (!begins) co_return end;
      Begin();
    }
    const std::string ended_by = co_await WhyEnd();
    if (!ended_by.empty()) {
      Log(LogLevel::kInfo, "rebuild", "ended before it was complete: {}", ended_by);
      co_await Cancel();
      step.show({});
      co_return end;
    }
    const auto show = step.show;
    const bool ended = co_await walk_->Step(std::move(step));
    const RebuildProgress& progress = rebuilt_->progress;
    JobProgress shown{.done = progress.repaired, .at = ProgressText(progress)};
    if (progress.all_found) shown.total = progress.needed;
    show(std::move(shown));
    end.units = walk_->units();
    end.kind = StepEnd::kMore;
    end.pause = {};
    if (!ended) co_return end;
    end.kind = StepEnd::kRest;
    end.problem = co_await Finish();
    end.pause =
        end.problem ? std::max<Duration>(kTryAgain, kPauseForRebuild * progress.elapsed) : kLookInterval;
    walk_.reset();
    show({});
    co_return end;
  }

  Task<void> Cancel() override {
    if (!walk_) co_return;
    co_await walk_->End();
    walk_.reset();
    begins_at_.reset();
  }

 private:
  const StoreDescriptor& list() const { return site_.engine().descriptor(); }
  int64_t WallNow() const { return site_.engine().executor().WallNow(); }
  TimePoint Now() const { return site_.engine().executor().Now(); }

  void LookAround() {
    Ids away;
    silent_ = 0;
    for (size_t i = 0; i < list().members.size(); ++i) {
      if (site_.engine().health().At(i, Now()).state == ServerState::kUp) continue;
      ++silent_;
      if (!site_.engine().InMaintenance(static_cast<MemberIndex>(i))) away.insert(list().members[i].id);
    }
    away_.Note(away, WallNow());
    // A disk that was replaced has nothing when it is used again.
    const std::set<MemberIndex> left_out = site_.gone_back->Get();
    Ids back;
    for (const MemberIndex member : left_out) {
      // It may be of the list before.
      if (member < list().members.size()) back.insert(list().members[member].id);
    }
    for (const std::string& id : left_out_) {
      if (!back.contains(id)) away_.NoteReturned({id});
    }
    left_out_ = std::move(back);
  }

  Reasons ReasonsNow() const {
    Reasons reasons;
    if (!NeedSettled(site_.now().stored) || silent_ > list().tolerance) return reasons;
    reasons.gone = away_.For(after_, WallNow());
    if (away_.AreReplaced(reasons.gone) || !OthersHaveRoom()) reasons.gone.clear();
    if (Now() >= again_at_) reasons.returned = away_.returned();
    for (const Member& member : list().members) {
      if (member.role == MemberRole::kEmptying) reasons.emptying.insert(member.id);
    }
    return reasons;
  }

  // Are as many members left as an object has archives?
  bool OthersHaveRoom() const {
    size_t archives = list().geometry.Total(), emptying = 0;
    for (const PathRule& rule : list().rules) archives = std::max<size_t>(archives, rule.geometry.Total());
    for (const Member& member : list().members) emptying += IsBeingEmptied(member.role) ? 1 : 0;
    return list().members.size() >= archives + silent_ + emptying;
  }

  // The rebuilds of other gateways, as they told last.
  Task<std::vector<ProcessRecord>> Others() {
    Engine& engine = site_.engine();
    JobBoard board = co_await ReadJobBoard(engine, Quorum(engine.server_count()));
    std::vector<ProcessRecord> records = co_await ReadJobRecords(engine, std::move(board));
    const auto silent = std::chrono::duration_cast<std::chrono::milliseconds>(kJobsSilentAfter).count();
    std::erase_if(records, [&](ProcessRecord& record) {
      std::erase_if(record.jobs, [&](const JobReport& job) { return job.name != text().name; });
      return record.process == site_.process || record.jobs.empty() || record.told_ms < WallNow() - silent;
    });
    co_return std::move(records);
  }

  static bool IsRunning(const ProcessRecord& record) {
    return record.jobs.front().state == JobState::kRunning;
  }

  // There is a reason, and no other gateway is at work.
  Task<bool> MayBegin() {
    if (!ReasonsNow().Any()) {
      begins_at_.reset();
      co_return false;
    }
    if (!begins_at_) {
      const Duration spread = std::min(kSpread, after_ / 4);
      const auto part = site_.engine().RandomBelow(static_cast<uint64_t>(spread.count()) + 1);
      begins_at_ = Now() + Duration(static_cast<Duration::rep>(part));
    }
    if (Now() < *begins_at_) co_return false;
    const std::vector<ProcessRecord> others = co_await Others();
    if (std::any_of(others.begin(), others.end(), IsRunning)) co_return false;
    reasons_ = ReasonsNow();
    for (const ProcessRecord& other : others) {
      const AwayMembers told = AwayMembers::Parse(other.jobs.front().cursor);
      if (told.AreReplaced(reasons_.gone)) away_.NoteReplaced(reasons_.gone);
    }
    reasons_ = ReasonsNow();
    for (const ProcessRecord& other : others) LeaveToItself(other);
    co_return reasons_.Any();
  }

  // What another gateway hears from is not gone: the way to it may be broken from here only.
  void LeaveToItself(const ProcessRecord& other) {
    const Ids away = AwayMembers::Parse(other.jobs.front().cursor).For(Duration::zero(), WallNow());
    const size_t before = reasons_.gone.size();
    std::erase_if(reasons_.gone, [&](const std::string& id) { return !away.contains(id); });
    if (reasons_.gone.size() < before && std::exchange(heard_by_, other.process) != other.process) {
      Log(LogLevel::kWarning, "rebuild",
          "{} hears from data servers that this gateway does not: nothing is rebuilt", other.process);
    }
  }

  void Begin() {
    away_.NoteBegun(reasons_.gone);
    Log(LogLevel::kWarning, "rebuild", "archives are written anew ({})", reasons_.Text());
    rebuilt_ = std::make_shared<Rebuilt>();
    looked_at_ = Now();
    Generation& now = site_.now();
    std::vector<MemberIndex> gone;
    const std::vector<Member>& members = now.engine->descriptor().members;
    for (size_t i = 0; i < members.size(); ++i) {
      if (reasons_.gone.contains(members[i].id)) gone.push_back(static_cast<MemberIndex>(i));
    }
    walk_.emplace(now.engine->scope(), now.engine->executor(),
                  [this, &store = *now.maintenance, gone, rebuilt = rebuilt_](Turn turn) {
                    return Rebuild(store, gone, std::move(turn), rebuilt);
                  });
  }

  // `gone`: members of the list by which the store goes.
  Task<void> Rebuild(Maintenance& store, std::vector<MemberIndex> gone, Turn turn,
                     std::shared_ptr<Rebuilt> rebuilt) {
    RebuildOptions options;
    options.gone = std::move(gone);
    options.turn = std::move(turn);
    options.progress = [rebuilt](const RebuildProgress& progress) {
      rebuilt->progress = progress;
      return true;
    };
    options.told = [rebuilt](const RebuiltObject& object) {
      if (object.report == nullptr && ++rebuilt->told <= kToldMax)
        Log(LogLevel::kWarning, "rebuild", "{}: {}", object.path, object.problem);
    };
    rebuilt->report = co_await store.Rebuild(std::move(options), {});
  }

  // Empty: the rebuild goes on.
  Task<std::string> WhyEnd() {
    if (silent_ > list().tolerance) co_return "too many data servers are away";
    if (!NeedSettled(site_.now().stored)) co_return "the data servers of the store are being changed";
    const Ids away = away_.For(Duration::zero(), WallNow());
    for (const std::string& id : reasons_.gone) {
      if (!away.contains(id)) co_return id + " is back";
    }
    if (Now() < looked_at_ + kOthersInterval) co_return "";
    looked_at_ = Now();
    const std::vector<ProcessRecord> others = co_await Others();
    for (const ProcessRecord& other : others) {
      if (IsRunning(other) && other.process < site_.process) co_return other.process + " does it";
    }
    co_return "";
  }

  Task<std::optional<Error>> Finish() {
    begins_at_.reset();
    if (!rebuilt_->report) co_return Fail(Code::kCancelled, "the rebuild was ended");
    if (!*rebuilt_->report) co_return rebuilt_->report->error();
    const RebuildReport& report = **rebuilt_->report;
    const RebuildProgress& total = report.total;
    Log(LogLevel::kInfo, "rebuild", "{} of {} objects needed it, {} are whole again; {} written in {} s",
        total.needed, total.objects, total.repaired, FormatSize(total.bytes_written),
        std::chrono::duration_cast<std::chrono::seconds>(total.elapsed).count());
    // What is lost stays so however often it is tried.
    const bool only_lost = report.not_done.size() == total.not_done &&
                           std::all_of(report.not_done.begin(), report.not_done.end(),
                                       [](const RebuildReport::NotDone& object) { return object.lost; });
    if (total.unlisted > 0 || !only_lost) {
      co_return Fail(Code::kUnavailable, "{} objects and {} directories could not be done", total.not_done,
                     total.unlisted);
    }
    away_.NoteReplaced(reasons_.gone);
    if (total.twice > 0) again_at_ = Now() + kTryAgain;
    if (total.twice == 0) away_.Forget(reasons_.returned);
    if (!reasons_.emptying.empty() && !report.silent.empty()) {
      co_return Fail(Code::kUnavailable, "{} cannot be emptied while data servers do not answer",
                     Joined(reasons_.emptying));
    }
    for (const std::string& id : reasons_.emptying) {
      const Status emptied = co_await SayEmptied(id);
      if (!emptied && emptied.code() != Code::kConflict) co_return emptied.error();
    }
    co_return std::nullopt;
  }

  Task<Status> SayEmptied(std::string id) {
    const Result<StoreDescriptor> next = Emptied(site_.now().stored, id);
    if (!next) co_return next.error();
    const Status said = co_await BeginChange(
        [this] {
          Generation& in_use = site_.now();
          return ListInUse{*in_use.engine, in_use.stored};
        },
        *next);
    if (said) Log(LogLevel::kInfo, "rebuild", "{} is empty: xec server remove takes it off", id);
    co_return said;
  }

  JobSite& site_;
  const Duration after_;
  AwayMembers away_;
  Ids left_out_;  // until their disks are compared
  size_t silent_ = 0;  // members, now
  TimePoint again_at_{};  // not before that for what is there twice
  std::string heard_by_;  // another gateway, which hears from members that are away here
  std::optional<TimePoint> begins_at_;  // while there is a reason
  // Of the rebuild under way.
  Reasons reasons_;
  std::optional<SteppedWalk> walk_;
  std::shared_ptr<Rebuilt> rebuilt_;
  TimePoint looked_at_{};  // for others
};

}  // namespace

constinit const JobKind kRebuildJob = {
    .text = {.name = "rebuild",
             .summary = "writes anew what data servers hold that are away for long, or are to be emptied",
             .unit = "objects",
             .has_passes = true},
    .make = [](JobSite& site) -> std::unique_ptr<Job> {
      const StoreDescriptor& list = site.engine().descriptor();
      const bool never = site.configuration.rebuild_after == Duration::zero();
      if (never || list.tolerance == 0 || list.layout != Layout::kNative) return nullptr;
      return std::make_unique<RebuildJob>(site);
    }};

}  // namespace xec

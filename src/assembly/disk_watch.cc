// SPDX-License-Identifier: LGPL-3.0-or-later
// How a gateway notices disks that went back in time, and what it does about them; and disks that take no
// writes any more.
#include "assembly/server_kinds.hh"
#include "assembly/store_process.hh"
#include "base/log.hh"
#include "commit/server_gather.hh"

namespace xec {

Task<void> StoreProcess::ClockLoop() {
  bool go_on = true;
  size_t told = 0;  // so many were back in the round before
  while (go_on) {
    ClockRound round = co_await ReadDiskClocks(*beneath_, clocks_);
    const size_t tolerance = beneath_->descriptor().tolerance;
    if (round.back.size() > tolerance && round.back.size() > told) {
      Log(LogLevel::kError, "disks",
          "the disks of {} data servers went back in time, and no more than {} may be away: "
          "see \"A disk comes back older than it was\" in docs/operations.md",
          round.back.size(), tolerance);
    }
    told = round.back.size();
    {
      std::lock_guard lock(mutex_);
      back_ = {round.back.begin(), round.back.end()};
    }
    co_await AdvanceDiskClocks(*beneath_, clocks_, std::move(round));
    go_on = co_await background_.Pause(kClockInterval);
  }
}

Task<void> StoreProcess::WriteLoop() {
  WriteWatch watch(beneath_->server_count());
  bool go_on = true;
  for (uint64_t round = 0; go_on; ++round) {
    co_await TryAllWrites(watch, round);
    go_on = co_await background_.Pause(kClockInterval);
  }
}

Task<void> StoreProcess::TryAllWrites(WriteWatch& watch, uint64_t round) {
  Engine& engine = *beneath_;
  ServerGather<Result<TriedWrites>> gather(engine, RequestKind::kSync);
  for (size_t i = 0; i < engine.server_count(); ++i) {
    const auto member = static_cast<MemberIndex>(i);
    // Who does not answer is told as that.
    if (engine.health().At(i, executor_.Now()).state != ServerState::kUp) continue;
    const bool directory = KindOf(engine.server(member)->name()).local;
    const bool root = watch.AsksRoot(member, directory, round);
    gather.Start(member,
                 TryWrites(executor_, engine.server(member), root, engine.options().metadata_timeout));
  }
  while (gather.timely() > 0) {
    auto event = co_await gather.Next();
    if (!event.value || !*event.value) continue;
    const TriedWrites& tried = **event.value;
    const TimePoint now = executor_.Now();
    const std::string name =
        fmt::format("{} ({})", engine.server_id(event.member), engine.server(event.member)->name());
    switch (watch.Note(event.member, tried.refusal, now)) {
      case WriteWatch::News::kNone: break;
      case WriteWatch::News::kRefuses:
        Log(LogLevel::kWarning, "disks",
            "data server {} takes no writes: {}. What it holds is still read, and uploads go to the others",
            name, tried.why);
        break;
      case WriteWatch::News::kTakes:
        Log(LogLevel::kInfo, "disks", "data server {} takes writes again after {} s", name,
            std::chrono::duration_cast<std::chrono::seconds>(now - watch.RefusedSince(event.member)).count());
        break;
    }
  }
}

Task<void> StoreProcess::ReconcileLoop() {
  while (true) {
    const bool go_on = co_await background_.Pause(kClockInterval);
    if (!go_on) co_return;
    std::set<MemberIndex> back;
    {
      std::lock_guard lock(mutex_);
      back = back_;
    }
    for (const MemberIndex member : back) {
      const bool still = IsBack(member);
      if (still) co_await Reconcile(member);
    }
  }
}

bool StoreProcess::IsBack(MemberIndex member) const {
  std::lock_guard lock(mutex_);
  return back_.contains(member);
}

Task<void> StoreProcess::Reconcile(MemberIndex member) {
  if (background_.stopped()) co_return;
  const Member& server = beneath_->descriptor().members[member];
  Log(LogLevel::kWarning, "disks",
      "the disk of {} ({}) went back in time; it is left out until it is compared with the others", server.id,
      server.address);
  const Status done =
      co_await ReconcileDisk(*engine_, *beneath_, clocks_, member, [this] { return background_.stopped(); });
  if (done) {
    Log(LogLevel::kInfo, "disks", "the disk of {} was compared with the others and is used again", server.id);
  } else if (done.code() != Code::kCancelled) {
    Log(LogLevel::kWarning, "disks", "the disk of {} cannot be compared now: {}", server.id,
        done.error().message);
  }
}

}  // namespace xec

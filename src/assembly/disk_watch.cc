// SPDX-License-Identifier: LGPL-3.0-or-later
// How a gateway notices disks that went back in time, and what it does about them.
#include "assembly/store_process.hh"
#include "base/log.hh"

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

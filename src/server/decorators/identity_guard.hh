// SPDX-License-Identifier: LGPL-3.0-or-later
// IdentityGuard: makes sure that a data server is the member it is taken for (promise P6). Each member
// holds a small file that names the store and the member. The guard reads it before the
// first use, again before the next use after the server could not be reached or has not been heard of for
// `silence_max`, and before it passes on an answer that took longer than that, or a "not found" or an empty
// root when the last reading is older than `confirm_interval`. When it is missing or differs, the answer is
// kUnavailable: a disk that is not mounted, or a server of another store, knows nothing about our names.
//
// A check costs three requests (open, read, close), shared by all that wait for it.
//
// The same with a disk clock (disk_clocks.hh) in place of the small file makes sure that the disk did not go
// back in time; it stands around a server whose identity is known. Every listing is proved like a "not found"
// then, since an older state of the disk shows what was changed long ago. A check costs one request.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.hh"
#include "server/decorators/decorator.hh"
#include "server/decorators/disk_clocks.hh"

namespace xec {

struct IdentityOptions {
  std::string path = {};  // of the small file
  std::string content = {};  // what it must hold, byte for byte; at most 4096 bytes
  std::string description = {};  // for messages: "member s03 of store 4f2a"
  std::optional<DiskClock> clock = {};  // in place of these
  // For how long a check proves a "not found", or a listing. 0: each is proved afresh. A server that was
  // restarted without its disk is believed for so long at most: the client library connects again without
  // telling.
  Duration confirm_interval = std::chrono::seconds(1);
  // A server that has answered nothing for longer than this may have been away meanwhile, and have come back
  // with another disk.
  Duration silence_max = std::chrono::seconds(5);
  // After this time an unanswered check counts as failed (kUnavailable).
  Duration check_timeout = std::chrono::seconds(10);
};

class IdentityCheck : public std::enable_shared_from_this<IdentityCheck> {
 public:
  IdentityCheck(DataServerPtr inner, Executor& executor, IdentityOptions options);

  template <typename T>
  void Around(const Request& request, Start<T> start, Done<T> done);

  // How many readings were started; for tests.
  uint64_t checks() const;

 private:
  struct Flight;
  using Waiter = UniqueFunction<void(Status)>;

  bool Confirmed() const;  // may be used without a check first
  bool ConfirmedAfter(TimePoint oldest) const;
  void NoteUnavailable();
  // The process may have been stopped since the answer came: it counts from when it was asked for.
  void NoteHeard(TimePoint asked);
  // Calls the waiter after a check that was started after `oldest`, never inline: joins the one under
  // way when it is young enough, else starts one or waits for its turn.
  void Check(TimePoint oldest, Waiter waiter);
  void StartFlight(const std::shared_ptr<Flight>& flight);
  void OnOpened(const std::shared_ptr<Flight>& flight, Result<std::shared_ptr<ArchiveFile>> opened);
  void OnRead(const std::shared_ptr<Flight>& flight, Result<uint64_t> got);
  void LookAtClock(const std::shared_ptr<Flight>& flight);
  void OnListed(const std::shared_ptr<Flight>& flight, Result<std::vector<Entry>> readings);
  void FinishInTime(const std::shared_ptr<Flight>& flight);
  void Finish(const std::shared_ptr<Flight>& flight, Status status);

  const DataServerPtr inner_;
  Executor& executor_;
  const IdentityOptions options_;
  mutable Mutex mutex_;
  std::optional<TimePoint> confirmed_ XEC_GUARDED_BY(mutex_);  // start of the last good check
  // When the last request was begun that the server has answered.
  TimePoint heard_ XEC_GUARDED_BY(mutex_) = {};
  // The check under way. Its request and its timer own it, and it owns its waiters: a process that goes drops
  // both, and waiters hold this.
  std::weak_ptr<Flight> flight_ XEC_GUARDED_BY(mutex_);
  uint64_t checks_ XEC_GUARDED_BY(mutex_) = 0;
};

class IdentityGuard final : public DecoratedServer<IdentityCheck> {
 public:
  // `executor` gives time and timers; it outlives what is in flight.
  IdentityGuard(DataServerPtr inner, Executor& executor, IdentityOptions options);
  ~IdentityGuard() override;

  uint64_t checks() const { return core_->checks(); }
};

// Does the answer say of anything that it is not there?
template <typename T>
bool SaysNotFound(const Result<T>& result) {
  if (!result) return result.code() == Code::kNotFound;
  if constexpr (std::is_same_v<T, std::vector<Listed>>)
    return std::any_of(result->begin(), result->end(), [](const Listed& listed) { return !listed; });
  return false;
}

// An empty root holds no identity file either.
template <typename T>
bool ShowsEmptyRoot(bool of_root, const Result<T>& result) {
  if constexpr (std::is_same_v<T, std::vector<Entry>>) return of_root && result && result->empty();
  return false;
}

template <typename T>
constexpr bool kIsListing = std::is_same_v<T, std::vector<Entry>> || std::is_same_v<T, std::vector<Listed>>;

template <typename T>
void IdentityCheck::Around(const Request& request, Start<T> start, Done<T> done) {
  // A file is used on the connection that opened it: its own requests need no check.
  const bool of_file = request.operation >= Operation::kRead;
  Done<T> judge = [self = shared_from_this(), done = std::move(done), of_file, of_root = request.path == "/",
                   asked = executor_.Now()](Result<T> result) mutable {
    const TimePoint now = self->executor_.Now();
    const bool answered =
        result || (result.code() != Code::kUnavailable && result.code() != Code::kDeadlineExceeded);
    if (answered) self->NoteHeard(asked);
    if (!result && result.code() == Code::kUnavailable) self->NoteUnavailable();
    // The server that was asked so long ago may be another one by the time of the request.
    const bool late = answered && !of_file && now - asked > self->options_.silence_max;
    TimePoint oldest = now - self->options_.confirm_interval;
    if (late) oldest = std::max(oldest, asked);
    const bool tells_names = kIsListing<T> && result && self->options_.clock;
    const bool to_prove = late || tells_names || SaysNotFound(result) || ShowsEmptyRoot(of_root, result);
    if (!to_prove || self->ConfirmedAfter(oldest)) return done(std::move(result));
    self->Check(oldest, [done = std::move(done), result = std::move(result)](Status status) mutable {
      done(status ? std::move(result) : Result<T>(status.error()));
    });
  };
  if (of_file || Confirmed()) return start(std::move(judge));
  Check(TimePoint::min(), [start = std::move(start), judge = std::move(judge)](Status status) mutable {
    if (status) return start(std::move(judge));
    judge(status.error());
  });
}

// Around a server whose identity is known: leaves it out while its disk is known to have gone back in time.
inline DataServerPtr WatchDiskClock(DataServerPtr server, Executor& executor, DiskClock clock) {
  IdentityOptions options;
  options.clock = std::move(clock);
  // No daemon starts as fast on another disk.
  options.confirm_interval = std::chrono::milliseconds(250);
  return std::make_shared<IdentityGuard>(std::move(server), executor, std::move(options));
}

}  // namespace xec

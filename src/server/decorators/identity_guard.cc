// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/decorators/identity_guard.hh"

#include "base/mutant.hh"

namespace xec {
namespace {

constexpr size_t kContentBytesMax = 4096;

Error WentBack(const std::string& name, DiskTime shown, DiskTime latest) {
  constexpr std::string_view kUntil = "it is left out until a gateway has compared it with the others";
  if (shown == 0)
    return Fail(Code::kUnavailable, "the disk of {} has no clock any more, though it had one at {}; {}", name,
                DescribeDiskTime(latest), kUntil);
  return Fail(Code::kUnavailable,
              "the disk of {} went back in time: it is as of {}, and was as of {} before; {}", name,
              DescribeDiskTime(shown), DescribeDiskTime(latest), kUntil);
}

}  // namespace

// One reading of the identity file. `finished` and the waiters are guarded by the check's mutex; the rest is
// touched by one step at a time.
struct IdentityCheck::Flight {
  TimePoint started;
  bool finished = false;
  std::vector<Waiter> waiters;
  std::vector<Waiter> next;  // requests that need one that starts after this
  TimerId timer = 0;
  std::shared_ptr<ArchiveFile> file;
  Slice bytes;
  DiskTime latest = 0;  // of the disk, as far as was known when its clock was asked for
};

IdentityCheck::IdentityCheck(DataServerPtr inner, Executor& executor, IdentityOptions options)
    : inner_(std::move(inner)), executor_(executor), options_(std::move(options)) {
  XEC_CHECK(options_.content.size() <= kContentBytesMax);
}

uint64_t IdentityCheck::checks() const {
  MutexLock lock(mutex_);
  return checks_;
}

bool IdentityCheck::Confirmed() const {
  const TimePoint now = executor_.Now();
  MutexLock lock(mutex_);
  return confirmed_ && now - heard_ <= options_.silence_max;
}

bool IdentityCheck::ConfirmedAfter(TimePoint oldest) const {
  MutexLock lock(mutex_);
  return confirmed_ && *confirmed_ > oldest;
}

void IdentityCheck::NoteUnavailable() {
  MutexLock lock(mutex_);
  confirmed_.reset();
}

void IdentityCheck::NoteHeard(TimePoint asked) {
  MutexLock lock(mutex_);
  heard_ = std::max(heard_, asked);
}

void IdentityCheck::Check(TimePoint oldest, Waiter waiter) {
  std::shared_ptr<Flight> flight;
  std::shared_ptr<Flight> under_way;  // let go after the lock: it may be the last to hold it
  {
    MutexLock lock(mutex_);
    under_way = flight_.lock();
    if (under_way) {
      (under_way->started > oldest ? under_way->waiters : under_way->next).push_back(std::move(waiter));
      return;
    }
    flight = std::make_shared<Flight>();
    flight_ = flight;
    flight->started = executor_.Now();
    flight->waiters.push_back(std::move(waiter));
    ++checks_;
  }
  StartFlight(flight);
}

void IdentityCheck::StartFlight(const std::shared_ptr<Flight>& flight) {
  const TimePoint deadline = flight->started + options_.check_timeout;
  flight->timer = executor_.RunAt(deadline, [self = shared_from_this(), flight] {
    self->Finish(flight, Fail(Code::kUnavailable, "{} does not answer who it is", self->inner_->name()));
  });
  if (options_.clock) return LookAtClock(flight);
  inner_->Open({deadline}, options_.path, OpenMode::kRead,
               [self = shared_from_this(), flight](Result<std::shared_ptr<ArchiveFile>> opened) {
                 self->OnOpened(flight, std::move(opened));
               });
}

void IdentityCheck::OnOpened(const std::shared_ptr<Flight>& flight,
                             Result<std::shared_ptr<ArchiveFile>> opened) {
  if (!opened) {
    if (opened.code() == Code::kUnavailable) return Finish(flight, opened.error());
    return Finish(flight, Fail(Code::kUnavailable, "{} is not {}: {}", inner_->name(), options_.description,
                               opened.error().message));
  }
  flight->file = std::move(*opened);
  flight->bytes = Slice(Buffer::Allocate(kContentBytesMax + 1));
  flight->file->Read(
      {flight->started + options_.check_timeout}, {ByteRange{0, kContentBytesMax + 1}}, flight->bytes,
      [self = shared_from_this(), flight](Result<uint64_t> got) { self->OnRead(flight, std::move(got)); });
}

void IdentityCheck::OnRead(const std::shared_ptr<Flight>& flight, Result<uint64_t> got) {
  // What closing a file that was only read answers interests nobody.
  flight->file->Close({flight->started + options_.check_timeout}, [file = flight->file](Status) {});
  if (!got) {
    return Finish(
        flight, Fail(Code::kUnavailable, "{} cannot say who it is: {}", inner_->name(), got.error().message));
  }
  const bool same = AsText(flight->bytes.span().first(*got)) == options_.content;
  if (!same && !MutantActive(Mutant::kTakeAnyDisk)) {
    return Finish(flight, Fail(Code::kUnavailable, "{} is not {}: its {} differs", inner_->name(),
                               options_.description, options_.path));
  }
  FinishInTime(flight);
}

void IdentityCheck::LookAtClock(const std::shared_ptr<Flight>& flight) {
  flight->latest = options_.clock->clocks->Latest(options_.clock->member);
  inner_->List({flight->started + options_.check_timeout}, options_.clock->folder,
               [self = shared_from_this(), flight](Result<std::vector<Entry>> readings) {
                 self->OnListed(flight, std::move(readings));
               });
}

void IdentityCheck::OnListed(const std::shared_ptr<Flight>& flight, Result<std::vector<Entry>> readings) {
  if (!readings && readings.code() == Code::kUnavailable) return Finish(flight, readings.error());
  if (!readings && readings.code() != Code::kNotFound) {
    return Finish(flight, Fail(Code::kUnavailable, "{} cannot tell the clock of its disk: {}", inner_->name(),
                               readings.error().message));
  }
  const ShownReadings shown = readings ? ReadingsIn(*readings) : ShownReadings();
  if (shown.Newest() < flight->latest && !MutantActive(Mutant::kTrustOlderDisk))
    return Finish(flight, WentBack(inner_->name(), shown.Newest(), flight->latest));
  options_.clock->clocks->Raise(options_.clock->member, shown.Settled(options_.clock->settled));
  FinishInTime(flight);
}

void IdentityCheck::FinishInTime(const std::shared_ptr<Flight>& flight) {
  // Its timer may run only after this, when the process was stopped.
  if (executor_.Now() - flight->started > options_.check_timeout) {
    return Finish(flight, Fail(Code::kUnavailable, "{} has said who it is too long ago", inner_->name()));
  }
  Finish(flight, OkStatus());
}

void IdentityCheck::Finish(const std::shared_ptr<Flight>& flight, Status status) {
  std::vector<Waiter> waiters;
  std::shared_ptr<Flight> next;
  {
    MutexLock lock(mutex_);
    if (flight->finished) return;  // the timer was faster
    flight->finished = true;
    waiters = std::move(flight->waiters);
    if (status) {
      heard_ = std::max(heard_, flight->started);
      confirmed_ = flight->started;
    } else {
      confirmed_.reset();
    }
    flight_.reset();
    if (!flight->next.empty()) {
      next = std::make_shared<Flight>();
      flight_ = next;
      next->started = executor_.Now();
      next->waiters = std::exchange(flight->next, {});
      ++checks_;
    }
  }
  executor_.Cancel(flight->timer);
  if (next) StartFlight(next);
  for (Waiter& waiter : waiters) waiter(status);
}

IdentityGuard::IdentityGuard(DataServerPtr inner, Executor& executor, IdentityOptions options)
    : DecoratedServer(inner, std::make_shared<IdentityCheck>(inner, executor, std::move(options))) {}
IdentityGuard::~IdentityGuard() = default;

}  // namespace xec

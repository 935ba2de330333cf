// SPDX-License-Identifier: LGPL-3.0-or-later
// What an upload does when a server fails or hangs: see stripe_upload.hh.
#include <algorithm>
#include <bit>

#include "base/log.hh"
#include "commit/engine/access.hh"
#include "object/layout.hh"
#include "object/write/stripe_upload.hh"

namespace xec {
namespace {

// A server is late when it takes so many times as long as those that have answered, and failover_delay more.
constexpr int kLateFactor = 4;
// Ends of archives are synced, which takes very different times on disks that work, so they have so many
// delays more.
constexpr int kSealDelays = 3;

// Closes and removes the archive of a server that was given up, now or when that server answers again.
Task<void> DropArchive(Engine& engine, MemberIndex server, ArchiveFilePtr file, std::string path) {
  const Status closed = co_await Close(engine.MetadataCall(), std::move(file));
  (void)closed;
  const Status removed = co_await Remove(engine.MetadataCall(), engine.server(server), path);
  if (removed || removed.code() == Code::kNotFound) co_return;
  Log(LogLevel::kInfo, "object", "left on {} until it answers: an archive that was given up ({})",
      engine.server_id(server), path);
  engine.given_up_files().Add(server, std::move(path));
}

}  // namespace

// `others`: how long the servers took that have answered.
Duration StripeUpload::Patience(Duration others) const {
  const EngineOptions& options = engine_.options();
  // Without a spare a slow server is better than none.
  const Duration least = opener_.HasSpare() ? options.failover_delay : options.metadata_timeout;
  // A process that was stopped in between takes the others for very slow.
  return std::max(least, std::min(kLateFactor * others, options.operation_limit));
}

TimePoint StripeUpload::DueAt(const InFlight& flight) const {
  const Duration took = *flight.safe - flight.sent;
  // A stripe that is sent to spares alone is safe from the beginning, so they may be as slow as all are.
  return *flight.safe + Patience(flight.whole ? took : std::max<Duration>(took, usual_));
}

// A spare may be well again before the stripe is late without one.
void StripeUpload::StartLateTimer(uint64_t stripe, TimePoint due) {
  const TimePoint next = engine_.executor().Now() + engine_.options().failover_delay;
  writes_.StartTimer(LateTag{stripe}.Pack(), std::min(due, next));
}

// The servers that the stripe still waits for are late, unless their answers lie in the queue: the caller may
// not have looked for a while, and while one lane moves to a spare the next one may be answered.
Task<void> StripeUpload::GiveUpLate(size_t tag) {
  LateTag late = LateTag::Unpack(tag);
  const TimePoint now = engine_.executor().Now();
  const auto found = in_flight_.find(late.stripe);
  if (found == in_flight_.end()) co_return;
  InFlight& flight = found->second;
  if (late.stage == LateTag::kDue) {
    late.stage = LateTag::kLooked;
    writes_.StartTimer(late.Pack(), now);
    co_return;
  }
  if (late.stage == LateTag::kLooked) {
    if (!flight.safe) co_return;
    // The stripe is not late yet if there was no spare when the timer was set, or if it was sent again to one
    // since.
    const TimePoint due = DueAt(flight);
    if (now < due) {
      StartLateTimer(late.stripe, due);
      co_return;
    }
    flight.late = flight.waiting;
  }
  const ChunkMask left = flight.late & flight.waiting;
  if (left == 0) co_return;
  const auto lane = static_cast<uint32_t>(std::countr_zero(left));
  flight.late = left & ~ChunkBit(lane);
  const bool more = flight.late != 0;
  Error error = Fail(Code::kUnavailable, "it is late: the others have written stripe {}", late.stripe);
  co_await FailOver(lane, std::move(error));
  late.stage = LateTag::kNext;
  if (more) writes_.StartTimer(late.Pack(), engine_.executor().Now());
}

// Goes on with the lane on a spare, if there is one. Stripes that are still in memory are sent there, and
// others are noted as missing.
Task<void> StripeUpload::FailOver(size_t index, Error error) {
  if (archives_[index].lost) co_return;
  Lose(index, error);
  UploadedArchive& archive = archives_[index];
  opener_.Release(archive.server);
  if (archive.file) {
    engine_.scope().Spawn(DropArchive(engine_, archive.server, std::move(archive.file), opener_.path()));
    archive.file.reset();
  }
  archive.closed = true;
  archive.missing.clear();
  std::vector<OpenedArchive> spare;
  if (archive.lane && !failed_) spare = co_await opener_.OpenBest(1, plan_.geometry.parity_chunks);
  if (!spare.empty()) MoveTo(archive, std::move(spare.front()));
  Status enough = SendAgain(index);
  if (enough) enough = CheckRedundancy();
  if (!enough) SetFailed(enough.error());
}

void StripeUpload::MoveTo(UploadedArchive& archive, OpenedArchive spare) {
  Log(LogLevel::kInfo, "object", "{}: lane {} goes on on {} instead of {}", plan_.path.text(), *archive.lane,
      engine_.server_id(spare.server), engine_.server_id(archive.server));
  archive.server = spare.server;
  archive.file = std::move(spare.file);
  archive.archive = std::make_shared<ArchiveWriter>();
  archive.lost = archive.sealed = archive.closed = archive.late_to_read = false;
  ++archive.spares;
}

// Nothing is on its way to the lane's old server any more. Sends the stripes that are still in memory to the
// new one, if there is one; the rest is missing.
Status StripeUpload::SendAgain(size_t index) {
  UploadedArchive& archive = archives_[index];
  const ChunkMask lane = ChunkBit(static_cast<uint32_t>(index));
  Status sent;
  for (uint64_t stripe = next_stripe_; archive.lane && stripe-- > 0;) {
    const auto found = in_flight_.find(stripe);
    if (found != in_flight_.end() && (found->second.lanes & lane) != 0) {
      InFlight& flight = found->second;
      flight.waiting &= ~lane;
      flight.late &= ~lane;
      const std::shared_ptr<StripeBuffer> in_memory = flight.stripe.lock();
      if (const auto hold = flight.holds.find(index); hold != flight.holds.end()) hold->second->LetGo();
      const bool again = in_memory && !archive.lost && sent;
      if (again) {
        flight.sent = engine_.executor().Now();
        flight.safe.reset();
        flight.whole = false;
        sent = StartWrite(flight, in_memory, index);
        KeepNotForLong(flight);
      } else {
        flight.lanes &= ~lane;
      }
      LookWhenLate(stripe);
      if (again) continue;
    }
    const uint32_t chunk = ChunkOfLane(stripe, *archive.lane, lanes_total());
    const bool has_member = !plan_.one_stripe_form || plan_.geometry.ChunkBytes(size_, stripe, chunk) > 0;
    if (has_member) archive.missing.push_back(stripe);
  }
  return sent;
}

std::optional<uint64_t> StripeUpload::LowestMissing() const {
  std::optional<uint64_t> lowest;
  for (const UploadedArchive& archive : archives_) {
    if (archive.lost || archive.missing.empty()) continue;
    lowest = std::min(lowest.value_or(UINT64_MAX), archive.missing.back());
  }
  return lowest;
}

// Writes the first missing stripe to the spares, as soon as there is a place in the pipeline.
Task<Status> StripeUpload::RecreateNext() {
  std::optional<uint64_t> stripe = LowestMissing();
  while (stripe && !failed_ && (in_flight_.size() >= InFlightMax() || in_flight_.contains(*stripe))) {
    co_await TakeEvent();
    stripe = LowestMissing();
  }
  if (failed_) co_return *failed_;
  if (!stripe) co_return OkStatus();
  Restored restored = co_await RestoreMissing(*stripe);
  for (auto& [index, error] : restored.failures) co_await FailOver(index, std::move(error));
  if (failed_) co_return *failed_;
  ChunkMask wanted = 0;
  for (UploadedArchive& archive : archives_) {
    // A lane that failed just now has not been decoded.
    const bool decoded = restored.stripe && archive.lane && (restored.lanes & ChunkBit(*archive.lane)) != 0;
    if (!decoded || archive.lost || archive.missing.empty() || archive.missing.back() != *stripe) continue;
    archive.missing.pop_back();
    wanted |= ChunkBit(*archive.lane);
  }
  if (wanted == 0) co_return OkStatus();
  Status started = StartWrites(std::move(restored.stripe), wanted);
  if (!started) SetFailed(started.error());
  co_return std::move(started);
}

// Brings the lanes that went on on spares up to the others.
Task<Status> StripeUpload::Recreate() {
  while (!failed_ && (LowestMissing() || !in_flight_.empty())) {
    if (LowestMissing()) {
      const Status next = co_await RecreateNext();
      (void)next;  // known as failed_
    } else {
      co_await TakeEvent();
    }
  }
  if (failed_) co_return *failed_;
  co_return OkStatus();
}

// The chunks of a stripe that are missing, decoded.
Task<StripeUpload::Restored> StripeUpload::RestoreMissing(uint64_t stripe) {
  StripeBuffer::Shape shape;
  shape.geometry = plan_.geometry;
  shape.data_bytes_max = plan_.geometry.StripeBytes(size_, stripe);
  Result<ByteBudget::Lease> lease = co_await Acquire(shape.BufferBytes());
  if (!lease) {
    SetFailed(lease.error());
    co_return Restored();
  }
  std::shared_ptr<StripeBuffer> buffer = StripeBuffer::ToRestore(shape, stripe, std::move(*lease));
  Restored result = co_await ReadChunks(buffer, std::nullopt);
  if (!result.stripe) {
    if (result.failures.empty())
      SetFailed(
          Fail(Code::kUnavailable, "too few archives of {} are left ({})", plan_.path.text(), Losses()));
    co_return std::move(result);
  }
  for (uint32_t lane = 0; lane < lanes_total(); ++lane) {
    const uint32_t chunk = ChunkOfLane(stripe, lane, lanes_total());
    if ((result.lanes & ChunkBit(lane)) != 0 && buffer->ChunkSize(chunk) > 0)
      buffer->Restore(result.present, chunk);
  }
  co_return std::move(result);
}

Task<Status> StripeUpload::SealAll(Seal seal) {
  while (!failed_) {
    const bool all = std::all_of(archives_.begin(), archives_.end(), [](const UploadedArchive& archive) {
      return archive.lost || archive.sealed;
    });
    if (all) {
      GiveUpPlace();
      co_await CloseSealed();
      co_return CheckRedundancy();
    }
    Status sealed = co_await SealOnce(seal);
    if (!sealed) co_return std::move(sealed);
  }
  co_return *failed_;
}

// Seals what is not sealed yet; lanes whose archive cannot be sealed go on on spares, up to where they were.
Task<Status> StripeUpload::SealOnce(const Seal& seal) {
  Gather<Status> seals(engine_.scope(), engine_.executor());
  const TimePoint started = engine_.executor().Now();
  for (size_t i = 0; i < archives_.size(); ++i) {
    if (!archives_[i].lost && !archives_[i].sealed) seals.Start(i, seal(archives_[i]));
  }
  std::vector<std::pair<size_t, Error>> failures;
  std::vector<bool> answered(archives_.size(), false);
  bool late = false, timer = false;
  while (seals.pending() > 0 && !late) {
    if (!timer && seals.pending() <= plan_.geometry.parity_chunks) {
      const TimePoint now = engine_.executor().Now();
      seals.StartTimer(0,
                       now + Patience(now - started) + (kSealDelays - 1) * engine_.options().failover_delay);
      timer = true;
    }
    Gather<Status>::Event event = co_await seals.Next();
    if (!event.value) {
      late = true;
      continue;
    }
    answered[event.tag] = true;
    if (event.value->has_value()) {
      archives_[event.tag].sealed = true;
    } else {
      failures.emplace_back(event.tag, event.value->error());
    }
  }
  for (size_t i = 0; i < archives_.size(); ++i) {
    const bool waiting = !archives_[i].lost && !archives_[i].sealed && !answered[i];
    if (waiting) failures.emplace_back(i, Fail(Code::kUnavailable, "it is late to seal its archive"));
  }
  const bool moves = std::any_of(failures.begin(), failures.end(), [&](const auto& failure) {
    return archives_[failure.first].lane.has_value();
  });
  // No archive names those without a lane.
  if (moves) SealAgain();
  for (auto& [index, error] : failures) co_await FailOver(index, std::move(error));
  co_return co_await Recreate();
}

// A lane has another server now, or none: all archives get a new end that says so, over the old one, which
// must not be longer. More padding also tells that this end is the newer one.
void StripeUpload::SealAgain() {
  for (UploadedArchive& archive : archives_) {
    archive.sealed = false;
    if (archive.lane) padding_bytes_ += engine_.server_id(archive.server).size() + 1;
  }
}

// Errors of delayed writes may show up only now, and what was not synced is lost then. A few servers that
// stop in between are not waited for. A server that dies in between has what it has acknowledged, as one that
// dies a moment later.
Task<void> StripeUpload::CloseSealed() {
  Gather<Status> closes(engine_.scope(), engine_.executor());
  const EngineOptions& options = engine_.options();
  const TimePoint started = engine_.executor().Now();
  for (size_t i = 0; i < archives_.size(); ++i) {
    if (archives_[i].lost || archives_[i].closed) continue;
    archives_[i].closed = true;
    closes.Start(i, Close(engine_.WriteCall(), archives_[i].file));
  }
  closes.StartTimer(0, started + options.metadata_timeout);
  bool timer = false;
  while (closes.pending() > 0) {
    if (!timer && closes.pending() <= plan_.geometry.parity_chunks) {
      const TimePoint now = engine_.executor().Now();
      closes.StartTimer(0,
                        now + std::max(kSealDelays * options.failover_delay, kLateFactor * (now - started)));
      timer = true;
    }
    Gather<Status>::Event event = co_await closes.Next();
    if (!event.value) break;
    const Status& closed = *event.value;
    if (closed || OutcomeUnknown(closed)) continue;
    if (engine_.SyncBeforeCommit() && closed.code() == Code::kUnreadable) continue;  // synced before
    Lose(event.tag, closed.error());
    // This archive does not follow what the others become.
    engine_.given_up_files().Add(archives_[event.tag].server, opener_.path());
  }
}

}  // namespace xec

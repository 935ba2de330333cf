// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/write/stripe_upload.hh"

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/failpoint.hh"
#include "base/log.hh"
#include "base/mutant.hh"
#include "commit/engine/server_gather.hh"
#include "object/layout.hh"

namespace xec {
namespace {

// A stripe that at most m servers have not written stays in memory for so many times failover_delay at least,
// and not for long if nobody looks after its writes, as the upload's client sends nothing. What fails later
// is read back for its spare.
constexpr int kIdleDelays = 5;

// What is held beside is counted if it is no more than this part of the budget, since a small budget is for
// stripes, and has room for few of them.
constexpr uint64_t kCountedPartOfBudget = 100;

using Holds = std::vector<std::shared_ptr<StripeHold>>;

void LetGoOfLate(Executor& executor, Duration delay, size_t late_max, std::weak_ptr<const Holds> weak) {
  executor.RunAt(executor.Now() + delay, [&executor, delay, late_max, weak = std::move(weak)] {
    const std::shared_ptr<const Holds> holds = weak.lock();
    if (!holds) return;
    const auto unwritten =
        std::count_if(holds->begin(), holds->end(), [](const auto& hold) { return !hold->written(); });
    if (static_cast<size_t>(unwritten) > late_max) return LetGoOfLate(executor, delay, late_max, weak);
    for (const std::shared_ptr<StripeHold>& hold : *holds) hold->LetGo();
  });
}

// The bytes that a manifest with these options has at most. This only decides whether a small archive is one
// request.
size_t ManifestSizeGuess(const UploadPlan& plan) {
  size_t bytes = 1024 + 3 * plan.path.text().size() + plan.geometry.Total() * (kServerIdSizeMax / 4);
  for (const auto& [name, value] : plan.options.attributes) bytes += 3 * (name.size() + value.size()) + 16;
  return std::min(bytes, kManifestSizeMax);
}

Task<Status> WriteChunk(Engine& engine, ArchiveFilePtr file, std::shared_ptr<StripeHold> hold,
                        StripeBuffer::Piece piece) {
  Status written =
      co_await Write(engine.WriteCall(), std::move(file), piece.archive_offset, std::move(piece.slice));
  if (written) hold->SetWritten(engine.executor().Now());
  hold->LetGo();
  co_return std::move(written);
}

using Memory = std::optional<Result<ByteBudget::Lease>>;

Task<Status> TakeMemory(Engine& engine, uint64_t bytes, std::shared_ptr<Memory> into) {
  Result<ByteBudget::Lease> lease = co_await engine.budget().Acquire(bytes, ByteBudget::Use::kUpload);
  into->emplace(std::move(lease));
  co_return OkStatus();
}

}  // namespace

Task<void> CloseAll(Engine& engine, std::map<MemberIndex, ArchiveFilePtr> files) {
  ServerGather<Status> closes(engine);
  for (auto& [server, file] : files) closes.Start(server, Close(engine.MetadataCall(), std::move(file)));
  while (closes.timely() > 0) co_await closes.Next();
}

StripeUpload::StripeUpload(Engine& engine, UploadPlan plan, ObjectDigests digests)
    : engine_(engine),
      plan_(std::move(plan)),
      attributes_(plan_.options.attributes),
      settings_(plan_.options.settings),
      losses_max_(LossesMax(plan_.geometry, plan_.options.archives_min)),
      digests_(std::move(digests)),
      opener_(engine, plan_.place),
      writes_(engine.scope(), engine.executor()) {}

StripeUpload::Remains StripeUpload::GiveUp() {
  SetFailed(Fail(Code::kCancelled, "the upload of {} was given up", plan_.path.text()));
  Remains remains;
  remains.servers = opener_.Tried();
  for (UploadedArchive& archive : archives_) {
    if (!archive.closed && archive.file) remains.files[archive.server] = std::move(archive.file);
    archive.closed = true;
  }
  return remains;
}

void StripeUpload::SetFailed(const Error& error) {
  if (!failed_) failed_ = error;
  current_.reset();
  in_flight_.clear();
  reserved_.Take();
  cache_use_.reset();
  GiveUpPlace();
}

void StripeUpload::GiveUpPlace() {
  beside_.Release();
  claim_.Release();
}

StripeBuffer::Shape StripeUpload::ShapeOfStripe(uint64_t stripe) const {
  const Geometry& geometry = plan_.geometry;
  const std::optional<uint64_t>& announced = plan_.options.size_hint;
  StripeBuffer::Shape shape;
  shape.geometry = geometry;
  shape.data_bytes_max = announced ? geometry.StripeBytes(*announced, stripe) : geometry.StripeSize();
  const bool may_be_only = !announced || *announced <= geometry.StripeSize();
  if (plan_.one_stripe_form && stripe == 0 && may_be_only) {
    const uint64_t run_bytes = LocalHeaderSizeMax(geometry) + geometry.ChunkBytes(shape.data_bytes_max, 0, 0);
    shape.tail_room = ArchiveEndSizeMax(run_bytes, 1, ManifestSizeGuess(plan_));
  }
  return shape;
}

Status StripeUpload::CheckMayGrow(uint64_t bytes) const {
  if (failed_) return *failed_;
  const std::string& path = plan_.path.text();
  if (bytes > 0 && cache_use_) return Fail(Code::kInvalidArgument, "the stream of {} has ended", path);
  const std::optional<uint64_t>& announced = plan_.options.size_hint;
  if (announced && bytes > *announced - size_) {
    return Fail(Code::kInvalidArgument, "more bytes were sent for {} than the {} that were announced", path,
                *announced);
  }
  const uint64_t size_max = kMembersMax * plan_.geometry.StripeSize();
  if (bytes <= size_max - size_) return OkStatus();
  // The native layout takes larger chunks where the size is known.
  return Fail(
      Code::kInvalidArgument,
      "{} exceeds {}, the most that {} can have with chunks of {}: {}configure larger chunks", path,
      FormatSize(size_max), plan_.one_stripe_form ? "a stream of unknown size" : "an object of layout xrdec",
      FormatSize(plan_.geometry.chunk_size_bytes), plan_.one_stripe_form ? "announce the size, or " : "");
}

uint64_t StripeUpload::BytesBeside() const {
  const uint64_t bytes = std::min(plan_.options.bytes_beside, plan_.options.size_hint.value_or(UINT64_MAX));
  return bytes <= engine_.budget().limit() / kCountedPartOfBudget ? bytes : 0;
}

Task<Status> StripeUpload::Reserve() {
  if (size_ > 0 || plan_.options.size_hint == 0) co_return OkStatus();
  const uint64_t bytes = ShapeOfStripe(0).BufferBytes() + BytesBeside();
  auto reserved = co_await engine_.budget().ClaimAndAcquire(bytes, ByteBudget::Use::kUpload);
  if (!reserved) co_return reserved.error();
  reserved_.Put(std::move(*reserved), engine_.executor());
  co_return OkStatus();
}

bool StripeUpload::KeepPlace() { return plan_.options.size_hint == 0 || reserved_.KeepClaim(); }

// Takes what was reserved, if it is still there. No other stripe needs more than the claim made for this one.
Task<Result<ByteBudget::Lease>> StripeUpload::MemoryOfFirstStripe() {
  const uint64_t bytes = ShapeOfStripe(0).BufferBytes() + BytesBeside();
  ByteBudget::Claimed reserved = reserved_.Take();
  claim_ = std::move(reserved.claim);
  if (reserved.memory.bytes() == 0) {
    if (claim_.bytes() == 0) claim_ = co_await engine_.budget().Claim(bytes, ByteBudget::Use::kUpload);
    Result<ByteBudget::Lease> memory = co_await Acquire(bytes);
    if (!memory) co_return memory.error();
    reserved.memory = std::move(*memory);
  }
  beside_ = reserved.memory.Split(BytesBeside());
  co_return std::move(reserved.memory);
}

Task<Status> StripeUpload::Append(ByteSpan bytes) {
  Status ready = CheckMayGrow(bytes.size());
  while (ready && !bytes.empty()) {
    // The first stripe waits for a byte more, in case it is the only one.
    if (current_ && current_->full()) ready = co_await SendStripe();
    if (ready && !current_) ready = co_await NewStripe();
    if (!ready) break;
    const size_t taken = current_->Append(bytes, digests_);
    size_ += taken;
    bytes = bytes.subspan(taken);
    const bool hold_back = plan_.one_stripe_form && next_stripe_ == 0;
    if (current_->full() && !hold_back) {
      ready = co_await SendStripe();
      // Missing stripes follow beside new ones, so that a server that fails later does not add to them.
      if (ready) ready = co_await RecreateNext();
    }
  }
  if (!ready) SetFailed(ready.error());
  co_return std::move(ready);
}

// Waits for memory, and looks after the writes meanwhile: memory that a hanging server keeps comes free only
// when the server is given up.
Task<Result<ByteBudget::Lease>> StripeUpload::Acquire(uint64_t bytes) {
  const auto memory = std::make_shared<Memory>();
  memory_came_ = false;
  writes_.Start(kMemoryTag, TakeMemory(engine_, bytes, memory));
  while (!memory_came_ && !failed_) co_await TakeEvent();
  if (failed_) co_return *failed_;
  co_return std::move(**memory);
}

// Waits for a place in the pipeline, then for memory, and starts the next stripe.
Task<Status> StripeUpload::NewStripe() {
  while (in_flight_.size() >= InFlightMax()) {
    co_await TakeEvent();
    if (failed_) co_return *failed_;
  }
  const StripeBuffer::Shape shape = ShapeOfStripe(next_stripe_);
  Result<ByteBudget::Lease> half = ByteBudget::Lease();
  if (MutantActive(Mutant::kAdmitHalfAStripe))
    half = co_await engine_.budget().Acquire(shape.BufferBytes() / 2, ByteBudget::Use::kUpload);
  Result<ByteBudget::Lease> lease = ByteBudget::Lease();
  if (next_stripe_ == 0) {
    lease = co_await MemoryOfFirstStripe();
  } else {
    lease = co_await Acquire(shape.BufferBytes());
  }
  if (!lease) co_return lease.error();
  current_ = std::make_shared<StripeBuffer>(shape, next_stripe_, std::move(*lease));
  co_return OkStatus();
}

// Codes the current stripe and starts its writes; opens all lanes before the first.
Task<Status> StripeUpload::SendStripe() {
  current_->Finish(digests_);
  if (archives_.empty()) {
    Status opened = co_await OpenAllLanes();
    if (!opened) co_return std::move(opened);
  }
  XEC_FAILPOINT("put.chunk");
  Status sent = StartWrites(std::move(current_), FirstChunks(lanes_total()));
  if (sent) ++next_stripe_;
  co_return std::move(sent);
}

Status StripeUpload::StartWrites(std::shared_ptr<StripeBuffer> stripe, ChunkMask lanes) {
  InFlight& flight = in_flight_[stripe->stripe()];
  flight.stripe = stripe;
  flight.lanes = lanes;
  flight.sent = engine_.executor().Now();
  flight.whole = std::popcount(lanes) > static_cast<int>(plan_.geometry.parity_chunks);
  for (size_t i = 0; i < lanes_total(); ++i) XEC_TRY(StartWrite(flight, stripe, i));
  KeepNotForLong(flight);
  LookWhenLate(stripe->stripe());
  return OkStatus();
}

Status StripeUpload::StartWrite(InFlight& flight, const std::shared_ptr<StripeBuffer>& stripe, size_t index) {
  UploadedArchive& archive = archives_[index];
  const auto lane = static_cast<uint32_t>(index);
  if (archive.lost || (flight.lanes & ChunkBit(lane)) == 0) return OkStatus();
  const uint32_t chunk = ChunkOfLane(stripe->stripe(), lane, lanes_total());
  const bool empty = stripe->ChunkSize(chunk) == 0;
  if (empty && plan_.one_stripe_form) return OkStatus();
  XEC_ASSIGN_OR_RETURN(StripeBuffer::Piece piece, empty ? stripe->PlaceEmptyChunk(chunk, *archive.archive)
                                                        : stripe->PlaceChunk(chunk, *archive.archive));
  flight.waiting |= ChunkBit(lane);
  const size_t tag = WriteTag{stripe->stripe(), archive.spares, index}.Pack();
  const auto hold = std::make_shared<StripeHold>(stripe);
  flight.holds[index] = hold;
  NoteWritten(archive.server, piece.slice.length);
  writes_.Start(tag, WriteChunk(engine_, archive.file, hold, std::move(piece)));
  return OkStatus();
}

Task<void> StripeUpload::TakeEvent() {
  const Gather<Status>::Event event = co_await writes_.Next();
  if (!event.value) {
    co_await GiveUpLate(event.tag);
    co_return;
  }
  if (event.tag == kMemoryTag) {
    memory_came_ = true;
    co_return;
  }
  XEC_FAILPOINT("put.chunk_written");
  const WriteTag tag = WriteTag::Unpack(event.tag);
  // An answer of a server that was given up meanwhile says nothing any more.
  if (archives_[tag.index].lost || archives_[tag.index].spares != tag.spares) co_return;
  if (event.value->has_value()) {
    Answered(tag.stripe, tag.index);
  } else {
    co_await FailOver(tag.index, event.value->error());
  }
}

void StripeUpload::Answered(uint64_t stripe, size_t index) {
  const auto flight = in_flight_.find(stripe);
  if (flight == in_flight_.end()) return;
  flight->second.waiting &= ~ChunkBit(static_cast<uint32_t>(index));
  LookWhenLate(stripe);
}

// Lets go of a stripe that is written; sets the timer of one that waits for at most m servers.
void StripeUpload::LookWhenLate(uint64_t stripe) {
  const auto found = in_flight_.find(stripe);
  InFlight& flight = found->second;
  if (flight.waiting == 0) {
    in_flight_.erase(found);
    return;
  }
  if (flight.safe || std::popcount(flight.waiting) > static_cast<int>(plan_.geometry.parity_chunks)) return;
  flight.safe = engine_.executor().Now();
  if (flight.whole) usual_ = Duration(0);
  // Chunks are let go of only now, since nobody may have looked for a while.
  for (const auto& [index, hold] : flight.holds) {
    if (flight.whole && hold->written())
      usual_ = std::max<Duration>(usual_, hold->written_at() - flight.sent);
  }
  StartLateTimer(stripe, DueAt(flight));
}

void StripeUpload::KeepNotForLong(InFlight& flight) {
  auto holds = std::make_shared<Holds>();
  for (const auto& [index, hold] : flight.holds) holds->push_back(hold);
  flight.last_holds = holds;
  LetGoOfLate(engine_.executor(), kIdleDelays * engine_.options().failover_delay,
              plan_.geometry.parity_chunks, holds);
}

Task<Status> StripeUpload::Flush() {
  reserved_.Take();  // of an object without bytes: sealing waits for memory
  Status status = CheckMayGrow(0);
  const std::optional<uint64_t>& announced = plan_.options.size_hint;
  if (status && announced && *announced != size_) {
    status = Fail(Code::kInvalidArgument, "{} ended after {} bytes, {} were announced", plan_.path.text(),
                  size_, *announced);
  }
  const bool held_back = plan_.one_stripe_form && next_stripe_ == 0;
  if (status && current_ && held_back) {
    current_->Finish(digests_);
  } else if (status) {
    status = co_await SendRest();
  }
  if (!status) SetFailed(status.error());
  co_return std::move(status);
}

// Sends what is left, and waits until all is written.
Task<Status> StripeUpload::SendRest() {
  Status status;
  if (current_) status = co_await SendStripe();
  while (status && !in_flight_.empty()) {
    co_await TakeEvent();
    if (failed_) status = *failed_;
  }
  if (status) status = co_await Recreate();
  co_return std::move(status);
}

void StripeUpload::Lose(size_t index, const Error& error) {
  UploadedArchive& archive = archives_[index];
  if (archive.lost) return;
  archive.lost = true;
  if (error.code == Code::kNoSpace) engine_.space().NoteFull(engine_.server_id(archive.server));
  if (losses_.empty()) {
    loss_code_ = error.code;
  } else if (loss_code_ != error.code) {
    loss_code_.reset();
  }
  losses_.push_back(fmt::format("{}: {}", engine_.server_id(archive.server), error.message));
  Log(LogLevel::kWarning, "object", "{}: lost an archive on {}", plan_.path.text(), losses_.back());
}

std::string StripeUpload::Losses() const {
  std::string text;
  for (const std::string& loss : losses_) text += (text.empty() ? "" : "; ") + loss;
  return text;
}

Status StripeUpload::CheckRedundancy() const {
  const auto lost = static_cast<size_t>(
      std::count_if(archives_.begin(), archives_.end(),
                    [](const UploadedArchive& archive) { return archive.lane && archive.lost; }));
  if (lost <= losses_max_) return OkStatus();
  const bool told = loss_code_ == Code::kNoSpace || loss_code_ == Code::kPermissionDenied ||
                    loss_code_ == Code::kUnsupported;
  return Fail(told ? *loss_code_ : Code::kUnavailable,
              "cannot write {}: {} of {} archives failed and at most {} may be missing ({})",
              plan_.path.text(), lost, lanes_total(), losses_max_, Losses());
}

Task<Status> StripeUpload::OpenLanes(std::vector<uint32_t> lanes) {
  std::vector<OpenedArchive> opened = co_await opener_.OpenBest(lanes.size(), plan_.geometry.parity_chunks);
  for (size_t i = 0; i < lanes.size(); ++i) {
    UploadedArchive archive;
    archive.lane = lanes[i];
    archive.lost = archive.closed = i >= opened.size();
    if (!archive.lost) {
      archive.server = opened[i].server;
      archive.file = std::move(opened[i].file);
    }
    archives_.push_back(std::move(archive));
  }
  if (opened.size() < lanes.size()) {
    const Error problems = opener_.Problems();
    loss_code_ = problems.code;
    losses_.push_back(problems.message);
  }
  Status enough = CheckRedundancy();
  if (!enough) SetFailed(enough.error());
  co_return std::move(enough);
}

Task<Status> StripeUpload::OpenAllLanes() {
  std::vector<uint32_t> all(lanes_total());
  std::iota(all.begin(), all.end(), 0);
  return OpenLanes(std::move(all));
}

Task<void> StripeUpload::OpenFills(size_t count, Late late_homes) {
  std::vector<OpenedArchive> opened = co_await opener_.OpenOnHomes(count, late_homes);
  for (OpenedArchive& fill : opened) {
    UploadedArchive archive;
    archive.server = fill.server;
    archive.file = std::move(fill.file);
    archives_.push_back(std::move(archive));
  }
}

Result<ObjectDigests> DigestsOfUpload(const WriteOptions& options) {
  DigestOptions digests = options.digests;
  for (const auto& [algorithm, value] : options.declared_checksums) XEC_TRY(digests.Add(algorithm));
  return ObjectDigests::Create(digests);
}

Result<ChecksumValues> StripeUpload::Checksums() {
  ChecksumValues computed = digests_.Finish();
  XEC_TRY(CheckDeclared(plan_.path.text(), plan_.options.declared_checksums, computed));
  return computed;
}

Status StripeUpload::SetUserAttributes(std::map<std::string, std::string> attributes) {
  XEC_TRY(CheckUserAttributes(attributes));
  attributes_ = std::move(attributes);
  return OkStatus();
}

Manifest StripeUpload::MakeManifest(std::map<std::string, std::string> checksums) {
  Manifest manifest;
  manifest.object_id = plan_.object_id;
  manifest.size_bytes = size_;
  manifest.geometry = plan_.geometry;
  manifest.page_size_bytes = static_cast<uint32_t>(plan_.geometry.PageSize());
  manifest.path = plan_.path.text();
  if (!mtime_ns_) mtime_ns_ = engine_.executor().WallNow() * 1'000'000;
  manifest.mtime_ns = settings_.mtime_ns.value_or(*mtime_ns_);
  manifest.mode = settings_.mode;
  manifest.checksums = std::move(checksums);
  manifest.attributes = attributes_;
  manifest.servers.resize(lanes_total());
  for (const UploadedArchive& archive : archives_) {
    if (archive.lane && !archive.lost) manifest.servers[*archive.lane] = engine_.server_id(archive.server);
  }
  manifest.debts = Debts();
  if (padding_bytes_ > 0)
    manifest.unknown_fields.push_back(std::string(kPaddingPrefix) + std::string(padding_bytes_, '.'));
  return manifest;
}

void StripeUpload::LogDebts() const {
  const size_t debts = Debts().size();
  if (debts == 0) return;
  Log(LogLevel::kWarning, "object", "{} is stored with a debt: {} of its {} archives found no server ({})",
      plan_.path.text(), debts, lanes_total(), Losses());
}

std::vector<uint32_t> StripeUpload::Debts() const {
  std::vector<uint32_t> debts;
  for (const UploadedArchive& archive : archives_) {
    if (archive.lane && archive.lost) debts.push_back(*archive.lane);
  }
  return debts;
}

}  // namespace xec

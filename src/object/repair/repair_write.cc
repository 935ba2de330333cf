// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/access.hh"
#include "commit/place_copy.hh"
#include "object/layout.hh"
#include "object/read/chunk_reader.hh"
#include "object/repair/repair_run.hh"
#include "object/spares.hh"
#include "runtime/gather.hh"

namespace xec {
namespace {

// A server is late when it takes so many times as long as those that have answered; as for uploads
// (stripe_failover.cc).
constexpr int kLateFactor = 4;
// Is read at a time, if memory is short.
constexpr uint64_t kLittle = kMiB;

}  // namespace

// Servers that may take the lane: the one that has it damaged, or should have it, then those that hold
// nothing of the object.
std::vector<MemberIndex> Repair::Targets(uint32_t lane) const {
  std::vector<MemberIndex> targets;
  const auto found = found_on_.find(lane);
  if (found != found_on_.end()) targets.push_back(found->second);
  if (targets.empty() && lane < manifest_.servers.size()) {
    const std::optional<MemberIndex> named = engine_.FindMember(manifest_.servers[lane]);
    if (named) targets.push_back(*named);
  }
  std::vector<MemberIndex> taken = holders_;
  for (const ArchiveCopy& copy : copies_) taken.push_back(copy.server);
  for (const MemberIndex spare :
       SparesFor(engine_, info_.path, manifest_, taken, manifest_.geometry.parity_chunks)) {
    if (!Contains(targets, spare)) targets.push_back(spare);
  }
  // Servers that came back with nothing, while what they had lies elsewhere by now.
  for (uint32_t other = 0; other < manifest_.servers.size(); ++other) {
    const std::optional<MemberIndex> named = engine_.FindMember(manifest_.servers[other]);
    const auto now = found_on_.find(other);
    if (named && now != found_on_.end() && now->second != *named) targets.push_back(*named);
  }
  // Nothing is removed before its copy stands that may be good.
  const bool keep = unread_.contains(lane);
  std::erase_if(targets, [&](MemberIndex target) {
    return Contains(options_.gone, target) || Contains(taken, target) ||
           refusing_.contains(static_cast<MemberIndex>(target)) ||
           (keep && found != found_on_.end() && target == found->second);
  });
  return targets;
}

// Has the server an archive of the version that is not this lane's? A copy would have to take its place, and
// cannot where it is a home that is needed.
Task<bool> Repair::HoldsAnother(MemberIndex server, uint32_t lane) {
  const auto found = found_on_.find(lane);
  if (found != found_on_.end() && found->second == server) co_return false;
  if (lane < manifest_.servers.size() && manifest_.servers[lane] == engine_.server_id(server))
    co_return false;
  const Result<States> states = co_await ListStates(engine_, server, info_.path);
  if (!states) co_return false;
  const std::optional<State> archive = ArchiveInPlace(*states, info_.accepted);
  listed_.emplace(server, archive);
  co_return archive.has_value();
}

// Creates the copy's file on the first server that takes it.
Task<void> Repair::OpenCopy(uint32_t lane) {
  std::string problems;
  for (const auto& [server, said] : refusing_)
    problems += fmt::format("{}{}: {}", problems.empty() ? "" : "; ", engine_.server_id(server), said);
  std::vector<MemberIndex> targets = Targets(lane);
  const size_t count = targets.size();
  for (size_t i = 0; i < targets.size(); ++i) {
    const MemberIndex server = targets[i];
    bool later = false;
    if (i < count) later = co_await HoldsAnother(server, lane);
    if (later) {
      targets.push_back(server);
      continue;
    }
    if (!listed_.contains(server)) {
      // No manifest names it: it was found by reading.
      const Result<States> states = co_await ListStates(engine_, server, info_.path);
      listed_[server] = states ? ArchiveInPlace(*states, info_.accepted) : std::nullopt;
    }
    ArchiveCopy copy;
    copy.lane = lane;
    copy.server = server;
    copy.replaces = listed_[server];
    copy.draft = DraftOf(engine_, info_.accepted);
    const Status named = co_await KeepLongName(engine_, server, info_.path);
    Result<ArchiveFilePtr> file = named.has_value() ? Result<ArchiveFilePtr>(nullptr) : named.error();
    if (named) {
      file = co_await Open(engine_.MetadataCall(), engine_.server(server),
                           StatePath(info_.path, FormatState(copy.draft)), OpenMode::kCreate);
    }
    if (file) {
      copy.file = std::move(*file);
      copies_.push_back(std::move(copy));
      co_return;
    }
    problems += fmt::format("{}{}: {}", problems.empty() ? "" : "; ", engine_.server_id(server),
                            file.error().message);
    // It answers again sooner or later, with the damaged archive: that is not left beside a good one.
    const auto damaged = found_on_.find(lane);
    const Code code = file.code();
    const bool for_now =
        code == Code::kUnavailable || code == Code::kDeadlineExceeded || code == Code::kUnknown;
    if (for_now && damaged != found_on_.end() && damaged->second == server) break;
  }
  report_.problems.push_back(
      fmt::format("no server takes archive {} of {} ({})", lane, info_.path.text(),
                  problems.empty() ? "all of them hold a part of the object" : problems));
}

// Who hangs is given up, and asked for nothing more. Those that gave the stripe to read are the measure, and
// an upload's patience where it has no spare.
Task<Status> Repair::WriteChunks(std::shared_ptr<StripeBuffer> stripe, Duration reading) {
  const EngineOptions& options = engine_.options();
  const Duration patience =
      std::max(options.metadata_timeout, std::min(kLateFactor * reading, options.operation_limit));
  CallContext call = engine_.WriteCall();
  call.deadline = std::min(call.deadline, engine_.executor().Now() + patience);
  Gather<Status> writes(engine_.scope(), engine_.executor());
  for (size_t i = 0; i < copies_.size(); ++i) {
    ArchiveCopy& copy = copies_[i];
    const uint32_t chunk = ChunkOfLane(stripe->stripe(), copy.lane, manifest_.geometry.Total());
    if (!copy.status || stripe->ChunkSize(chunk) == 0) continue;
    Result<StripeBuffer::Piece> piece = stripe->PlaceChunk(chunk, *copy.archive);
    if (!piece) co_return piece.error();
    writes.Start(i, Write(call, copy.file, piece->archive_offset, std::move(piece->slice)));
  }
  while (writes.pending() > 0) {
    Gather<Status>::Event event = co_await writes.Next();
    if (event.value->has_value()) continue;
    Error error = event.value->error();
    if (error.code == Code::kDeadlineExceeded)
      error = Fail(Code::kUnavailable, "it is late to write stripe {}", stripe->stripe());
    copies_[event.tag].status = std::move(error);
  }
  co_return OkStatus();
}

bool Repair::AllFailed() const {
  return std::none_of(copies_.begin(), copies_.end(),
                      [](const ArchiveCopy& copy) { return copy.status.has_value(); });
}

// How much is read at a time, in bytes: whole pages of a chunk, as many as the memory budget has room for
// beside a stripe; and no more than a little if a quarter of the budget has not, as more waits for uploads.
uint64_t Repair::PieceBytes(uint64_t stripe_bytes) const {
  const uint64_t chunk_size = manifest_.geometry.chunk_size_bytes;
  const uint64_t page = manifest_.page_size_bytes != 0 ? manifest_.page_size_bytes : chunk_size;
  const uint64_t limit = engine_.budget().limit();
  const auto fits = [&](uint64_t bytes) {
    const uint64_t needed = stripe_bytes + PieceBytesToRead(manifest_, bytes);
    return needed <= limit / 4 || (needed <= limit && bytes <= kLittle);
  };
  uint64_t pages = (chunk_size + page - 1) / page;
  while (pages > 1 && !fits(pages * page)) pages /= 2;
  return pages * page;
}

Task<Status> Repair::WriteStripe(StripeExtent extent, ObjectDigests& digests) {
  const Geometry& geometry = manifest_.geometry;
  StripeBuffer::Shape shape;
  shape.geometry = geometry;
  shape.data_bytes_max = extent.bytes;
  const uint64_t piece_max = PieceBytes(shape.BufferBytes());
  const uint64_t needed = shape.BufferBytes() + PieceBytesToRead(manifest_, piece_max);
  Result<ByteBudget::Claimed> leases = co_await engine_.budget().ClaimAndAcquire(needed);
  if (!leases) co_return leases.error();
  ByteBudget::Lease& memory = leases->memory;
  auto buffer = std::make_shared<StripeBuffer>(shape, extent.stripe, memory.Split(shape.BufferBytes()));
  const std::shared_ptr<Buffer> piece = Buffer::Allocate(piece_max, memory.Split(piece_max));
  ByteBudget for_reading(std::move(memory), engine_.executor());
  const TimePoint started = engine_.executor().Now();
  while (!buffer->full()) {
    const uint64_t written = buffer->size_bytes();
    const uint64_t left_of_chunk = geometry.chunk_size_bytes - written % geometry.chunk_size_bytes;
    const uint64_t bytes = std::min({piece_max, left_of_chunk, extent.bytes - written});
    const MutableByteSpan into = piece->span().first(bytes);
    Result<uint64_t> got = co_await reader_->ReadWithin(for_reading, extent.begin + written, into);
    if (!got) co_return got.error();
    if (*got != bytes) co_return Fail(Code::kCorruption, "{} ends early", info_.path.text());
    buffer->Append(into, digests);
    options_.progress(bytes);
  }
  buffer->Finish(digests);
  co_return co_await WriteChunks(std::move(buffer), engine_.executor().Now() - started);
}

Task<Status> Repair::WriteStripes(ObjectDigests& digests) {
  for (uint64_t at = 0; at < manifest_.size_bytes;) {
    const StripeExtent extent = manifest_.Stripes().At(at);
    Status written = co_await WriteStripe(extent, digests);
    if (!written) co_return std::move(written);
    if (AllFailed()) co_return OkStatus();
    at = extent.end();
  }
  co_return CheckDigests(digests);
}

Status Repair::CheckDigests(ObjectDigests& digests) const {
  for (const auto& [name, value] : digests.Finish()) {
    const auto stored = manifest_.checksums.find(name);
    if (stored == manifest_.checksums.end() || stored->second == value) continue;
    return Fail(Code::kCorruption, "what was read of {} has the {} {}, not {} as it was stored with",
                info_.path.text(), name, value, stored->second);
  }
  return OkStatus();
}

Manifest Repair::ManifestOf(const ArchiveCopy& copy) const {
  Manifest manifest = manifest_;
  manifest.kind = ManifestKind::kObject;
  manifest.lane = copy.lane;
  manifest.servers.resize(manifest.geometry.Total());
  for (const ArchiveCopy& made : copies_) {
    if (!made.status) continue;
    manifest.servers[made.lane] = engine_.server_id(made.server);
    std::erase(manifest.debts, made.lane);
  }
  return manifest;
}

// Ends the archives of the copies, in parallel. What they have not brought to their disks yet goes there now,
// which may take as long as all that was written before; who takes longer is given up.
Task<void> Repair::EndArchives(Duration writing) {
  std::vector<bool> waiting(copies_.size(), false);
  Gather<Status> ends(engine_.scope(), engine_.executor());
  for (size_t i = 0; i < copies_.size(); ++i) {
    ArchiveCopy& copy = copies_[i];
    if (!copy.status) continue;
    waiting[i] = true;
    ends.Start(i, EndArchive(engine_, std::move(copy.file), copy.archive, ManifestOf(copy)));
  }
  const EngineOptions& options = engine_.options();
  const Duration patience = std::max(options.metadata_timeout, std::max(options.operation_limit, writing));
  ends.StartTimer(0, engine_.executor().Now() + patience);
  bool late = false;
  // After a stall of our own, answers may be here that would seem to be late.
  while (ends.pending() > 0 && (!late || ends.ready())) {
    Gather<Status>::Event event = co_await ends.Next();
    if (!event.value) {
      late = true;
      continue;
    }
    waiting[event.tag] = false;
    copies_[event.tag].status = std::move(*event.value);
  }
  for (size_t i = 0; i < copies_.size(); ++i) {
    if (waiting[i]) copies_[i].status = Fail(Code::kUnavailable, "it is late to seal its archive");
  }
}

}  // namespace xec

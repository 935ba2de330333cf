// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/repair/repair_copies.hh"

#include <algorithm>
#include <map>

#include "base/contains.hh"
#include "commit/engine/access.hh"
#include "commit/engine/pause.hh"
#include "commit/steps/drafts.hh"
#include "commit/steps/place_copy.hh"
#include "object/layout.hh"
#include "object/read/chunk_reader.hh"
#include "object/spares.hh"
#include "runtime/gather.hh"

namespace xec {
namespace {

// A server is late when it takes so many times as long as those that have answered; as for uploads
// (stripe_failover.cc).
constexpr int kLateFactor = 4;
// So much is read at a time if memory is short.
constexpr uint64_t kLittle = kMiB;
// Chunks that were met damaged and are looked at in the next round; there are further ones when they are met.
constexpr size_t kDamagedChunksMax = 64;

}  // namespace

// Servers that may take the lane: the one that has it damaged, or should have it, then those that hold
// nothing of the object.
std::vector<MemberIndex> RepairCopies::Targets(uint32_t lane) const {
  std::vector<MemberIndex> targets;
  for (const LaneMove& move : version_.options.moves) {
    if (move.lane == lane && !refusing_.contains(move.to)) targets.push_back(move.to);
  }
  if (!version_.options.moves.empty()) return targets;
  const std::map<uint32_t, MemberIndex>& found_on = survey_.found_on();
  const auto found = found_on.find(lane);
  if (found != found_on.end()) targets.push_back(found->second);
  if (targets.empty() && lane < version_.manifest.servers.size()) {
    const std::optional<MemberIndex> named = version_.engine.FindMember(version_.manifest.servers[lane]);
    if (named) targets.push_back(*named);
  }
  const bool unread = found != found_on.end() && survey_.IsUnread(lane);
  std::vector<MemberIndex> taken = survey_.holders();
  if (unread) std::erase(taken, found->second);
  for (const ArchiveCopy& copy : copies_) taken.push_back(copy.server);
  for (const MemberIndex spare : SparesFor(version_.engine, version_.info.path, version_.manifest, taken,
                                           version_.manifest.geometry.parity_chunks)) {
    if (!Contains(targets, spare)) targets.push_back(spare);
  }
  // These servers came back with nothing, while what they had lies elsewhere by now.
  for (uint32_t other = 0; other < version_.manifest.servers.size(); ++other) {
    const std::optional<MemberIndex> named = version_.engine.FindMember(version_.manifest.servers[other]);
    const auto now = found_on.find(other);
    if (named && now != found_on.end() && now->second != *named) targets.push_back(*named);
  }
  const std::vector<Member>& members = version_.engine.descriptor().members;
  std::erase_if(targets, [&](MemberIndex target) {
    return Contains(version_.options.gone, target) || Contains(taken, target) ||
           IsBeingEmptied(members[target].role) || refusing_.contains(static_cast<MemberIndex>(target));
  });
  // An archive that may be good is not removed before its copy stands, if that can stand elsewhere.
  if (unread && std::erase(targets, found->second) > 0) targets.push_back(found->second);
  return targets;
}

// Has the server an archive of the version that is not this lane's? A copy would have to take its place, and
// cannot where it is a home that is needed.
Task<bool> RepairCopies::HoldsAnother(MemberIndex server, uint32_t lane) {
  const auto found = survey_.found_on().find(lane);
  if (found != survey_.found_on().end() && found->second == server) co_return false;
  if (lane < version_.manifest.servers.size() &&
      version_.manifest.servers[lane] == version_.engine.server_id(server))
    co_return false;
  const Result<States> states = co_await ListStates(version_.engine, server, version_.info.path);
  if (!states) co_return false;
  const std::optional<State> archive = ArchiveInPlace(*states, version_.info.accepted);
  survey_.NoteListed(server, archive);
  co_return archive.has_value();
}

std::optional<MemberIndex> RepairCopies::Plan(uint32_t lane) {
  const std::vector<MemberIndex> targets = Targets(lane);
  if (targets.empty()) return std::nullopt;
  ArchiveCopy& copy = copies_.emplace_back();
  copy.lane = lane;
  copy.server = targets.front();
  return copy.server;
}

// Creates the copy's file on the first server that takes it.
Task<Status> RepairCopies::Open(uint32_t lane) {
  std::string problems;
  for (const auto& [server, said] : refusing_)
    problems +=
        fmt::format("{}{}: {}", problems.empty() ? "" : "; ", version_.engine.server_id(server), said);
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
    if (!survey_.HasListed(server)) {
      // No manifest names this archive; it was found by reading.
      const Result<States> states = co_await ListStates(version_.engine, server, version_.info.path);
      survey_.NoteListed(server, states ? ArchiveInPlace(*states, version_.info.accepted) : std::nullopt);
    }
    ArchiveCopy copy;
    copy.lane = lane;
    copy.server = server;
    copy.replaces = survey_.Listed(server);
    copy.draft = DraftOf(version_.engine, version_.info.accepted);
    const Status named = co_await KeepLongName(version_.engine, server, version_.info.path);
    Result<ArchiveFilePtr> file = named.has_value() ? Result<ArchiveFilePtr>(nullptr) : named.error();
    if (named) {
      file = co_await xec::Open(version_.engine.MetadataCall(), version_.engine.server(server),
                                StatePath(version_.info.path, FormatState(copy.draft)), OpenMode::kCreate);
    }
    if (file) {
      copy.file = std::move(*file);
      copies_.push_back(std::move(copy));
      co_return OkStatus();
    }
    problems += fmt::format("{}{}: {}", problems.empty() ? "" : "; ", version_.engine.server_id(server),
                            file.error().message);
    // The server answers again sooner or later, with the damaged archive, which is not left beside a good
    // one.
    const auto damaged = survey_.found_on().find(lane);
    const Code code = file.code();
    const bool for_now =
        code == Code::kUnavailable || code == Code::kDeadlineExceeded || code == Code::kUnknown;
    if (for_now && damaged != survey_.found_on().end() && damaged->second == server) break;
  }
  co_return Fail(Code::kUnavailable, "no server takes archive {} of {} ({})", lane, version_.info.path.text(),
                 problems.empty() ? "all of them hold a part of the object" : problems);
}

// A server that hangs is given up, and asked for nothing more. The measure are the servers that gave the
// stripe to read, and the patience of an upload that has no spare.
Task<Status> RepairCopies::WriteChunks(std::shared_ptr<StripeBuffer> stripe, Duration reading) {
  const EngineOptions& options = version_.engine.options();
  const Duration patience =
      std::max(options.metadata_timeout, std::min(kLateFactor * reading, options.operation_limit));
  CallContext call = version_.engine.WriteCall();
  call.deadline = std::min(call.deadline, version_.engine.executor().Now() + patience);
  Gather<Status> writes(version_.engine.scope(), version_.engine.executor());
  for (size_t i = 0; i < copies_.size(); ++i) {
    ArchiveCopy& copy = copies_[i];
    const uint32_t chunk = ChunkOfLane(stripe->stripe(), copy.lane, version_.manifest.geometry.Total());
    if (!copy.status || stripe->ChunkSize(chunk) == 0) continue;
    Result<StripeBuffer::Piece> piece = stripe->PlaceChunk(chunk, *copy.archive);
    if (!piece) co_return piece.error();
    version_.options.wrote(piece->slice.length);
    writes.Start(i, xec::Write(call, copy.file, piece->archive_offset, std::move(piece->slice)));
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

bool RepairCopies::AllFailed() const {
  return std::none_of(copies_.begin(), copies_.end(),
                      [](const ArchiveCopy& copy) { return copy.status.has_value(); });
}

// How much is read at a time, in bytes: whole pages of a chunk, as many as the memory budget has room for
// beside a stripe. It is no more than a little if a quarter of the budget has no room for more, since more
// would wait for uploads.
uint64_t RepairCopies::PieceBytes(uint64_t stripe_bytes) const {
  const uint64_t chunk_size = version_.manifest.geometry.chunk_size_bytes;
  const uint64_t page =
      version_.manifest.page_size_bytes != 0 ? version_.manifest.page_size_bytes : chunk_size;
  const uint64_t limit = version_.engine.budget().limit();
  const auto fits = [&](uint64_t bytes) {
    const uint64_t needed = stripe_bytes + PieceBytesToRead(version_.manifest, bytes);
    return needed <= limit / 4 || (needed <= limit && bytes <= kLittle);
  };
  uint64_t pages = (chunk_size + page - 1) / page;
  while (pages > 1 && !fits(pages * page)) pages /= 2;
  return pages * page;
}

Task<Status> RepairCopies::WriteStripe(StripeExtent extent, ObjectDigests& digests) {
  const Geometry& geometry = version_.manifest.geometry;
  StripeBuffer::Shape shape;
  shape.geometry = geometry;
  shape.data_bytes_max = extent.bytes;
  const uint64_t piece_max = PieceBytes(shape.BufferBytes());
  const uint64_t needed = shape.BufferBytes() + PieceBytesToRead(version_.manifest, piece_max);
  Result<ByteBudget::Claimed> leases = co_await version_.engine.budget().ClaimAndAcquire(needed);
  if (!leases) co_return leases.error();
  ByteBudget::Lease& memory = leases->memory;
  auto buffer = std::make_shared<StripeBuffer>(shape, extent.stripe, memory.Split(shape.BufferBytes()));
  const std::shared_ptr<Buffer> piece = Buffer::Allocate(piece_max, memory.Split(piece_max));
  ByteBudget for_reading(std::move(memory), version_.engine.executor());
  const TimePoint started = version_.engine.executor().Now();
  while (!buffer->full()) {
    const uint64_t written = buffer->size_bytes();
    const uint64_t left_of_chunk = geometry.chunk_size_bytes - written % geometry.chunk_size_bytes;
    const uint64_t bytes = std::min({piece_max, left_of_chunk, extent.bytes - written});
    const MutableByteSpan into = piece->span().first(bytes);
    Result<uint64_t> got = co_await version_.reader->ReadWithin(for_reading, extent.begin + written, into);
    if (!got) co_return got.error();
    if (*got != bytes) co_return Fail(Code::kCorruption, "{} ends early", version_.info.path.text());
    buffer->Append(into, digests);
    version_.options.progress(bytes);
  }
  buffer->Finish(digests);
  co_return co_await WriteChunks(std::move(buffer), version_.engine.executor().Now() - started);
}

Task<Status> RepairCopies::WriteStripes(ObjectDigests& digests) {
  for (uint64_t at = 0; at < version_.manifest.size_bytes;) {
    const StripeExtent extent = version_.manifest.Stripes().At(at);
    Status written = co_await WriteStripe(extent, digests);
    if (!written) co_return std::move(written);
    if (AllFailed()) co_return OkStatus();
    at = extent.end();
  }
  co_return CheckDigests(digests);
}

Status RepairCopies::CheckDigests(ObjectDigests& digests) const {
  for (const auto& [name, value] : digests.Finish()) {
    const auto stored = version_.manifest.checksums.find(name);
    if (stored == version_.manifest.checksums.end() || stored->second == value) continue;
    return Fail(Code::kCorruption, "what was read of {} has the {} {}, not {} as it was stored with",
                version_.info.path.text(), name, value, stored->second);
  }
  return OkStatus();
}

Manifest RepairCopies::ManifestOf(const ArchiveCopy& copy) const {
  Manifest manifest = version_.manifest;
  manifest.kind = ManifestKind::kObject;
  manifest.lane = copy.lane;
  manifest.servers.resize(manifest.geometry.Total());
  for (const ArchiveCopy& made : copies_) {
    if (!made.status) continue;
    manifest.servers[made.lane] = version_.engine.server_id(made.server);
    std::erase(manifest.debts, made.lane);
  }
  return manifest;
}

// Ends the archives of the copies, in parallel. What the servers have not brought to their disks yet goes
// there now, which may take as long as all the writing before. A server that takes longer is given up.
Task<void> RepairCopies::EndArchives(Duration writing) {
  std::vector<bool> waiting(copies_.size(), false);
  Gather<Status> ends(version_.engine.scope(), version_.engine.executor());
  for (size_t i = 0; i < copies_.size(); ++i) {
    ArchiveCopy& copy = copies_[i];
    if (!copy.status) continue;
    waiting[i] = true;
    ends.Start(i, EndArchive(version_.engine, std::move(copy.file), copy.archive, ManifestOf(copy)));
  }
  const EngineOptions& options = version_.engine.options();
  const Duration patience = std::max(options.metadata_timeout, std::max(options.operation_limit, writing));
  ends.StartTimer(0, version_.engine.executor().Now() + patience);
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

Task<Status> RepairCopies::WriteDecoded() {
  Result<ObjectDigests> digests = ObjectDigests::Create({});
  if (!digests) co_return digests.error();
  co_return co_await WriteStripes(*digests);
}

ChunksWanted RepairCopies::WantedOf(uint64_t stripe) const {
  const uint32_t total = version_.manifest.geometry.Total();
  ChunksWanted wanted;
  wanted.stripe = stripe;
  for (const ArchiveCopy& copy : copies_) {
    if (copy.status) wanted.wanted |= ChunkBit(ChunkOfLane(stripe, copy.lane, total));
  }
  for (uint32_t lane = 0; lane < total; ++lane) {
    const ChunkMask chunk = ChunkBit(ChunkOfLane(stripe, lane, total));
    if (survey_.IsAbsent(lane)) wanted.absent |= chunk;
    if (survey_.IsSilent(lane)) wanted.away |= chunk;
  }
  return wanted;
}

Task<Status> RepairCopies::WriteMade(MadeChunks made) {
  version_.options.progress(made.bytes_read);
  for (DamagedChunk& chunk : made.damaged) {
    if (damaged_.size() < kDamagedChunksMax) damaged_.push_back(std::move(chunk));
  }
  co_return co_await WriteChunks(std::move(made.stripe), made.took);
}

// While a stripe is written the next ones are read. Each is one request for memory, so none waits for memory
// that another one holds until it has got more.
Task<Status> RepairCopies::WriteMade(ReadContext context) {
  const StripeMap stripes = version_.manifest.Stripes();
  Gather<Result<MadeChunks>> making(version_.engine.scope(), version_.engine.executor());
  // Those that are made before an earlier one: an archive has its stripes in order, as it had before.
  std::map<uint64_t, MadeChunks> made;
  uint64_t next = 0;
  for (uint64_t at = 0; at < stripes.object_size() || making.pending() > 0;) {
    while (at < stripes.object_size() && making.pending() + made.size() < kStripesAtOnce) {
      const StripeExtent extent = stripes.At(at);
      making.Start(extent.stripe, MakeLostChunks(context, extent, WantedOf(extent.stripe)));
      at = extent.end();
    }
    Gather<Result<MadeChunks>>::Event event = co_await making.Next();
    if (!*event.value) co_return event.value->error();
    made.emplace(event.tag, std::move(**event.value));
    for (auto first = made.find(next); first != made.end(); first = made.find(++next)) {
      if (version_.options.stopped()) co_return Fail(Code::kCancelled, "the repair was interrupted");
      for (Duration rest = version_.options.rest(); rest > Duration::zero(); rest = version_.options.rest()) {
        co_await Pause(version_.engine, rest);
        if (version_.options.stopped()) co_return Fail(Code::kCancelled, "the repair was interrupted");
      }
      const Status written = co_await WriteMade(std::move(first->second));
      if (!written) co_return written.error();
      made.erase(first);
      if (AllFailed()) co_return OkStatus();
    }
  }
  co_return OkStatus();
}

Task<void> RepairCopies::Write() {
  const TimePoint started = version_.engine.executor().Now();
  Status written;
  if (version_.options.deep) {
    written = co_await WriteDecoded();
  } else {
    Result<ReadContext> context = co_await version_.reader->GetContext();
    written = context ? OkStatus() : Status(context.error());
    if (context) written = co_await WriteMade(std::move(*context));
  }
  for (ArchiveCopy& copy : copies_) {
    if (!written) copy.status = written;
  }
  co_await EndArchives(version_.engine.executor().Now() - started);
}

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// What an upload has taken is read back: see stripe_upload.hh.
#include <algorithm>
#include <bit>
#include <cstring>
#include <set>

#include "codec/checksum.hh"
#include "commit/engine/access.hh"
#include "object/layout.hh"
#include "object/write/stripe_upload.hh"

namespace xec {
namespace {

// Reads a chunk back and compares it with what was sent.
Task<Status> ReadChunkBack(Engine& engine, ArchiveFilePtr file, ArchiveWriter::PlacedMember member,
                           Slice into) {
  std::vector<ByteRange> ranges = {ByteRange{member.data_offset, member.size_bytes}};
  Result<uint64_t> got = co_await Read(engine.ReadCall(), std::move(file), std::move(ranges), into);
  if (!got) co_return got.error();
  if (*got == member.size_bytes && Crc32(into.span()) == member.crc32) co_return OkStatus();
  co_return Fail(Code::kCorruption, "what was written cannot be read back");
}

bool IsMissing(const UploadedArchive& archive, uint64_t stripe) {
  return std::binary_search(archive.missing.rbegin(), archive.missing.rend(), stripe);
}

}  // namespace

// What others want of the cache is another object.
StripeUpload::CacheUse::CacheUse(std::shared_ptr<SliceCache> cache, const std::string& object_id)
    : cache_(std::move(cache)), object_("upload " + object_id) {
  cache_->BeginReader(object_);
}

StripeUpload::CacheUse::~CacheUse() { cache_->EndReader(object_); }

Task<Status> StripeUpload::EndStream() {
  Status ended = CheckMayGrow(0);
  if (ended && AllInMemory())
    ended = Fail(Code::kInvalidArgument, "nothing of {} was sent yet", plan_.path.text());
  if (ended && !cache_use_) {
    ended = co_await SendRest();
    if (ended) cache_use_ = std::make_unique<CacheUse>(engine_.stripes(), plan_.object_id);
    GiveUpPlace();
  }
  if (!ended) SetFailed(ended.error());
  co_return std::move(ended);
}

Task<Result<uint64_t>> StripeUpload::ReadBack(uint64_t offset, MutableByteSpan into) {
  if (failed_) co_return *failed_;
  const uint64_t bytes = std::min<uint64_t>(into.size(), size_ - std::min(size_, offset));
  const Geometry& geometry = plan_.geometry;
  if (!cache_use_ && !AllInMemory())
    co_return Fail(Code::kInvalidArgument, "the stream of {} has not ended", plan_.path.text());
  for (uint64_t done = 0; done < bytes;) {
    const uint64_t at = offset + done;
    const uint64_t stripe = at / geometry.StripeSize();
    const auto chunk = static_cast<uint32_t>(at % geometry.StripeSize() / geometry.chunk_size_bytes);
    const uint64_t within = at % geometry.chunk_size_bytes;
    const uint64_t now = std::min(bytes - done, geometry.chunk_size_bytes - within);
    if (current_) {
      std::memcpy(into.data() + done, current_->Chunk(chunk).data() + within, now);
    } else {
      Result<SliceCache::ValuePtr> value = co_await ChunkOf(stripe, chunk);
      if (!value) co_return value.error();
      const MutableByteSpan data = (*value)->slices.front().span();
      std::memcpy(into.data() + done, data.data() + within, now);
      if (within + now == data.size()) cache_use_->Used(KeyOf(stripe, chunk));
    }
    done += now;
  }
  co_return bytes;
}

uint64_t StripeUpload::KeyOf(uint64_t stripe, uint32_t chunk) const { return stripe * lanes_total() + chunk; }

// Small reads of one chunk after another ask a server once.
Task<Result<SliceCache::ValuePtr>> StripeUpload::ChunkOf(uint64_t stripe, uint32_t chunk) {
  const SliceCache::Key key = cache_use_->Key(KeyOf(stripe, chunk));
  SliceCache::ValuePtr value = co_await SliceCache::Find(cache_use_->cache(), key);
  if (value) co_return std::move(value);
  const bool mine = cache_use_->cache()->Claim(key);
  Result<Slice> slice = co_await ChunkBack(stripe, chunk);
  if (slice) {
    SliceCache::Value whole;
    whole.slices.push_back(std::move(*slice));
    value = std::make_shared<const SliceCache::Value>(std::move(whole));
  }
  if (mine) cache_use_->cache()->Arrived(key, value);
  if (!slice) co_return slice.error();
  co_return std::move(value);
}

// From the archive of its lane; decoded from others if that fails or is late. If too few others are left the
// lane's own is waited for.
Task<Result<Slice>> StripeUpload::ChunkBack(uint64_t stripe, uint32_t chunk) {
  UploadedArchive& archive = archives_[LaneOfChunk(stripe, chunk, lanes_total())];
  const bool there = !archive.lost && !IsMissing(archive, stripe);
  if (there && !archive.late_to_read) {
    Result<Slice> own = co_await OwnChunkBack(stripe, chunk, engine_.options().failover_delay);
    if (own) co_return std::move(own);
    archive.late_to_read = true;
  }
  Result<Slice> decoded = co_await DecodedBack(stripe, chunk);
  if (decoded || !there) co_return std::move(decoded);
  Result<Slice> own = co_await OwnChunkBack(stripe, chunk, engine_.options().read_timeout);
  if (!own) co_return decoded.error();
  co_return std::move(own);
}

Task<Result<Slice>> StripeUpload::OwnChunkBack(uint64_t stripe, uint32_t chunk, Duration patience) {
  const UploadedArchive& archive = archives_[LaneOfChunk(stripe, chunk, lanes_total())];
  const uint64_t bytes = plan_.geometry.ChunkBytes(size_, stripe, chunk);
  Result<ByteBudget::Claimed> leases = co_await engine_.budget().ClaimAndAcquire(bytes);
  if (!leases) co_return leases.error();
  const auto member = archive.archive->Find(MemberName{static_cast<uint32_t>(stripe), chunk});
  XEC_CHECK(member.has_value());
  Slice slice(Buffer::Allocate(bytes, std::move(leases->memory)));
  Gather<Status> reads(engine_.scope(), engine_.executor());
  reads.Start(0, ReadChunkBack(engine_, archive.file, *member, slice));
  reads.StartTimer(1, engine_.executor().Now() + patience);
  const Gather<Status>::Event event = co_await reads.Next();
  if (!event.value) co_return Fail(Code::kUnavailable, "{} is late", engine_.server_id(archive.server));
  if (!event.value->has_value()) co_return event.value->error();
  co_return std::move(slice);
}

// From other lanes than its own, which may still be writing to where it was to be read.
Task<Result<Slice>> StripeUpload::DecodedBack(uint64_t stripe, uint32_t chunk) {
  StripeBuffer::Shape shape;
  shape.geometry = plan_.geometry;
  shape.data_bytes_max = plan_.geometry.StripeBytes(size_, stripe);
  Result<ByteBudget::Claimed> leases = co_await engine_.budget().ClaimAndAcquire(shape.BufferBytes());
  if (!leases) co_return leases.error();
  std::shared_ptr<StripeBuffer> buffer = StripeBuffer::ToRestore(shape, stripe, std::move(leases->memory));
  const Restored restored = co_await ReadChunks(buffer, LaneOfChunk(stripe, chunk, lanes_total()));
  if (restored.stripe) {
    buffer->Restore(restored.present, chunk);
    co_return buffer->Place(chunk);
  }
  std::string problems;
  for (const auto& [index, error] : restored.failures)
    problems += fmt::format("; {}: {}", engine_.server_id(archives_[index].server), error.message);
  co_return Fail(Code::kUnavailable,
                 "what was written of {} cannot be read back, too few archives are left{}", plan_.path.text(),
                 problems);
}

// Reads enough chunks of a stripe from the archives that have them for the others to be decoded; none of the
// lane `left_out`.
Task<StripeUpload::Restored> StripeUpload::ReadChunks(std::shared_ptr<StripeBuffer> buffer,
                                                      std::optional<uint32_t> left_out) {
  Restored result;
  const uint64_t stripe = buffer->stripe();
  std::vector<size_t> sources;  // archives to read from, those not asked yet at the end
  size_t needed = plan_.geometry.data_chunks;
  for (size_t i = 0; i < lanes_total(); ++i) {
    const UploadedArchive& archive = archives_[i];
    const uint32_t chunk = ChunkOfLane(stripe, static_cast<uint32_t>(i), lanes_total());
    const bool missing = !archive.lost && IsMissing(archive, stripe);
    if (missing) result.lanes |= ChunkBit(static_cast<uint32_t>(i));
    if (buffer->ChunkSize(chunk) == 0) {
      if (needed > 0) --needed;
    } else if (!archive.lost && !missing && i != left_out) {
      sources.push_back(i);
    }
  }
  std::stable_partition(sources.begin(), sources.end(), [&](size_t i) { return !archives_[i].late_to_read; });
  Gather<Status> reads(engine_.scope(), engine_.executor());
  size_t next = 0;
  std::set<size_t> asked;  // and not answered yet
  const auto ask = [&] {
    const size_t i = sources[next++];
    asked.insert(i);
    const uint32_t chunk = ChunkOfLane(stripe, static_cast<uint32_t>(i), lanes_total());
    const auto member = archives_[i].archive->Find(MemberName{static_cast<uint32_t>(stripe), chunk});
    XEC_CHECK(member.has_value());
    reads.Start(i, ReadChunkBack(engine_, archives_[i].file, *member, buffer->Place(chunk)));
  };
  while (next < std::min(needed, sources.size())) ask();
  reads.StartTimer(0, engine_.executor().Now() + engine_.options().failover_delay);
  while (static_cast<size_t>(std::popcount(result.present)) < needed && reads.pending() > 0) {
    Gather<Status>::Event event = co_await reads.Next();
    if (!event.value) {
      for (const size_t i : asked) archives_[i].late_to_read = true;
      while (next < sources.size()) ask();
      continue;
    }
    asked.erase(event.tag);
    if (event.value->has_value()) {
      result.present |= ChunkBit(ChunkOfLane(stripe, static_cast<uint32_t>(event.tag), lanes_total()));
    } else {
      result.failures.emplace_back(event.tag, event.value->error());
      if (next < sources.size()) ask();
    }
  }
  if (static_cast<size_t>(std::popcount(result.present)) >= needed) result.stripe = std::move(buffer);
  co_return std::move(result);
}

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/write/stripe_buffer.hh"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/units.hh"
#include "object/padded_coding.hh"
#include "object/read/chunk_reader.hh"

namespace xec {
namespace {

// Copied before it is summed up: with pages of 4 KiB still in the first-level cache then.
constexpr size_t kCopiedAtATime = 4 * kKiB;

constexpr size_t RoundUp(size_t bytes) {
  return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

size_t Headroom(const StripeBuffer::Shape& shape, size_t chunk_bytes) {
  return RoundUp(LocalHeaderSizeMax(shape.geometry.PageCount(chunk_bytes)));
}

// Of the Buffer of a chunk; 0 for one without bytes, or without memory.
size_t SlotBytes(const StripeBuffer::Shape& shape, uint32_t chunk) {
  const size_t bytes = shape.geometry.ChunkBytes(shape.data_bytes_max, 0, chunk);
  return bytes == 0 || !(shape.chunks & ChunkBit(chunk))
             ? 0
             : Headroom(shape, bytes) + RoundUp(bytes + shape.tail_room);
}

}  // namespace

uint64_t StripeBuffer::Shape::BufferBytes() const {
  uint64_t bytes = 0;
  for (uint32_t chunk = 0; chunk < geometry.Total(); ++chunk) bytes += SlotBytes(*this, chunk);
  return bytes;
}

StripeBuffer::StripeBuffer(const Shape& shape, uint64_t stripe, ByteBudget::Lease lease)
    : shape_(shape), stripe_(stripe), slots_(shape.geometry.Total()) {
  XEC_CHECK(shape.data_bytes_max > 0 && shape.data_bytes_max <= shape.geometry.StripeSize());
  XEC_CHECK(lease.bytes() >= shape_.BufferBytes(), "a lease of {} bytes for a stripe of {}", lease.bytes(),
            shape_.BufferBytes());
  for (uint32_t chunk = 0; chunk < shape_.geometry.Total(); ++chunk) {
    Slot& slot = slots_[chunk];
    slot.capacity = shape_.geometry.ChunkBytes(shape_.data_bytes_max, 0, chunk);
    const size_t bytes = SlotBytes(shape_, chunk);
    if (bytes == 0) continue;
    slot.headroom = Headroom(shape_, slot.capacity);
    slot.buffer = Buffer::Allocate(bytes, lease.Split(bytes));
  }
}

MutableByteSpan StripeBuffer::Data(uint32_t chunk, size_t bytes) const {
  return slots_[chunk].buffer->span().subspan(slots_[chunk].headroom, bytes);
}

uint64_t StripeBuffer::ChunkSize(uint32_t chunk) const {
  return shape_.geometry.ChunkBytes(filled_, 0, chunk);
}

ByteSpan StripeBuffer::Chunk(uint32_t chunk) const {
  const size_t bytes = ChunkSize(chunk);
  return bytes == 0 ? ByteSpan{} : Data(chunk, bytes);
}

size_t StripeBuffer::Append(ByteSpan bytes, ObjectDigests& digests) {
  XEC_CHECK(!finished_);
  const uint64_t chunk_size = shape_.geometry.chunk_size_bytes;
  size_t taken = 0;
  while (taken < bytes.size() && !full()) {
    const auto chunk = static_cast<uint32_t>(filled_ / chunk_size);
    const size_t within = filled_ % chunk_size;
    const size_t room = slots_[chunk].capacity - within;
    const size_t count = std::min({room, bytes.size() - taken, kCopiedAtATime - within % kCopiedAtATime});
    std::memcpy(Data(chunk, within + count).data() + within, bytes.data() + taken, count);
    taken += count;
    filled_ += count;
    SumUpData(chunk, within + count, digests);
  }
  return taken;
}

ByteSpan StripeBuffer::SumUp(uint32_t chunk, size_t end) {
  Slot& slot = slots_[chunk];
  const size_t page_size = shape_.geometry.PageSize();
  if (end != (finished_ ? ChunkSize(chunk) : shape_.geometry.chunk_size_bytes)) end -= end % page_size;
  const ByteSpan bytes = Data(chunk, end).subspan(slot.summed);
  slot.crc32 = Crc32(bytes, slot.crc32);
  slot.page_crc32c.resize(shape_.geometry.PageCount(end));
  PageChecksums(bytes, page_size, std::span(slot.page_crc32c).subspan(slot.summed / page_size));
  slot.summed = end;
  return bytes;
}

void StripeBuffer::SumUpData(uint32_t chunk, size_t end, ObjectDigests& digests) {
  const Slot& slot = slots_[chunk];
  const size_t page_size = shape_.geometry.PageSize();
  const size_t first_page = slot.summed / page_size;
  const ByteSpan bytes = SumUp(chunk, end);
  digests.Add(bytes, std::span(slot.page_crc32c).subspan(first_page), page_size);
}

void StripeBuffer::Finish(ObjectDigests& digests) {
  XEC_CHECK(!finished_ && filled_ > 0);
  finished_ = true;
  const Geometry& geometry = shape_.geometry;
  if (const uint64_t within = filled_ % geometry.chunk_size_bytes; within != 0)
    SumUpData(static_cast<uint32_t>(filled_ / geometry.chunk_size_bytes), within, digests);
  std::vector<ByteSpan> data;
  std::vector<MutableByteSpan> parity;
  const size_t length = ChunkSize(0);
  for (uint32_t chunk = 0; chunk < geometry.data_chunks; ++chunk) data.push_back(Chunk(chunk));
  for (uint32_t chunk = geometry.data_chunks; chunk < geometry.Total(); ++chunk)
    parity.push_back(Data(chunk, length));
  EncodePadded(CodecFor(geometry), data, parity, length, [&](size_t coded) {
    for (uint32_t chunk = geometry.data_chunks; chunk < geometry.Total(); ++chunk) SumUp(chunk, coded);
  });
}

std::shared_ptr<StripeBuffer> StripeBuffer::ToRestore(const Shape& shape, uint64_t stripe,
                                                      ByteBudget::Lease lease) {
  auto restored = std::make_shared<StripeBuffer>(shape, stripe, std::move(lease));
  restored->filled_ = shape.data_bytes_max;
  restored->finished_ = true;
  return restored;
}

Slice StripeBuffer::Place(uint32_t chunk) const {
  XEC_CHECK(ChunkSize(chunk) > 0);
  return Slice(slots_[chunk].buffer, slots_[chunk].headroom, ChunkSize(chunk));
}

void StripeBuffer::Restore(ChunkMask present, uint32_t chunk) {
  std::vector<ByteSpan> sources;
  for (uint32_t i = 0; i < shape_.geometry.Total(); ++i) {
    sources.push_back(Chunk(i));
    if (sources.back().empty()) present |= ChunkBit(i);
  }
  ReconstructPadded(CodecFor(shape_.geometry), sources, present, chunk, Data(chunk, ChunkSize(chunk)));
  SumUpAnew(chunk);
}

bool StripeBuffer::RestoreFrom(std::span<const ByteSpan> sources, ChunkMask present, uint32_t chunk) {
  const MutableByteSpan made = Data(chunk, ChunkSize(chunk));
  bool right = true;
  if (present & ChunkBit(chunk)) {
    std::memcpy(made.data(), sources[chunk].data(), made.size());
  } else {
    const ReedSolomon& codec = CodecFor(shape_.geometry);
    ReconstructPadded(codec, sources, present, chunk, made);
    right = DecodesBack(codec, sources, present, chunk, made);
  }
  SumUpAnew(chunk);
  return right;
}

void StripeBuffer::SumUpAnew(uint32_t chunk) {
  slots_[chunk].summed = 0;
  slots_[chunk].crc32 = 0;
  SumUp(chunk, ChunkSize(chunk));
}

MemberHeader StripeBuffer::HeaderOf(uint32_t chunk) const {
  MemberHeader member;
  member.name = MemberName{static_cast<uint32_t>(stripe_), chunk};
  member.size_bytes = static_cast<uint32_t>(ChunkSize(chunk));
  member.crc32 = slots_[chunk].crc32;
  member.page_crc32c = slots_[chunk].page_crc32c;
  member.page_size_bytes = static_cast<uint32_t>(shape_.geometry.PageSize());
  return member;
}

Result<StripeBuffer::Piece> StripeBuffer::PlaceChunk(uint32_t chunk, ArchiveWriter& archive) {
  XEC_CHECK(finished_ && ChunkSize(chunk) > 0);
  Slot& slot = slots_[chunk];
  if (slot.header_size > 0) return PlaceChunkAgain(chunk, archive);
  const MutableByteSpan headroom = slot.buffer->span().first(slot.headroom);
  XEC_ASSIGN_OR_RETURN(const PlacedHeader placed, archive.LocalHeader(HeaderOf(chunk), headroom));
  slot.header_size = placed.size_bytes;
  Slice slice(slot.buffer, slot.headroom - placed.size_bytes, placed.size_bytes + ChunkSize(chunk));
  return Piece{std::move(slice), placed.archive_offset};
}

Result<StripeBuffer::Piece> StripeBuffer::PlaceChunkAgain(uint32_t chunk, ArchiveWriter& archive) const {
  const Slot& slot = slots_[chunk];
  const std::shared_ptr<Buffer> scratch = Buffer::Allocate(slot.headroom);
  XEC_ASSIGN_OR_RETURN(const PlacedHeader placed, archive.LocalHeader(HeaderOf(chunk), scratch->span()));
  if (placed.size_bytes == slot.header_size) {
    Slice slice(slot.buffer, slot.headroom - placed.size_bytes, placed.size_bytes + ChunkSize(chunk));
    return Piece{std::move(slice), placed.archive_offset};
  }
  // A header may be longer at one place than at another (ArchiveWriter, INV-2): once in 2^32 times.
  const ByteSpan header = scratch->span().last(placed.size_bytes);
  const std::shared_ptr<Buffer> copy = Buffer::Allocate(header.size() + ChunkSize(chunk));
  std::memcpy(copy->data(), header.data(), header.size());
  std::memcpy(copy->data() + header.size(), Chunk(chunk).data(), ChunkSize(chunk));
  return Piece{Slice(copy), placed.archive_offset};
}

Result<StripeBuffer::Piece> StripeBuffer::PlaceEmptyChunk(uint32_t chunk, ArchiveWriter& archive) const {
  XEC_CHECK(finished_ && ChunkSize(chunk) == 0);
  const std::shared_ptr<Buffer> buffer = Buffer::Allocate(LocalHeaderSizeMax(0));
  XEC_ASSIGN_OR_RETURN(const PlacedHeader placed, archive.LocalHeader(HeaderOf(chunk), buffer->span()));
  Slice slice(buffer, buffer->size() - placed.size_bytes, placed.size_bytes);
  return Piece{std::move(slice), placed.archive_offset};
}

bool StripeBuffer::AddTail(uint32_t chunk, ByteSpan tail, Piece& piece) {
  Slot& slot = slots_[chunk];
  const size_t end = slot.headroom + ChunkSize(chunk);
  const size_t limit = slot.headroom + slot.capacity + shape_.tail_room;
  if (slot.has_tail || tail.size() > limit - end) return false;
  slot.has_tail = true;
  std::memcpy(slot.buffer->data() + end, tail.data(), tail.size());
  piece.slice.length += tail.size();
  return true;
}

void StripeReservation::Put(ByteBudget::Claimed leases, Executor& executor) {
  Take();
  kept_ = std::make_shared<Kept>();
  {
    const MutexLock lock(kept_->mutex);
    kept_->leases = std::move(leases);
  }
  executor_ = &executor;
  for (const Duration time : {kReservationMax, kPlaceMax}) {
    const auto lapse = [weak = std::weak_ptr<Kept>(kept_), time] {
      const std::shared_ptr<Kept> kept = weak.lock();
      if (!kept) return;
      ByteBudget::Claimed lapsed;  // released without the lock
      MutexLock lock(kept->mutex);
      lapsed.memory = std::move(kept->leases.memory);
      if (time == kPlaceMax || !kept->keep_claim) lapsed.claim = std::move(kept->leases.claim);
    };
    timers_.push_back(executor.RunAt(executor.Now() + time, lapse));
  }
}

bool StripeReservation::KeepClaim() {
  if (!kept_) return false;
  MutexLock lock(kept_->mutex);
  kept_->keep_claim = true;
  return kept_->leases.claim.bytes() > 0;
}

ByteBudget::Claimed StripeReservation::Take() {
  for (const TimerId timer : std::exchange(timers_, {})) executor_->Cancel(timer);
  const std::shared_ptr<Kept> kept = std::move(kept_);
  if (!kept) return {};
  MutexLock lock(kept->mutex);
  return std::move(kept->leases);
}

Status CheckStripeFits(const Geometry& geometry, uint64_t budget_bytes) {
  StripeBuffer::Shape largest;
  largest.geometry = geometry;
  largest.data_bytes_max = geometry.StripeSize();
  // A repair holds a stripe and reads a page of every chunk at least.
  Manifest manifest;
  manifest.geometry = geometry;
  manifest.page_size_bytes = static_cast<uint32_t>(geometry.PageSize());
  const uint64_t beside = std::max<uint64_t>(64 * kKiB, PieceBytesToRead(manifest, manifest.page_size_bytes));
  if (largest.BufferBytes() + beside <= budget_bytes) return OkStatus();
  return Fail(Code::kInvalidArgument,
              "a stripe of {} with chunks of {} needs {}, more than the memory budget of {} allows",
              geometry.ToString(), FormatSize(geometry.chunk_size_bytes),
              FormatSize(largest.BufferBytes() + beside), FormatSize(budget_bytes));
}

}  // namespace xec

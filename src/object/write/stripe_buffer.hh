// SPDX-License-Identifier: LGPL-3.0-or-later
// StripeBuffer: one stripe being written. Payload is copied into it once; coding, checksums and requests work
// on views of it. Each chunk has a Buffer of its own, with its part of the lease: a request that hangs keeps
// one chunk in memory, not the stripe.
//
//   Buffer of a chunk | headroom | chunk data ...       | tail room |
//                        header->| aligned to a page    |           a request sends header and data (and the
//                                                                   archive's end, if it fits) as one piece
#pragma once

#include <memory>
#include <vector>

#include "api/handles.hh"
#include "archive/archive_writer.hh"
#include "base/mutex.hh"
#include "codec/geometry.hh"
#include "codec/object_digests.hh"
#include "codec/reed_solomon.hh"
#include "runtime/buffer.hh"

namespace xec {

// Not thread-safe. The memory of a chunk lives as long as the longest-lived slice of it.
class StripeBuffer {
 public:
  struct Shape {
    Geometry geometry;
    uint64_t data_bytes_max = 0;  // of the object in this stripe, 1..StripeSize()
    size_t tail_room = 0;  // bytes free behind every chunk
    ChunkMask chunks = ~ChunkMask{0};  // there is memory for these
    // What a lease for the stripe must have.
    uint64_t BufferBytes() const;
  };

  StripeBuffer(const Shape& shape, uint64_t stripe, ByteBudget::Lease lease);

  // A finished stripe of `shape.data_bytes_max` bytes whose chunks are still to be read back into Place().
  static std::shared_ptr<StripeBuffer> ToRestore(const Shape& shape, uint64_t stripe,
                                                 ByteBudget::Lease lease);
  // Where the data of a chunk goes. Not for empty chunks.
  Slice Place(uint32_t chunk) const;
  // Decodes a chunk from those in `present`, at least k, the empty ones counted; its place is nobody else's.
  void Restore(ChunkMask present, uint32_t chunk);
  // The same from chunks that lie elsewhere, by their numbers; its own is copied if it is among them. False:
  // one of the sources, decoded from the chunk and the others, is not what it was.
  bool RestoreFrom(std::span<const ByteSpan> sources, ChunkMask present, uint32_t chunk);

  uint64_t stripe() const { return stripe_; }
  uint64_t size_bytes() const { return filled_; }
  bool full() const { return filled_ == shape_.data_bytes_max; }

  // Copies from the front of `bytes` what fits; answers how much. `digests` hears of every finished page.
  size_t Append(ByteSpan bytes, ObjectDigests& digests);

  // Ends the stripe: checksums of the partial page, parity and its checksums. Call once, before PlaceChunk.
  void Finish(ObjectDigests& digests);

  uint64_t ChunkSize(uint32_t chunk) const;
  ByteSpan Chunk(uint32_t chunk) const;

  struct Piece {
    Slice slice;  // header and data
    uint64_t archive_offset = 0;  // of the header
  };
  // Puts the chunk's header before it and the chunk into the directory of `archive`. Not for empty chunks. A
  // chunk can be placed in one archive after another: what an abandoned request may still read is left as it
  // is.
  Result<Piece> PlaceChunk(uint32_t chunk, ArchiveWriter& archive);

  // The same for a chunk without bytes: a member that is a header only.
  Result<Piece> PlaceEmptyChunk(uint32_t chunk, ArchiveWriter& archive) const;

  // Copies `tail` behind the chunk of `piece` and lengthens the piece; false when there is no room, or
  // another one is there already.
  bool AddTail(uint32_t chunk, ByteSpan tail, Piece& piece);

 private:
  struct Slot {
    std::shared_ptr<Buffer> buffer;  // null: the chunk has no bytes
    size_t headroom = 0;  // where the data begins
    size_t capacity = 0;  // of data, without tail room
    size_t header_size = 0;  // once placed
    bool has_tail = false;
    size_t summed = 0;  // bytes of data that the next two know
    uint32_t crc32 = 0;
    std::vector<uint32_t> page_crc32c;
  };
  // The checksums of a chunk, of which bytes up to `end` are there, go on as far as its pages are whole, or
  // its last one is there. Answers what was summed up.
  ByteSpan SumUp(uint32_t chunk, size_t end);
  void SumUpAnew(uint32_t chunk);
  // The same for a chunk of data; `digests` hears of it.
  void SumUpData(uint32_t chunk, size_t end, ObjectDigests& digests);
  MemberHeader HeaderOf(uint32_t chunk) const;
  Result<Piece> PlaceChunkAgain(uint32_t chunk, ArchiveWriter& archive) const;
  MutableByteSpan Data(uint32_t chunk, size_t bytes) const;

  const Shape shape_;
  const uint64_t stripe_;
  std::vector<Slot> slots_;  // by chunk
  uint64_t filled_ = 0;
  bool finished_ = false;
};

// Place and memory for the first stripe of an upload, taken before the stripe starts. Used by one owner, from
// any thread.
class StripeReservation {
 public:
  // A client that was told to come back does so sooner.
  static constexpr Duration kReservationMax = xec::kReservationMax;
  // And one that has come soon sends something.
  static constexpr Duration kPlaceMax = std::chrono::minutes(5);

  // Keeps `leases` until they are taken, at most for kReservationMax. `executor` outlives this.
  void Put(ByteBudget::Claimed leases, Executor& executor);
  // Keeps the claim for kPlaceMax after all. False: it was given back, or never put.
  bool KeepClaim();
  // The leases; empty ones if there are none (any more).
  ByteBudget::Claimed Take();

 private:
  struct Kept {
    Mutex mutex;
    ByteBudget::Claimed leases XEC_GUARDED_BY(mutex);
    bool keep_claim XEC_GUARDED_BY(mutex) = false;
  };
  std::shared_ptr<Kept> kept_;
  Executor* executor_ = nullptr;
  std::vector<TimerId> timers_;  // of what is kept
};

// Can stripes of this geometry be written within a memory budget of so many bytes? Error: kInvalidArgument.
Status CheckStripeFits(const Geometry& geometry, uint64_t budget_bytes);

}  // namespace xec

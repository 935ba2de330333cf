// SPDX-License-Identifier: LGPL-3.0-or-later
// Reads part of one chunk from its archive and verifies it.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "api/chunk_report.hh"
#include "archive/manifest.hh"
#include "archive/page_tables.hh"
#include "codec/reed_solomon.hh"
#include "object/archives/archive_set.hh"

namespace xec {

// A part of a chunk's data, in bytes; `begin` lies on a page border, `end` on one or at the chunk's end.
struct ChunkRange {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t size() const { return end - begin; }
  bool operator==(const ChunkRange&) const = default;
};

// Of a member's local header that is read with its data.
uint64_t HeaderBytesMax(const Manifest& manifest);
// Budget that reading so many bytes of a chunk needs, its header included.
uint64_t SlotBytes(const Manifest& manifest, uint64_t range_bytes);
// The same for reading a piece of a chunk into memory of its own, with whatever is needed to decode it.
uint64_t PieceBytesToRead(const Manifest& manifest, uint64_t piece_bytes);

// What all reads of one open version share.
struct ReadContext {
  std::shared_ptr<ArchiveSet> archives;
  std::shared_ptr<const Manifest> manifest;
  std::string object;  // the same for all readers of the same bytes, and for no others
  ByteBudget* budget = nullptr;  // for what is read; null: the engine's

  const Geometry& geometry() const { return manifest->geometry; }
  Engine& engine() const { return archives->engine(); }
  PageTables& tables() const { return engine().page_tables(); }
  PageTables::Key TableKey(MemberIndex server, MemberName name) const { return {object, server, name}; }
  ByteBudget& memory() const { return budget != nullptr ? *budget : engine().budget(); }
  StripeMap stripes() const { return manifest->Stripes(); }
  uint64_t ChunkBytes(uint64_t stripe, uint32_t chunk) const { return stripes().ChunkBytes(stripe, chunk); }
  Result<MemberIndex> ServerOf(uint64_t stripe, uint32_t chunk) const {
    return archives->ServerOf(*manifest, stripe, chunk);
  }
  // The smallest readable range around [begin, end) of a chunk of `chunk_bytes` bytes.
  ChunkRange Align(uint64_t begin, uint64_t end, uint64_t chunk_bytes) const;
  uint64_t SlotBytes(uint64_t range_bytes) const { return xec::SlotBytes(*manifest, range_bytes); }
};

struct ChunkAnswer {
  ChunkHealth health = ChunkHealth::kGood;
  bool doubted = false;      // unavailable, but not because its server is: see ChunkReport
  Slice data;                // the bytes of the range, when good
  Code code = Code::kInternal;  // why not good
  std::string problem;       // one clause that names the server, unless good
  ArchivePtr archive;        // where it was found, if it was
  Slice header;              // as read, perhaps condensed (CondenseLocalHeader), if it was read now
};

// Reads `range` of a chunk, which lies within its bytes. `lease` has SlotBytes(range.size()); it is used if a
// request is needed. With `thorough` the header is always read and the whole chunk must also match the
// directory's CRC. Never fails but in the answer.
Task<ChunkAnswer> ReadChunk(ReadContext context, MemberName name, ChunkRange range, ByteBudget::Lease lease,
                            bool thorough);

// Parts of the above, for reads of several chunks of an archive at once.

// The directory's record of the chunk, in the archive of its lane or in another one that is open, which
// `archive` is then. null: none has it.
const ArchiveMember* FindMember(const ReadContext& context, MemberName name, ArchivePtr& archive);
// Has the member the size of its chunk?
bool HasRightSize(const ReadContext& context, const ArchiveMember& member);
// Is there more in its local header than our writer puts there, so that SlotBytes has no room for it?
bool HasLongHeader(const ReadContext& context, const ArchiveMember& member);
// The page checksums in a member's local header; the empty table when the manifest has no pages. Error:
// kCorruption.
Result<PageTables::Table> ParseTable(const ReadContext& context, const ArchiveMember& member,
                                     ByteSpan header);
// `data` is the range of the chunk whose table it is. Error: kCorruption naming a page.
Status CheckPages(ByteSpan data, ChunkRange range, const PageChecksumTable& table);

// Sentence for a stripe that cannot be read: code kDataLoss if every server answered, else kUnavailable.
// answers[i] is what is known of chunk i (health kGood for those that are not to blame).
Error UnreadableStripe(const ReadContext& context, uint64_t stripe, std::span<const ChunkAnswer> answers,
                       ChunkMask bad);

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// ObjectReader: reads one version of one object. See ARCHITECTURE.md, "Life of a read".
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "api/chunk_report.hh"
#include "api/handles.hh"
#include "archive/manifest.hh"
#include "commit/engine/names.hh"
#include "object/repair_queue.hh"

namespace xec {

struct ReadContext;

// One open version. Thread-safe: any number of reads may run at once (xrootd shares one handle among
// clients). It keeps reading its version while the name is replaced, renamed or removed (promise P3).
class ObjectReader {
 public:
  // `info` is a live object (LookUpLive). Opens nothing that the first read does not need anyway. `damage`
  // hears of lost and damaged archives that reads meet; may be null.
  static Task<Result<std::shared_ptr<ObjectReader>>> Open(Engine& engine, NameInfo info,
                                                          std::shared_ptr<RepairQueue> damage = nullptr);
  // For who wants to know what is there, and reads little or nothing of it: of small archives, too, only the
  // ends are read when they are opened.
  static Task<Result<std::shared_ptr<ObjectReader>>> OpenEnds(Engine& engine, NameInfo info);

  // An object in the form of stock XrdEc: archives at its plain name on info.holders (all servers whose
  // attributes show the newest version), info.accepted with its size and a version made of XrdEc's. The
  // geometry is the one configured for the path. Whole chunks are read and checked by CRC-32 (or CRC-32C)
  // where archives have no page checksums. A geometry that does not fit shows as kInvalidArgument at the
  // first read.
  static Task<Result<std::shared_ptr<ObjectReader>>> OpenXrdec(Engine& engine, NameInfo info);

  virtual ~ObjectReader() = default;

  virtual uint64_t size() const = 0;
  virtual const Version& version() const = 0;
  // Of the version, as the look that it was opened with told them: those changed since by other clients are
  // missing, and so are changed ones that the look did not tell.
  virtual const Settings& settings() const = 0;

  // The manifest, read from a holder at the first call.
  virtual Task<Result<Manifest>> GetManifest() = 0;
  // For who reads chunks by itself: what all reads of the version share. Errors: those of GetManifest.
  virtual Task<Result<ReadContext>> GetContext() = 0;

  // Reads up to into.size() bytes at `offset`; short only at the end of the object. Every byte is verified by
  // its page checksum (or the member's CRC32); what is missing, corrupt or late is decoded from the rest. The
  // caller keeps `into` until the task ends. Error: kDataLoss naming object, stripe and servers; kNoQuorum or
  // kUnavailable when too few servers answer; kInvalidArgument when the geometry exceeds the memory budget.
  virtual Task<Result<uint64_t>> Read(uint64_t offset, MutableByteSpan into) = 0;

  using Piece = ReadPiece;
  // Reads all pieces, which lie within the object, in any order, as Read does; with few requests, and only
  // the pages that are needed. Nothing is fetched ahead. Errors: those of Read; kInvalidArgument for a piece
  // beyond the end. After an error the memory of all pieces is undefined.
  virtual Task<Status> ReadVector(std::vector<Piece> pieces) = 0;

  // Read with memory of `budget`, which outlives the task, in place of the engine's, and never ahead: for a
  // caller that holds memory of the engine's budget itself. It needs k + m times SlotBytes() of a chunk's
  // part.
  virtual Task<Result<uint64_t>> ReadWithin(ByteBudget& budget, uint64_t offset, MutableByteSpan into) = 0;

  // Reads and checks every chunk of every archive, parity included (against the data), one stripe at a time.
  // `report` runs for every chunk, in order; chunks without bytes are not reported.
  virtual Task<Status> Verify(std::function<void(const ChunkReport&)> report) = 0;

  // Lanes and servers of archives in which a chunk was found damaged so far, where another archive of the
  // lane is read in their place.
  virtual std::vector<std::pair<uint32_t, MemberIndex>> DamagedBeside() const = 0;

  // Where the chunks are, from the directories only.
  virtual Task<Status> Locate(std::function<void(const ChunkReport&)> report) = 0;
};

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/write/archive_sealer.hh"

#include <cstring>

#include "base/failpoint.hh"
#include "base/mutant.hh"

namespace xec {
namespace {

Task<Status> WriteEnd(Engine& engine, ArchiveFilePtr file, std::shared_ptr<ArchiveWriter> archive,
                      LastPiece last, Manifest manifest, RunEnd run_end) {
  std::optional<StripeBuffer::Piece> piece;
  if (last.stripe) {
    Result<StripeBuffer::Piece> placed = last.stripe->PlaceChunk(last.chunk, *archive);
    if (!placed) co_return placed.error();
    piece = std::move(*placed);
  }
  Result<std::string> text = manifest.Serialize();
  if (!text) co_return text.error();

  ByteBudget::Lease lease;
  if (!piece && !last.holds_stripe) {
    // All chunks are on the server by now, so nothing of ours holds budget while this waits but what has
    // been claimed. (It never waits to claim, as an upload holds a claim.)
    const uint64_t bytes =
        ArchiveEndSizeMax(archive->next_offset(), archive->member_count(), text->size()) + kBufferAlignment;
    Result<ByteBudget::Lease> acquired = co_await engine.budget().Acquire(bytes);
    if (!acquired) co_return acquired.error();
    lease = std::move(*acquired);
  }
  Result<std::vector<std::byte>> tail = archive->Finish(*text, run_end);
  if (!tail) co_return tail.error();

  if (piece) {
    const bool whole = last.stripe->AddTail(last.chunk, *tail, *piece);
    // A write that hangs keeps its own chunk in memory, not those of the others.
    last.stripe.reset();
    Status written = co_await Write(engine.WriteCall(), file, piece->archive_offset, piece->slice);
    if (!written || whole) co_return std::move(written);
  }
  const std::shared_ptr<Buffer> buffer = Buffer::Allocate(tail->size(), std::move(lease));
  std::memcpy(buffer->data(), tail->data(), tail->size());
  Slice slice(buffer);
  Status written = co_await Write(engine.WriteCall(), file, archive->next_offset(), std::move(slice));
  co_return std::move(written);
}

}  // namespace

Task<Status> SealArchive(Engine& engine, ArchiveFilePtr file, std::shared_ptr<ArchiveWriter> archive,
                         LastPiece last, Manifest manifest, RunEnd run_end) {
  Status status =
      co_await WriteEnd(engine, file, std::move(archive), std::move(last), std::move(manifest), run_end);
  if (status && engine.SyncBeforeCommit() && !MutantActive(Mutant::kPromoteBeforeSync))
    status = co_await Sync(engine.WriteCall(), file);
  XEC_FAILPOINT("put.sealed_one");
  co_return std::move(status);
}

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// The last requests of an archive being written: what is left to write, and sync.
#pragma once

#include <optional>
#include <vector>

#include "archive/archive_writer.hh"
#include "archive/manifest.hh"
#include "commit/engine/engine.hh"
#include "object/write/stripe_buffer.hh"

namespace xec {

struct LastPiece {
  std::shared_ptr<StripeBuffer> stripe;  // its only stripe, not sent yet; null: all chunks are written
  uint32_t chunk = 0;
  // The upload still holds its only stripe, whose memory has room for the ends of all archives: waiting for
  // more would be waiting for uploads that wait for the stripe.
  bool holds_stripe = false;
};

// Writes header and chunk of `last` (if any) and the archive's end with `manifest`, in one request when it
// fits; syncs if the store's policy says so. The file stays open. Waits for budget for the end of a large
// archive.
Task<Status> SealArchive(Engine& engine, ArchiveFilePtr file, std::shared_ptr<ArchiveWriter> archive,
                         LastPiece last, Manifest manifest, RunEnd run_end);

}  // namespace xec

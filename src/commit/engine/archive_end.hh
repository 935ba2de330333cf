// SPDX-License-Identifier: LGPL-3.0-or-later
// The end of an archive on a data server: its directory and its manifest.
#pragma once

#include <optional>

#include "archive/archive_reader.hh"
#include "server/calls.hh"

namespace xec {

struct ArchiveEnd {
  Result<ArchiveIndex> index = Fail(Code::kCorruption, "the archive was not read");
  // From which the index was made, or is an error: the last bytes of the archive. None when its server
  // answered with an error, or with fewer bytes.
  std::optional<Slice> bytes;
};
// Errors of the index: kCorruption, or what the server said. `memory`: of the first read, if it is leased.
Task<ArchiveEnd> ReadArchiveEnd(CallContext call, ArchiveFilePtr file,
                                uint64_t first_bytes = ArchiveEndSearch::kFirstBytes,
                                ByteBudget::Lease memory = {});

}  // namespace xec

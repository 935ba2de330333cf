// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>

#include "placement/homes.hh"

namespace xec {

// What a chunk turned out to be when it was read.
enum class ChunkHealth { kGood, kMissing, kCorrupt, kUnavailable };

struct ChunkReport {
  uint64_t stripe = 0;
  uint32_t chunk = 0;
  uint64_t bytes = 0;
  MemberIndex server = std::numeric_limits<MemberIndex>::max();  // that: none has it
  std::string archive_path;  // on that server
  ChunkHealth health = ChunkHealth::kGood;
  // Unavailable though its server answers: it is not there, but a server that may know where it is does not
  // answer.
  bool doubted = false;
  int times_unread = 0;  // how often this reader could open its archive, but not read it
  std::string problem;  // one sentence unless good
};

using OnChunk = std::function<void(const ChunkReport&)>;

}  // namespace xec

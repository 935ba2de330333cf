// SPDX-License-Identifier: LGPL-3.0-or-later
// Which bytes and which files a client asks for. Pure: the same seed gives the same choice.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.hh"

namespace xec::load {

struct Piece {
  uint64_t offset = 0;
  uint32_t length = 0;
  bool operator==(const Piece&) const = default;
};

struct PieceOptions {
  uint64_t count = 1024;
  uint64_t length_min = 1;
  uint64_t length_max = 262'144;
  uint64_t span_bytes = 0;  // pieces lie between 0 and here
};

// `count` pieces in ascending order, none overlapping another: one anywhere in each `count`-th part of the
// span. REQUIRES 1 <= length_min <= length_max <= span_bytes / count.
std::vector<Piece> ChoosePieces(const PieceOptions& options, Random& random);

// `count` different numbers below `bound`, in random order. REQUIRES count <= bound.
std::vector<uint64_t> ChooseNumbers(uint64_t count, uint64_t bound, Random& random);

}  // namespace xec::load

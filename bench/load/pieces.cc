// SPDX-License-Identifier: LGPL-3.0-or-later
#include "load/pieces.hh"

#include <numeric>
#include <utility>

#include "base/check.hh"

namespace xec::load {

std::vector<Piece> ChoosePieces(const PieceOptions& options, Random& random) {
  const uint64_t part = options.span_bytes / options.count;
  XEC_CHECK(options.length_min >= 1 && options.length_min <= options.length_max &&
            options.length_max <= part);
  std::vector<Piece> pieces(options.count);
  for (uint64_t i = 0; i < options.count; ++i) {
    const uint64_t length = options.length_min + random.Below(options.length_max - options.length_min + 1);
    pieces[i] = {i * part + random.Below(part - length + 1), static_cast<uint32_t>(length)};
  }
  return pieces;
}

std::vector<uint64_t> ChooseNumbers(uint64_t count, uint64_t bound, Random& random) {
  XEC_CHECK(count <= bound, "{} of {}", count, bound);
  std::vector<uint64_t> numbers(bound);
  std::iota(numbers.begin(), numbers.end(), 0);
  for (uint64_t i = 0; i < count; ++i) std::swap(numbers[i], numbers[i + random.Below(bound - i)]);
  numbers.resize(count);
  return numbers;
}

}  // namespace xec::load

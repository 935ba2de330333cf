// SPDX-License-Identifier: LGPL-3.0-or-later
#include "codec/crc_combine.hh"

namespace xec {
namespace {

// Polynomials over GF(2) of degree below 32 are held reflected, as the CRCs are: the coefficient of x^0 is
// the top bit, so multiplying by x is a shift to the right.
constexpr uint32_t kPolynomial = 0x82f63b78;  // of CRC-32C
constexpr uint32_t kOne = 0x80000000;

constexpr uint32_t TimesX(uint32_t a) { return (a >> 1) ^ ((a & 1) != 0 ? kPolynomial : 0); }

constexpr uint32_t Multiply(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (uint32_t bit = kOne; bit != 0; bit >>= 1) {
    if ((a & bit) != 0) product ^= b;
    b = TimesX(b);
  }
  return product;
}

// x^(8 * bytes), by repeated squaring.
constexpr uint32_t PowerOfBytes(uint64_t bytes) {
  uint32_t square = kOne >> 8;  // x^8
  uint32_t power = kOne;
  for (; bytes != 0; bytes >>= 1) {
    if ((bytes & 1) != 0) power = Multiply(power, square);
    square = Multiply(square, square);
  }
  return power;
}

}  // namespace

uint32_t Crc32cCombine(uint32_t first, uint32_t second, uint64_t second_bytes) {
  return Multiply(first, PowerOfBytes(second_bytes)) ^ second;
}

Crc32cCombiner::Crc32cCombiner(uint64_t second_bytes) : second_bytes_(second_bytes) {
  const uint32_t power = PowerOfBytes(second_bytes);
  for (uint32_t byte = 0; byte < 4; ++byte) {
    tables_[byte][0] = 0;
    for (uint32_t value = 1; value < 256; ++value) {
      // Multiplication is linear: a value with several bits set is the sum of two that are known.
      const uint32_t rest = value & (value - 1);
      tables_[byte][value] = rest == 0 ? Multiply(value << (8 * byte), power)
                                       : tables_[byte][rest] ^ tables_[byte][value ^ rest];
    }
  }
}

}  // namespace xec

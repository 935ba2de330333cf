// SPDX-License-Identifier: LGPL-3.0-or-later
// What is in an object: bytes that depend on its path, the same in every process, so that whoever reads an
// object can tell whether it is the right one. All objects are windows on one table of pseudo-random bytes:
// writing needs no buffer, comparing runs at memory speed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace xec::load {

// The largest piece that can be written from the table at once.
constexpr uint64_t kPieceBytesMax = uint64_t{16} << 20;

// Thread-safe; cheap to make and to copy.
class Pattern {
 public:
  // The bytes repeat after so many: a prime, so that a chunk, a page or a stripe in the wrong place shows.
  static constexpr uint64_t kPeriodBytes = 1'048'583;

  // Makes the table, which else the first object does: call it before anything is measured.
  static void MakeTable();

  explicit Pattern(std::string_view path);

  // `length` <= kPieceBytesMax bytes of the object from `offset` on. Valid until the process ends.
  std::span<const std::byte> Bytes(uint64_t offset, uint64_t length) const;

  // Whether `bytes` (any number) are those of the object from `offset` on.
  bool Matches(uint64_t offset, std::span<const std::byte> bytes) const;

 private:
  uint64_t shift_;  // where in the table the object starts; < kPeriodBytes
};

}  // namespace xec::load

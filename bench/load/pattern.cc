// SPDX-License-Identifier: LGPL-3.0-or-later
#include "load/pattern.hh"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/check.hh"
#include "base/random.hh"

namespace xec::load {
namespace {

std::vector<std::byte> Fill() {
  std::vector<std::byte> table(Pattern::kPeriodBytes + kPieceBytesMax);
  Random random(1);
  for (uint64_t at = 0; at < Pattern::kPeriodBytes; at += sizeof(uint64_t)) {
    const uint64_t word = random.Next();
    std::memcpy(table.data() + at, &word, std::min<uint64_t>(sizeof(word), Pattern::kPeriodBytes - at));
  }
  for (uint64_t at = Pattern::kPeriodBytes; at < table.size(); at += Pattern::kPeriodBytes) {
    std::memcpy(table.data() + at, table.data(),
                std::min<uint64_t>(Pattern::kPeriodBytes, table.size() - at));
  }
  return table;
}

const std::vector<std::byte>& Table() {
  static const std::vector<std::byte> table = Fill();
  return table;
}

// FNV-1a, mixed: std::hash may differ between two builds.
uint64_t HashOf(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return Mix64(hash);
}

}  // namespace

void Pattern::MakeTable() { Table(); }

Pattern::Pattern(std::string_view path) : shift_(HashOf(path) % kPeriodBytes) {}

std::span<const std::byte> Pattern::Bytes(uint64_t offset, uint64_t length) const {
  XEC_CHECK(length <= kPieceBytesMax, "a piece of {} bytes", length);
  return std::span(Table()).subspan((offset + shift_) % kPeriodBytes, length);
}

bool Pattern::Matches(uint64_t offset, std::span<const std::byte> bytes) const {
  // By periods rather than all at once: one period of the table stays in the processor's cache.
  while (!bytes.empty()) {
    const auto piece = bytes.first(std::min<size_t>(bytes.size(), kPeriodBytes));
    if (std::memcmp(Bytes(offset, piece.size()).data(), piece.data(), piece.size()) != 0) return false;
    offset += piece.size();
    bytes = bytes.subspan(piece.size());
  }
  return true;
}

}  // namespace xec::load

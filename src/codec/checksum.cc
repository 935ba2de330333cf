// SPDX-License-Identifier: LGPL-3.0-or-later
#include "codec/checksum.hh"

#include <algorithm>

#include <isa-l.h>
#include <libdeflate.h>

namespace xec {
namespace {

const unsigned char* Data(ByteSpan bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }

// ISA-L's crc32_iscsi takes an int length.
constexpr size_t kIscsiPiece = size_t{1} << 30;

}  // namespace

uint32_t Crc32(ByteSpan bytes, uint32_t previous) {
  return crc32_gzip_refl(previous, Data(bytes), bytes.size());
}

uint32_t Crc32c(ByteSpan bytes, uint32_t previous) {
  // Unlike crc32_gzip_refl, crc32_iscsi works on the raw register: the complements are ours.
  uint32_t state = ~previous;
  while (!bytes.empty()) {
    const ByteSpan piece = bytes.first(std::min(bytes.size(), kIscsiPiece));
    state = crc32_iscsi(const_cast<unsigned char*>(Data(piece)), static_cast<int>(piece.size()),
                        state);  // NOLINT
    bytes = bytes.subspan(piece.size());
  }
  return ~state;
}

uint32_t Adler32(ByteSpan bytes, uint32_t previous) {
  // Without an address libdeflate answers its start value, whatever came before.
  if (bytes.empty()) return previous;
  return libdeflate_adler32(previous, bytes.data(), bytes.size());
}

void Cksum::Update(ByteSpan bytes) {
  complement_ = crc32_ieee(complement_, Data(bytes), bytes.size());
  length_bytes_ += bytes.size();
}

uint32_t Cksum::Value() const {
  unsigned char length[sizeof(length_bytes_)];
  size_t count = 0;
  for (uint64_t rest = length_bytes_; rest != 0; rest >>= 8)
    length[count++] = static_cast<unsigned char>(rest & 0xff);
  return crc32_ieee(complement_, length, count);
}

void PageChecksums(ByteSpan chunk, size_t page_size, std::span<uint32_t> out) {
  XEC_CHECK(page_size > 0);
  const size_t pages = chunk.size() / page_size + (chunk.size() % page_size != 0 ? 1 : 0);
  XEC_CHECK(out.size() == pages, "{} places for {} pages", out.size(), pages);
  for (uint32_t& crc : out) {
    const ByteSpan page = chunk.first(std::min(page_size, chunk.size()));
    crc = Crc32c(page);
    chunk = chunk.subspan(page.size());
  }
}

}  // namespace xec

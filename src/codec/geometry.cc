// SPDX-License-Identifier: LGPL-3.0-or-later
#include "codec/geometry.hh"

#include <algorithm>
#include <bit>
#include <optional>

#include "base/text.hh"

namespace xec {

Result<Geometry> Geometry::Parse(std::string_view text, uint64_t chunk_size_bytes) {
  const size_t plus = text.find('+');
  std::optional<uint64_t> k;
  std::optional<uint64_t> m;
  if (plus != std::string_view::npos) {
    k = ParseUint(text.substr(0, plus));
    m = ParseUint(text.substr(plus + 1));
  }
  // Bounded here so that the narrowing below cannot wrap; Validate() says the rest.
  if (!k || !m || *k > kChunksMax || *m > kChunksMax) {
    return Fail(Code::kInvalidArgument,
                "geometry '{}' is not of the form K+M (such as 8+2) with at most {} chunks", text,
                kChunksMax);
  }
  const Geometry geometry{static_cast<uint32_t>(*k), static_cast<uint32_t>(*m), chunk_size_bytes};
  XEC_TRY(geometry.Validate());
  return geometry;
}

Status Geometry::Validate() const {
  if (data_chunks < 1 || parity_chunks < 1) {
    return Fail(Code::kInvalidArgument, "geometry {} needs at least one data and one parity chunk",
                ToString());
  }
  if (data_chunks > kChunksMax || parity_chunks > kChunksMax || Total() > kChunksMax) {
    return Fail(Code::kInvalidArgument, "geometry {} has more than {} chunks in a stripe", ToString(),
                kChunksMax);
  }
  if (chunk_size_bytes < kChunkSizeMin || chunk_size_bytes > kChunkSizeMax ||
      chunk_size_bytes % kChunkSizeUnit != 0) {
    return Fail(Code::kInvalidArgument, "chunk size {} is not a multiple of {} from {} to {} bytes",
                chunk_size_bytes, kChunkSizeUnit, kChunkSizeMin, kChunkSizeMax);
  }
  return OkStatus();
}

std::string Geometry::ToString() const { return fmt::format("{}+{}", data_chunks, parity_chunks); }

uint64_t Geometry::StripeCount(uint64_t object_size) const {
  return object_size / StripeSize() + (object_size % StripeSize() != 0 ? 1 : 0);
}

uint64_t Geometry::StripeBytes(uint64_t object_size, uint64_t stripe) const {
  const uint64_t full_stripes = object_size / StripeSize();
  if (stripe < full_stripes) return StripeSize();
  return stripe == full_stripes ? object_size % StripeSize() : 0;
}

uint64_t Geometry::ChunkBytes(uint64_t object_size, uint64_t stripe, uint32_t chunk) const {
  XEC_CHECK(chunk < Total(), "chunk {} of {}", chunk, ToString());
  const uint64_t column = chunk < data_chunks ? chunk : 0;
  const uint64_t before = column * chunk_size_bytes;
  const uint64_t in_stripe = StripeBytes(object_size, stripe);
  return in_stripe <= before ? 0 : std::min(in_stripe - before, chunk_size_bytes);
}

uint64_t Geometry::PageSize() const {
  const uint64_t least = (chunk_size_bytes + kPagesPerChunkMax - 1) / kPagesPerChunkMax;
  return std::max(kPageSizeMin, std::bit_ceil(least));
}

uint64_t Geometry::PageCount(uint64_t chunk_bytes) const {
  return chunk_bytes / PageSize() + (chunk_bytes % PageSize() != 0 ? 1 : 0);
}

Result<Geometry> FitGeometry(Geometry wanted, uint64_t object_size) {
  XEC_TRY(wanted.Validate());
  while (wanted.StripeCount(object_size) > kMembersMax) {
    if (wanted.chunk_size_bytes == kChunkSizeMax) {
      return Fail(Code::kInvalidArgument,
                  "an object of {} bytes is too large for geometry {}: the limit is {} bytes", object_size,
                  wanted.ToString(), kMembersMax * wanted.StripeSize());
    }
    wanted.chunk_size_bytes = std::min(2 * wanted.chunk_size_bytes, kChunkSizeMax);
  }
  return wanted;
}

}  // namespace xec

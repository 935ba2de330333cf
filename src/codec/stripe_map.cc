// SPDX-License-Identifier: LGPL-3.0-or-later
#include "codec/stripe_map.hh"

#include <algorithm>

namespace xec {

uint64_t StripeMap::StripeCount() const {
  uint64_t stripes = 0;
  for (size_t i = 0; i < run_count(); ++i) stripes += run(i).count * geometry_.StripeCount(run(i).part_bytes);
  return stripes;
}

StripeExtent StripeMap::At(uint64_t offset) const {
  XEC_CHECK(offset < object_size_, "offset {} of {}", offset, object_size_);
  uint64_t run_begin = 0;
  for (size_t i = 0;; ++i) {
    const PartRun parts = run(i);
    const uint64_t run_bytes = parts.count * parts.part_bytes;
    if (offset - run_begin >= run_bytes) {
      run_begin += run_bytes;
      continue;
    }
    const uint64_t part = (offset - run_begin) / parts.part_bytes;
    const uint64_t part_begin = run_begin + part * parts.part_bytes;
    const uint64_t of_part = (offset - part_begin) / geometry_.StripeSize();
    return {parts.first_stripe + part * parts.step + of_part, part_begin + of_part * geometry_.StripeSize(),
            geometry_.StripeBytes(parts.part_bytes, of_part)};
  }
}

StripeExtent StripeMap::Of(uint64_t stripe) const {
  uint64_t run_begin = 0;
  for (size_t i = 0; i < run_count(); ++i) {
    const PartRun parts = run(i);
    if (stripe < parts.first_stripe) break;
    const uint64_t beyond = stripe - parts.first_stripe;
    const uint64_t part = parts.count == 1 ? 0 : std::min(beyond / parts.step, parts.count - 1);
    const uint64_t of_part = beyond - part * parts.step;
    const uint64_t bytes = geometry_.StripeBytes(parts.part_bytes, of_part);
    if (bytes > 0)
      return {stripe, run_begin + part * parts.part_bytes + of_part * geometry_.StripeSize(), bytes};
    run_begin += parts.count * parts.part_bytes;
  }
  return {stripe, 0, 0};
}

uint64_t StripeMap::ChunkBytes(uint64_t stripe, uint32_t chunk) const {
  return geometry_.ChunkBytes(Of(stripe).bytes, 0, chunk);
}

const char* CheckParts(const Geometry& geometry, uint64_t object_size, std::span<const PartRun> runs) {
  uint64_t bytes = 0, parts = 0, stripes = 0, stripe_min = 0;
  for (const PartRun& run : runs) {
    if (run.part_bytes == 0 || run.count == 0) return "a part is empty";
    if (run.count > kPartsMax - parts) return "it has too many parts";
    if (run.part_bytes > (object_size - bytes) / run.count) return "its parts are larger than the object";
    const uint64_t of_part = geometry.StripeCount(run.part_bytes);
    if (of_part > kMembersMax || of_part * run.count > kMembersMax - stripes)
      return "its parts have too many stripes";
    if (run.step < of_part || run.step > kStripeNumbersMax || run.first_stripe > kStripeNumbersMax)
      return "a stripe number of its parts is impossible";
    const uint64_t end = run.first_stripe + (run.count - 1) * run.step + of_part;
    if (run.first_stripe < stripe_min || end > kStripeNumbersMax)
      return "the stripe numbers of its parts do not ascend";
    bytes += run.part_bytes * run.count;
    parts += run.count;
    stripes += of_part * run.count;
    stripe_min = end;
  }
  return runs.empty() || bytes == object_size ? nullptr : "its parts are smaller than the object";
}

}  // namespace xec

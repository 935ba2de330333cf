// SPDX-License-Identifier: LGPL-3.0-or-later
// StripeMap: where the bytes of an object lie in its stripes. Pure arithmetic.
//
// An object is one part, or several that follow one another. Each part is coded for itself: it is cut into
// stripes as Geometry has it, the last one perhaps short, and its stripes are numbered from some number on.
// So stripe numbers are sparse, and stripes in the middle of the object may be short.
//
//   object     |<---- part 0 (5 MiB) ---->|<---- part 1 (5 MiB) ---->|<- part 2 (1 MiB) ->|    stripes of 2
//   MiB stripes      100     101    102 short   200     201    202 short   300 short
#pragma once

#include <cstdint>
#include <span>

#include "codec/geometry.hh"

namespace xec {

// Of one object. As many as S3 allows.
constexpr uint64_t kPartsMax = 10000;
// Stripe numbers are below this: they are parts of members' names.
constexpr uint64_t kStripeNumbersMax = uint64_t{1} << 32;

// `count` parts of the same size that follow one another in the object. The i-th has the stripes from
// first_stripe + i * step on.
struct PartRun {
  uint64_t first_stripe = 0;
  uint64_t part_bytes = 0;
  uint64_t count = 1;
  uint64_t step = 0;
  bool operator==(const PartRun&) const = default;
};

// What one stripe has of the object.
struct StripeExtent {
  uint64_t stripe = 0;
  uint64_t begin = 0;  // offset in the object
  uint64_t bytes = 0;  // at most Geometry::StripeSize()
  uint64_t end() const { return begin + bytes; }
  bool operator==(const StripeExtent&) const = default;
};

// A view: `runs` outlive it. All functions need CheckParts to hold.
class StripeMap {
 public:
  // Without runs the object is one part from stripe 0 on.
  StripeMap(const Geometry& geometry, uint64_t object_size, std::span<const PartRun> runs = {})
      : geometry_(geometry), object_size_(object_size), runs_(runs) {}

  const Geometry& geometry() const { return geometry_; }
  uint64_t object_size() const { return object_size_; }
  // Stripes that have bytes.
  uint64_t StripeCount() const;

  // The stripe that has the byte at `offset`, which lies within the object (CHECKed). All stripes in the
  // order of the object: At(0), then At(end()) of the one before.
  StripeExtent At(uint64_t offset) const;
  // 0 bytes for a stripe that the object does not have.
  StripeExtent Of(uint64_t stripe) const;
  // Size of a member, as Geometry::ChunkBytes.
  uint64_t ChunkBytes(uint64_t stripe, uint32_t chunk) const;

 private:
  size_t run_count() const { return runs_.empty() ? 1 : runs_.size(); }
  PartRun run(size_t i) const { return runs_.empty() ? PartRun{0, object_size_, 1, 0} : runs_[i]; }

  Geometry geometry_;
  uint64_t object_size_;
  std::span<const PartRun> runs_;
};

// What is wrong with the parts of an object of this size, as a clause; nullptr when nothing is. They have
// exactly the object's bytes, none is empty, stripe numbers ascend from part to part and are below
// kStripeNumbersMax; there are at most kPartsMax parts and kMembersMax stripes. The geometry is valid.
const char* CheckParts(const Geometry& geometry, uint64_t object_size, std::span<const PartRun> runs);

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// ExtentSet: which bytes of an object are meant, as ranges that neither touch nor overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace xec {

// Not thread-safe.
class ExtentSet {
 public:
  struct Extent {
    uint64_t begin = 0;
    uint64_t end = 0;  // behind the last byte
  };
  // What begins at an offset: bytes that are in the set, or none of which is, up to `end` (UINT64_MAX: no
  // more follow).
  struct Run {
    bool present = false;
    uint64_t end = 0;
  };

  void Add(uint64_t begin, uint64_t end);
  // Takes out what lies at `size` and beyond.
  void Cut(uint64_t size);

  Run At(uint64_t offset) const;
  // How many bytes of the range are not in the set.
  uint64_t Missing(uint64_t begin, uint64_t end) const;
  // Would the range be one with an extent that is there?
  bool Touches(uint64_t begin, uint64_t end) const;
  // Of those between two extents; the first of equal ones. Looks at all. Empty: there is none.
  Extent SmallestGap() const;

  bool empty() const { return extents_.empty(); }
  size_t count() const { return extents_.size(); }
  uint64_t bytes() const { return bytes_; }
  uint64_t begin() const { return extents_.empty() ? 0 : extents_.begin()->first; }
  uint64_t end() const { return extents_.empty() ? 0 : extents_.rbegin()->second; }

 private:
  std::map<uint64_t, uint64_t> extents_;  // end by begin
  uint64_t bytes_ = 0;
};

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "edit/extent_set.hh"

#include <algorithm>
#include <iterator>

namespace xec {

void ExtentSet::Add(uint64_t begin, uint64_t end) {
  if (begin >= end) return;
  bytes_ += Missing(begin, end);
  auto at = extents_.upper_bound(begin);
  if (at != extents_.begin() && std::prev(at)->second >= begin) --at;
  while (at != extents_.end() && at->first <= end) {
    begin = std::min(begin, at->first);
    end = std::max(end, at->second);
    at = extents_.erase(at);
  }
  extents_.emplace(begin, end);
}

void ExtentSet::Cut(uint64_t size) {
  while (!extents_.empty() && extents_.rbegin()->second > size) {
    const auto last = std::prev(extents_.end());
    bytes_ -= last->second - std::max(last->first, size);
    last->second = size;
    if (last->first >= size) extents_.erase(last);
  }
}

ExtentSet::Run ExtentSet::At(uint64_t offset) const {
  const auto next = extents_.upper_bound(offset);
  if (next != extents_.begin() && std::prev(next)->second > offset) return {true, std::prev(next)->second};
  return {false, next == extents_.end() ? UINT64_MAX : next->first};
}

uint64_t ExtentSet::Missing(uint64_t begin, uint64_t end) const {
  uint64_t missing = 0;
  while (begin < end) {
    const Run run = At(begin);
    const uint64_t until = std::min(run.end, end);
    if (!run.present) missing += until - begin;
    begin = until;
  }
  return missing;
}

bool ExtentSet::Touches(uint64_t begin, uint64_t end) const {
  const auto next = extents_.upper_bound(end);
  return next != extents_.begin() && std::prev(next)->second >= begin;
}

ExtentSet::Extent ExtentSet::SmallestGap() const {
  Extent smallest{0, UINT64_MAX};
  for (auto left = extents_.begin(); left != extents_.end(); ++left) {
    const auto right = std::next(left);
    if (right == extents_.end()) break;
    if (right->first - left->second < smallest.end - smallest.begin) smallest = {left->second, right->first};
  }
  return smallest.end == UINT64_MAX ? Extent() : smallest;
}

}  // namespace xec

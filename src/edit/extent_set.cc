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

ExtentSet::Extent ExtentSet::GapBeside(uint64_t offset) const {
  Extent smallest;
  const auto consider = [&](auto left, auto right) {
    const uint64_t bytes = right->first - left->second;
    if (smallest.end == 0 || bytes < smallest.end - smallest.begin) smallest = {left->second, right->first};
  };
  const auto next = extents_.upper_bound(offset);
  if (next == extents_.begin()) return smallest;
  const auto mine = std::prev(next);
  if (next != extents_.end()) consider(mine, next);
  if (mine != extents_.begin()) consider(std::prev(mine), mine);
  return smallest;
}

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "store/rebuild_queue.hh"

#include <algorithm>
#include <utility>

namespace xec {

uint64_t RebuildQueue::Begin(std::string path) {
  open_.emplace(next_, std::move(path));
  return next_++;
}

void RebuildQueue::Add(Object object) { waiting_.insert(std::move(object)); }

std::optional<RebuildQueue::Object> RebuildQueue::Take() {
  if (waiting_.empty()) return std::nullopt;
  return std::move(waiting_.extract(waiting_.begin()).value());
}

bool IsBefore(const std::string& path, const std::string& other) {
  // What is below a name comes before names that only begin like it. A path contains no NUL.
  const auto rank = [](char c) { return c == '/' ? 0 : static_cast<int>(static_cast<unsigned char>(c)); };
  return std::lexicographical_compare(path.begin(), path.end(), other.begin(), other.end(),
                                      [&](char a, char b) { return rank(a) < rank(b); });
}

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "runtime/buffer_pool.hh"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "base/check.hh"

namespace xec {
namespace {

constexpr size_t kStepsOfADoubling = 16;

constexpr size_t RoundUp(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

BufferPool::~BufferPool() {
  for (auto& [capacity, list] : free_) {
    for (std::byte* data : list) std::free(data);
  }
}

size_t BufferPool::CapacityFor(size_t bytes) {
  const size_t pages = RoundUp(std::max<size_t>(bytes, 1), kBufferAlignment);
  return RoundUp(pages, std::max(kBufferAlignment, std::bit_floor(pages) / kStepsOfADoubling));
}

size_t BufferPool::TogetherMax() const { return std::max(kAlwaysMax, in_use_max_); }

std::byte* BufferPool::TakeFrom(Lists::iterator list) {
  // The last one freed is likely to be in the processor's cache.
  std::byte* data = list->second.back();
  list->second.pop_back();
  kept_ -= list->first;
  if (list->second.empty()) free_.erase(list);
  return data;
}

std::byte* BufferPool::Take(size_t capacity) {
  std::vector<std::byte*> given_back;
  {
    MutexLock lock(mutex_);
    in_use_ += capacity;
    in_use_max_ = std::max(in_use_max_, in_use_);
    if (const auto list = free_.find(capacity); list != free_.end()) return TakeFrom(list);
    while (in_use_ + kept_ > TogetherMax() && !free_.empty())
      given_back.push_back(TakeFrom(std::prev(free_.end())));
  }
  for (std::byte* data : given_back) std::free(data);
  void* data = std::aligned_alloc(kBufferAlignment, capacity);
  XEC_CHECK(data != nullptr, "out of memory for a buffer of {} bytes", capacity);
  return static_cast<std::byte*>(data);
}

void BufferPool::Give(std::byte* data, size_t capacity) {
  std::vector<std::byte*> given_back;
  {
    MutexLock lock(mutex_);
    in_use_ -= capacity;
    free_[capacity].push_back(data);
    kept_ += capacity;
    // Rather those of another size, which nobody may want any more.
    while (kept_ > kKeptMax) {
      const auto largest = std::prev(free_.end());
      const bool other = largest->first != capacity || free_.size() == 1;
      given_back.push_back(TakeFrom(other ? largest : std::prev(largest)));
    }
  }
  for (std::byte* one : given_back) std::free(one);
}

size_t BufferPool::kept() const {
  MutexLock lock(mutex_);
  return kept_;
}

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// BufferPool: the memory of Buffers, kept for reuse when it is freed: page faults on fresh memory cost more
// than coding it.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "base/mutex.hh"
#include "base/units.hh"

namespace xec {

constexpr size_t kBufferAlignment = 4096;

// Thread-safe. No budget counts what is kept, so it takes no more than was in use before: what is in use and
// what is kept are together at most what was in use at once at any time, or kAlwaysMax; what is kept alone is
// at most kKeptMax. It is given back where fresh memory would exceed that.
class BufferPool {
 public:
  static constexpr size_t kAlwaysMax = 64 * kMiB;
  static constexpr size_t kKeptMax = 256 * kMiB;

  BufferPool() = default;
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;
  ~BufferPool();

  // How much memory a buffer of so many bytes takes: whole pages, and a sixteenth more at most, so that
  // buffers of almost the same size can take each other's place.
  static size_t CapacityFor(size_t bytes);

  // Uninitialised, aligned to kBufferAlignment. Aborts without memory: budgets are far below what machines
  // have. `capacity`: of CapacityFor.
  std::byte* Take(size_t capacity);
  void Give(std::byte* data, size_t capacity);

  size_t kept() const;

 private:
  using Lists = std::map<size_t, std::vector<std::byte*>>;

  size_t TogetherMax() const XEC_REQUIRES(mutex_);
  std::byte* TakeFrom(Lists::iterator list) XEC_REQUIRES(mutex_);

  mutable Mutex mutex_;
  Lists free_ XEC_GUARDED_BY(mutex_);  // by capacity, none empty
  size_t kept_ XEC_GUARDED_BY(mutex_) = 0;
  size_t in_use_ XEC_GUARDED_BY(mutex_) = 0;
  size_t in_use_max_ XEC_GUARDED_BY(mutex_) = 0;
};

}  // namespace xec

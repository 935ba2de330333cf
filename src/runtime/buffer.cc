// SPDX-License-Identifier: LGPL-3.0-or-later
#include "runtime/buffer.hh"

#include <bit>
#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

namespace xec {
namespace {

// Freed memory kept for reuse: page faults on fresh memory cost more than coding it. Bounded, and given back
// for fresh memory of another size: no budget counts what lies here.
constexpr size_t kPooledBytesMax = 64 * 1024 * 1024;
constexpr size_t kPooledBufferMax = 32 * 1024 * 1024;

class Pool {
 public:
  std::byte* Take(size_t capacity) {
    std::vector<std::byte*> given_back;
    {
      std::lock_guard lock(mutex_);
      if (const auto list = free_.find(capacity); list != free_.end()) return TakeFrom(list);
      for (size_t bytes = 0; bytes < capacity && !free_.empty();) {
        const auto largest = std::prev(free_.end());
        bytes += largest->first;
        given_back.push_back(TakeFrom(largest));
      }
    }
    for (std::byte* data : given_back) std::free(data);
    void* data = std::aligned_alloc(kBufferAlignment, capacity);
    XEC_CHECK(data != nullptr, "out of memory for a buffer of {} bytes", capacity);
    return static_cast<std::byte*>(data);
  }

  void Give(std::byte* data, size_t capacity) {
    {
      std::lock_guard lock(mutex_);
      if (capacity <= kPooledBufferMax && pooled_ + capacity <= kPooledBytesMax) {
        free_[capacity].push_back(data);
        pooled_ += capacity;
        return;
      }
    }
    std::free(data);
  }

 private:
  using Lists = std::map<size_t, std::vector<std::byte*>>;

  std::byte* TakeFrom(Lists::iterator list) {
    std::byte* data = list->second.back();
    list->second.pop_back();
    pooled_ -= list->first;
    if (list->second.empty()) free_.erase(list);
    return data;
  }

  std::mutex mutex_;
  Lists free_;         // by capacity, none empty; guarded by mutex_
  size_t pooled_ = 0;                               // guarded by mutex_
};

Pool& ThePool() {
  static Pool* pool = new Pool;  // never destroyed: buffers may outlive static destruction
  return *pool;
}

}  // namespace

std::shared_ptr<Buffer> Buffer::Allocate(size_t bytes, ByteBudget::Lease lease) {
  const size_t pages = (std::max<size_t>(bytes, 1) + kBufferAlignment - 1) / kBufferAlignment;
  const size_t capacity = pages * kBufferAlignment;
  return std::shared_ptr<Buffer>(new Buffer(ThePool().Take(capacity), bytes, capacity, std::move(lease)));
}

Buffer::~Buffer() { ThePool().Give(data_, capacity_); }

Slice Slice::Copy(ByteSpan bytes) {
  auto buffer = Buffer::Allocate(bytes.size());
  if (!bytes.empty()) std::memcpy(buffer->data(), bytes.data(), bytes.size());
  return Slice(std::move(buffer));
}

}  // namespace xec

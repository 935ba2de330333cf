// SPDX-License-Identifier: LGPL-3.0-or-later
// Buffer: page-aligned memory with shared ownership, and Slice: a view of part of it that keeps it alive.
// Payload is never copied between layers: a chunk is a Slice of its stripe's Buffer, and a request that was
// given up on keeps its Slice (and with it the budget lease) until the library lets go.
#pragma once

#include <cstddef>
#include <memory>

#include "base/bytes.hh"
#include "runtime/buffer_pool.hh"
#include "runtime/byte_budget.hh"

namespace xec {

class Buffer {
 public:
  // Uninitialised memory, aligned to kBufferAlignment, recycled through a process-wide BufferPool. The lease
  // (possibly empty) is released when the last owner lets go. Never null: out of memory aborts, since the
  // budget is far below what the machine has.
  static std::shared_ptr<Buffer> Allocate(size_t bytes, ByteBudget::Lease lease = {});
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer();

  std::byte* data() { return data_; }
  size_t size() const { return size_; }
  MutableByteSpan span() { return {data_, size_}; }
  uint64_t leased_bytes() const { return lease_.bytes(); }

 private:
  Buffer(std::byte* data, size_t size, size_t capacity, ByteBudget::Lease lease)
      : data_(data), size_(size), capacity_(capacity), lease_(std::move(lease)) {}

  std::byte* data_;
  size_t size_;
  size_t capacity_;
  ByteBudget::Lease lease_;
};

struct Slice {
  std::shared_ptr<Buffer> buffer;
  size_t offset = 0;
  size_t length = 0;

  Slice() = default;
  Slice(std::shared_ptr<Buffer> owner, size_t from, size_t bytes)
      : buffer(std::move(owner)), offset(from), length(bytes) {}
  explicit Slice(std::shared_ptr<Buffer> whole) : buffer(std::move(whole)), length(buffer->size()) {}
  // A copy of `text` in a buffer of its own, for small records.
  static Slice Copy(ByteSpan bytes);

  MutableByteSpan span() const {
    return length == 0 ? MutableByteSpan{} : MutableByteSpan{buffer->data() + offset, length};
  }
  Slice Sub(size_t from, size_t bytes) const {
    XEC_CHECK(from + bytes <= length);
    return Slice(buffer, offset + from, bytes);
  }
};

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "runtime/buffer.hh"

#include <cstring>

namespace xec {
namespace {

BufferPool& ThePool() {
  static auto* pool = new BufferPool;  // never destroyed: buffers may outlive static destruction
  return *pool;
}

}  // namespace

std::shared_ptr<Buffer> Buffer::Allocate(size_t bytes, ByteBudget::Lease lease) {
  const size_t capacity = BufferPool::CapacityFor(bytes);
  return std::shared_ptr<Buffer>(new Buffer(ThePool().Take(capacity), bytes, capacity, std::move(lease)));
}

Buffer::~Buffer() { ThePool().Give(data_, capacity_); }

Slice Slice::Copy(ByteSpan bytes) {
  auto buffer = Buffer::Allocate(bytes.size());
  if (!bytes.empty()) std::memcpy(buffer->data(), bytes.data(), bytes.size());
  return Slice(std::move(buffer));
}

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// The C library's allocator in processes that live for weeks.
#pragma once

#include <malloc.h>

namespace xec {

// Blocks of this size, in bytes, and larger ones are mapped on their own and go back to the system when they
// are freed. glibc raises its limit to 32 MiB by itself as soon as large blocks are freed; buffers of up to
// 2 MiB then lie scattered over its arenas, which keep a third more than is in use (test_memory.py).
constexpr int kMappedBlockBytes = 512 << 10;
// glibc makes up to eight arenas for each core, each of which keeps what it once had.
constexpr int kArenasMax = 4;

// Before threads are started.
inline void MapLargeBlocks() { mallopt(M_MMAP_THRESHOLD, kMappedBlockBytes); }
// In a process whose threads are all ours.
inline void LimitArenas() { mallopt(M_ARENA_MAX, kArenasMax); }

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// Requests to data servers by what their latencies are comparable with.
#pragma once

#include <cstddef>
#include <cstdint>

namespace xec {

enum class RequestKind {
  kMetadata,   // listings, opens, renames, removals, directories, attributes
  kReadSmall,  // up to kSmallReadBytesMax: some pages, ends of archives
  kRead,       // up to kReadBytesMax: chunks of usual sizes
  kReadLarge,
  kWrite,
  kSync,  // sync and close: they wait for the disk
};
constexpr size_t kRequestKindCount = 6;
constexpr uint64_t kSmallReadBytesMax = uint64_t{128} << 10;
constexpr uint64_t kReadBytesMax = uint64_t{2} << 20;
// Of a read of so many bytes.
RequestKind ReadKindOf(uint64_t bytes);

}  // namespace xec

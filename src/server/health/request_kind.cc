// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/health/request_kind.hh"

namespace xec {

RequestKind ReadKindOf(uint64_t bytes) {
  if (bytes <= kSmallReadBytesMax) return RequestKind::kReadSmall;
  return bytes <= kReadBytesMax ? RequestKind::kRead : RequestKind::kReadLarge;
}

}  // namespace xec

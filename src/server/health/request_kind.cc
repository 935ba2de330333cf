// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/health/request_kind.hh"

namespace xec {

RequestKind ReadKindOf(uint64_t bytes) {
  if (bytes <= kSmallReadBytesMax) return RequestKind::kReadSmall;
  return bytes <= kReadBytesMax ? RequestKind::kRead : RequestKind::kReadLarge;
}

const char* RequestKindName(RequestKind kind) {
  switch (kind) {
    case RequestKind::kMetadata: return "metadata";
    case RequestKind::kReadSmall: return "small read";
    case RequestKind::kRead: return "read";
    case RequestKind::kReadLarge: return "large read";
    case RequestKind::kWrite: return "write";
    case RequestKind::kSync: return "sync";
  }
  return "?";
}

}  // namespace xec

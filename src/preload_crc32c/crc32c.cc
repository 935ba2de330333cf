// SPDX-License-Identifier: LGPL-3.0-or-later
#include <cstddef>
#include <cstdint>

#include "codec/checksum.hh"

// As libXrdUtils declares it: XrdOuc/XrdOucCRC32C.hh of XRootD, which is not installed with its headers.
uint32_t crc32c(uint32_t crc, const void* buffer, size_t size) {
  return xec::Crc32c(xec::ByteSpan(static_cast<const std::byte*>(buffer), size), crc);
}

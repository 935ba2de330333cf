// SPDX-License-Identifier: LGPL-3.0-or-later
// Any bytes as a store descriptor and as the identity of a server. What parses must be written again and then
// parse to the same value.
#include <cstdint>
#include <string_view>

#include "base/check.hh"
#include "placement/store_descriptor.hh"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto descriptor = xec::ParseDescriptor(text)) {
    const auto same = xec::ParseDescriptor(xec::FormatDescriptor(*descriptor));
    XEC_CHECK(same.has_value(), "{}", same.error().message);
    XEC_CHECK(*same == *descriptor);
  }
  if (const auto identity = xec::ParseIdentity(text)) {
    const auto same = xec::ParseIdentity(xec::FormatIdentity(identity->store_id, identity->member_id));
    XEC_CHECK(same && same->store_id == identity->store_id && same->member_id == identity->member_id);
  }
  return 0;
}

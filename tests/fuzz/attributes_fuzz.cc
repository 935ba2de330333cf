// SPDX-License-Identifier: LGPL-3.0-or-later
// Any bytes as a file of user attributes. What parses must be written again and then parse to the same value,
// and merging it with itself changes nothing.
#include <cstdint>
#include <string_view>

#include "base/check.hh"
#include "protocol/attribute_set.hh"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (auto set = xec::AttributeSet::Parse(text)) {
    // Written anew, every byte is encoded that may be: it may be longer than what was read.
    const std::string written = set->Format();
    if (written.size() <= xec::kAttributeSetBytesMax) {
      const auto same = xec::AttributeSet::Parse(written);
      XEC_CHECK(same && *same == *set);
    }
    xec::AttributeSet twice = *set;
    twice.Merge(*set);
    XEC_CHECK(twice == *set);
  }
  return 0;
}

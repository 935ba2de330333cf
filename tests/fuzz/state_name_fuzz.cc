// SPDX-License-Identifier: LGPL-3.0-or-later
// Any bytes as the name of an entry of an object directory. What is taken for a state has this name and no
// other.
#include <cstdint>
#include <string_view>

#include "base/check.hh"
#include "protocol/state_name.hh"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view name(reinterpret_cast<const char*>(data), size);
  if (const auto state = xec::ParseState(name)) XEC_CHECK(xec::FormatState(*state) == name);
  return 0;
}

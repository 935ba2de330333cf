// SPDX-License-Identifier: LGPL-3.0-or-later
// Any bytes as a configuration file. What parses must be restored by its own directives.
#include <cstdint>
#include <string_view>

#include "assembly/configuration/configuration_file.hh"
#include "assembly/configuration/options.hh"
#include "base/check.hh"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto first = xec::ParseConfiguration(text, "fuzz");
  if (!first) {
    XEC_CHECK(first.code() == xec::Code::kInvalidArgument);
    return 0;
  }
  const std::string directives = xec::FormatDirectives(*first);
  const auto second = xec::ParseConfiguration(directives, "again");
  XEC_CHECK(second.has_value(), "{}", second.error().message);
  XEC_CHECK(xec::FormatDirectives(*second) == directives);
  return 0;
}

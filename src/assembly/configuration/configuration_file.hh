// SPDX-License-Identifier: LGPL-3.0-or-later
// A configuration from the `xec.` directives of an xrootd configuration file. Parsing is pure but for the
// reading of the file.
#pragma once

#include <string>
#include <string_view>

#include "assembly/configuration/configuration.hh"
#include "base/result.hh"

namespace xec {

constexpr size_t kConfigurationBytesMax = 1024 * 1024;
constexpr size_t kConfigurationLineMax = 16 * 1024;

// Reads the `xec.` lines of `text`; other lines are ignored. `name` is for messages. Errors:
// kInvalidArgument, "NAME:LINE: ...". Calls Validate.
Result<Configuration> ParseConfiguration(std::string_view text, std::string_view name);

// The same from a file of at most kConfigurationBytesMax. Also kNotFound, kPermissionDenied.
Result<Configuration> ParseConfigurationFile(const std::string& path);

}  // namespace xec

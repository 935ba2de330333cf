// SPDX-License-Identifier: LGPL-3.0-or-later
// The one table of options: each row is the directive `xec.<name> VALUE` of a configuration file, the flag
// `--<name> VALUE` of the program, and a section of docs/configuration.md.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "assembly/configuration/option_row.hh"

namespace xec {

std::span<const OptionRow> OptionTable();
const OptionRow* FindOption(std::string_view name);

// "ADDRESS", or "ADDRESS,host=NAME". Error: kInvalidArgument.
Result<Site> ParseSite(std::string_view text);

// Sets one option; `where` ("line 3", "--geometry") goes into given. Errors: kInvalidArgument: bad value, or
// a second value for an option that does not repeat.
Status SetOption(Configuration& configuration, std::string_view name, std::string_view value,
                 std::string where);

// The directives that restore `configuration`, one a line.
std::string FormatDirectives(const Configuration& configuration);

}  // namespace xec

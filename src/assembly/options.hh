// SPDX-License-Identifier: LGPL-3.0-or-later
// The one table of options: each row is the directive `xec.<name> VALUE` of a configuration file, the flag
// `--<name> VALUE` of the program, and a section of docs/configuration.md.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assembly/configuration.hh"

namespace xec {

enum class OptionGroup { kStore, kGateway, kLimits };

struct OptionRow {
  std::string_view name;      // "chunk-size"
  std::string_view argument;  // "SIZE"
  std::string_view initial;   // the default in words; "" = none
  std::string_view help;      // one sentence
  OptionGroup group;
  bool repeats;
  // Sets the value in the configuration; `value` is trimmed, not empty. Errors: kInvalidArgument.
  Status (*set)(Configuration& configuration, std::string_view value);
  // The value as text, one for each repetition, such that set() restores it; empty when it is the default.
  std::vector<std::string> (*get)(const Configuration& configuration);
};

std::span<const OptionRow> OptionTable();
const OptionRow* FindOption(std::string_view name);

// Sets one option; `where` ("line 3", "--geometry") goes into given. Errors: kInvalidArgument: bad value, or
// a second value for an option that does not repeat.
Status SetOption(Configuration& configuration, std::string_view name, std::string_view value,
                 std::string where);

// The directives that restore `configuration`, one a line.
std::string FormatDirectives(const Configuration& configuration);

}  // namespace xec

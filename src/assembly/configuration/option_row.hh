// SPDX-License-Identifier: LGPL-3.0-or-later
// What the table of options knows of each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "assembly/configuration/configuration.hh"

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

}  // namespace xec

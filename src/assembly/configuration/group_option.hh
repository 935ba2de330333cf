// SPDX-License-Identifier: LGPL-3.0-or-later
// The option `group`: a row of the table in options.cc.
#pragma once

#include "assembly/configuration/configuration.hh"

namespace xec {

// "NAME PATH [QUOTA]". Error: kInvalidArgument.
Status SetGroup(Configuration& configuration, std::string_view value);
std::vector<std::string> GetGroups(const Configuration& configuration);

}  // namespace xec

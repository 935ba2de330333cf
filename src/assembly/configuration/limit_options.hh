// SPDX-License-Identifier: LGPL-3.0-or-later
// The rows of OptionTable for the bounds of the engine.
#pragma once

#include <vector>

#include "assembly/configuration/option_row.hh"

namespace xec {

std::vector<OptionRow> LimitRows();

}  // namespace xec

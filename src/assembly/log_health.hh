// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once

#include "commit/engine/engine.hh"

namespace xec {

// Every change of a server's state becomes a line of the log. Also after the engine has gone.
void LogHealth(Engine& engine);

}  // namespace xec

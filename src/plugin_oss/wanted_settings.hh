// SPDX-License-Identifier: LGPL-3.0-or-later
// The settings that a client wants for what it makes. Clients send a mode whether anybody asked for one or
// not, so those that they send by themselves are no wish, and nothing is kept of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <sys/types.h>

#include "base/result.hh"
#include "protocol/settings.hh"

namespace xec {

// Of a new object: what `xec.settings` says behind its name (FormatSettings; opaque.hh), else the mode of the
// open. `mode` may have other bits. Error: kInvalidArgument.
Result<Settings> SettingsWanted(std::string_view opaque, mode_t mode);

// Of a new directory; none: as any.
std::optional<uint16_t> DirectoryModeWanted(mode_t mode);

}  // namespace xec

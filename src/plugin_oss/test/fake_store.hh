// SPDX-License-Identifier: LGPL-3.0-or-later
// The store in a map, for gateways.
#pragma once

#include "api/test/fake_store.hh"
#include "plugin_oss/upload_line.hh"

namespace xec {

// Opens of uploads without memory are answered at once.
constexpr UploadLine::Patience kHardlyAny = {.alone = std::chrono::milliseconds(1),
                                             .beside_others = std::chrono::milliseconds(1)};

}  // namespace xec

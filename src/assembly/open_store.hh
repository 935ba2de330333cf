// SPDX-License-Identifier: LGPL-3.0-or-later
// From a configuration to a running store: finds the data servers, checks that they belong together, makes a
// new store where there is none, and starts what works in the background. docs/configuration.md, "Opening a
// store".
#pragma once

#include <memory>

#include "assembly/opened_store.hh"

namespace xec {

// Blocking; not on an engine thread. Errors: kInvalidArgument, kPermissionDenied, kNotFound (no store here),
// kConflict (data servers that do not belong together), kUnsupported (newer format), kNoQuorum, kCorruption.
Result<std::unique_ptr<OpenedStore>> OpenStore(Configuration configuration, OpenOptions options);

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// What is told with a name though it is an attribute: settings that were changed since it was made
// (protocol/settings.hh).
#pragma once

#include "api/object_info.hh"
#include "commit/engine/names.hh"
#include "protocol/attribute_set.hh"

namespace xec {

// Adds what the attributes say to what is told of their name.
void TellSet(const UserAttributes& values, ObjectInfo& told);

// Adds it to `told`, and answers that. Costs requests only where the look of `info` does not tell it. Where
// it cannot be read now it is not known.
Task<ObjectInfo> TellAttributes(Engine& engine, NameInfo info, ObjectInfo told);

}  // namespace xec

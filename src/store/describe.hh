// SPDX-License-Identifier: LGPL-3.0-or-later
// Parts of a description that both layouts put together alike.
#pragma once

#include "api/object_info.hh"
#include "archive/manifest.hh"
#include "protocol/attribute_set.hh"

namespace xec {

// What the version was written with.
void Describe(Manifest manifest, ObjectDescription& all);
// What was set for it since: it stands in place of the attributes it was written with.
void DescribeSet(UserAttributes values, ObjectDescription& all);

}  // namespace xec

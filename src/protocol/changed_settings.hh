// SPDX-License-Identifier: LGPL-3.0-or-later
// What listings tell of settings that were changed since a version was made (docs/protocol/attributes.md,
// "Settings in names"). Pure.
#pragma once

#include "protocol/look.hh"

namespace xec {

// nullopt: only the files of the attributes can tell. Else nothing that was told or said to be done before
// the listings were asked for is missing; of what is being changed meanwhile it tells all or nothing.
// `quorum`: of the homes of the name.
std::optional<Settings> ChangedSettings(const std::map<MemberIndex, States>& listings, const Version& version,
                                        size_t quorum);

}  // namespace xec

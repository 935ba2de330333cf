// SPDX-License-Identifier: LGPL-3.0-or-later
// The changes of the list of members that operators ask for.
#pragma once

#include "assembly/members/member_tools.hh"

namespace xec {

// As StoreMaintenance::ChangeServers.
Task<Result<std::string>> ChangeServers(MemberTools tools, ChangeOptions options);

}  // namespace xec

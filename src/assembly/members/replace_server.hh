// SPDX-License-Identifier: LGPL-3.0-or-later
// The replacement of a member whose disk is lost: another disk gets its identity.
#pragma once

#include "assembly/members/member_tools.hh"

namespace xec {

// As StoreMaintenance::ReplaceServer and CompareDisk.
Task<Result<ReplacedServer>> ReplaceServer(MemberTools tools, ReplaceOptions options);
Task<Status> CompareDisk(MemberTools tools, MemberIndex member, CompareProgress progress);

}  // namespace xec

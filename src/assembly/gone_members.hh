// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once

#include <memory>
#include <vector>

#include "assembly/configuration/configuration.hh"
#include "placement/homes.hh"
#include "runtime/task.hh"
#include "server/decorators/completion_gate.hh"

namespace xec {

// Which members have lost all they had: told from what their places show, never from silence. All references
// outlive the task; what is late goes on in `scope`.
Task<std::vector<MemberIndex>> FindGoneMembers(const std::vector<Member>& members,
                                               const Configuration& configuration, Executor& executor,
                                               TaskScope& scope, std::shared_ptr<CompletionGate> gate);

}  // namespace xec

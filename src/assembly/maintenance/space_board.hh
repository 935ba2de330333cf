// SPDX-License-Identifier: LGPL-3.0-or-later
// What the processes of a store tell each other of its space: it stands beside their jobs on the job board.
#pragma once

#include "assembly/maintenance/job_board.hh"
#include "space/space_ledger.hh"

namespace xec {

// How old what a process knows of the others may become.
constexpr Duration kSpaceHeardInterval = std::chrono::seconds(30);

// Reads what all of them told last into the ledger. Error: kNoQuorum, too few servers were heard; then it may
// be what some told before.
Task<Status> HearOfSpace(Engine& engine, SpaceLedger& ledger);
// The same, of a board that was read just now.
Task<Status> HearOfSpace(Engine& engine, SpaceLedger& ledger, JobBoard board);

// The groups with what they use. Error: kNoQuorum.
Task<Result<std::vector<GroupUse>>> AskGroups(Engine& engine, std::vector<SpaceGroup> groups);

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// The commands of `xec`. Each prints its results on standard output and answers its exit code; an error is
// returned and printed by main. All block.
#pragma once

#include "assembly/open_store.hh"
#include "cli/command_line.hh"
#include "cli/exit_code.hh"

namespace xec {

Result<int> RunPut(const CommandLine& line, OpenedStore& store);
Result<int> RunGet(const CommandLine& line, OpenedStore& store);  // get and cat
Result<int> RunList(const CommandLine& line, OpenedStore& store);
Result<int> RunStat(const CommandLine& line, OpenedStore& store);
Result<int> RunRemove(const CommandLine& line, OpenedStore& store);
Result<int> RunMove(const CommandLine& line, OpenedStore& store);
Result<int> RunMakeDirectory(const CommandLine& line, OpenedStore& store);
Result<int> RunLocate(const CommandLine& line, OpenedStore& store);
Result<int> RunVerify(const CommandLine& line, OpenedStore& store);
Result<int> RunRepair(const CommandLine& line, OpenedStore& store);
Result<int> RunBalance(const CommandLine& line, OpenedStore& store);
Result<int> RunClean(const CommandLine& line, OpenedStore& store);
Result<int> RunSpace(const CommandLine& line, OpenedStore& store);
Result<int> RunJobs(const CommandLine& line, OpenedStore& store);
Result<int> RunServer(const CommandLine& line, OpenedStore& store);
Result<int> RunHealth(const CommandLine& line, OpenedStore& store);
Result<int> RunPlan(const CommandLine& line, OpenedStore& store);

Result<int> RunLostByWalk(const CommandLine& line, OpenedStore& store);

// Without a store.
Result<int> RunLost(const CommandLine& line);
Result<int> RunPlanDescribed(const CommandLine& line);
Result<int> RunDoctor(const CommandLine& line);
Result<int> RunConfig(const CommandLine& line);
Result<int> RunRecover(const CommandLine& line);
Result<int> RunServe(CommandLine line);
Result<int> RunMount(CommandLine line);
Result<int> RunMountStatus(const CommandLine& line);
Result<int> RunMountFlush(const CommandLine& line);

}  // namespace xec

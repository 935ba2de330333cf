// SPDX-License-Identifier: LGPL-3.0-or-later
// What `xec jobs` and `xec health` tell of jobs.
#pragma once

#include "api/store_maintenance.hh"
#include "cli/json_output.hh"

namespace xec {

// Has the process told of its jobs lately?
bool Runs(const JobsTold& told, const ProcessRecord& record);
bool AnyRuns(const JobsTold& told);

// "120 of 500 objects, at /a/b"; "" = there is nothing to tell.
std::string ProgressWords(const JobReport& job);
Json JobJson(const JobReport& job);

}  // namespace xec

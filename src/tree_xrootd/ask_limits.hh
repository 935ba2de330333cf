// SPDX-License-Identifier: LGPL-3.0-or-later
// For how long a mount waits for XRootD servers.
#pragma once

#include "runtime/executor.hh"

namespace xec {

// For how long a request of a mount may take, its time in lines of ours included.
constexpr Duration kAnswerLimit = std::chrono::seconds(20);
// For how long data may take: servers may sync megabytes, or wake a disk.
constexpr Duration kDataLimit = std::chrono::seconds(60);

}  // namespace xec

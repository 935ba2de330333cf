// SPDX-License-Identifier: LGPL-3.0-or-later
// For how long a mount waits for XRootD servers.
#pragma once

#include "runtime/executor.hh"

namespace xec {

// For how long a request of a mount may take, its time in lines of ours included.
constexpr Duration kAnswerLimit = std::chrono::seconds(20);
// For how long data may take: servers may sync megabytes, or wake a disk.
constexpr Duration kDataLimit = std::chrono::seconds(60);
// A server that is started anew refuses connections for a moment. A request to it is sent again for so long,
// with such pauses.
constexpr Duration kRestartLimit = std::chrono::seconds(8);
constexpr Duration kRestartPause = std::chrono::milliseconds(200);

}  // namespace xec

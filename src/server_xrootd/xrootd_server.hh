// SPDX-License-Identifier: LGPL-3.0-or-later
// DataServer over the root protocol: archives on a vanilla XRootD data server (design.md, decisions 3 and 13).
// No header of XRootD is visible here.
#pragma once

#include <string>
#include <vector>

#include "base/result.hh"
#include "runtime/executor.hh"
#include "runtime/task.hh"
#include "server/data_server.hh"

namespace xec {

struct XrootdServerOptions {
  // "root://host:port" or "root://host:port//prefix": all paths are below the prefix. A user name in it is
  // ignored. Use an address, or a name that resolves locally: XrdCl resolves names on the calling thread.
  std::string url;
  // Runs all completions; must outlive the returned server.
  Executor* executor = nullptr;
};

// A handle on one data server; no request is sent before the first operation. Error: kInvalidArgument for a
// URL that is none.
//
// Lifetime: completions run while the returned object exists. When it is destroyed, requests still in flight
// keep their own buffers and connections until the server or the deadline ends them, but their `done` is
// destroyed without being called. So whoever waits without a deadline keeps the server alive; files opened
// through it are not to be used any more.
//
// Beyond the contract of DataServer:
//  * Names: all bytes but 0, '/', '\n' and '?', which are refused with kInvalidArgument.
//  * Rename never answers kNotFound when the target exists, since XrdCl may have sent the request twice over a
//    broken connection; it answers kUnavailable ("may have happened").
//  * Remove and RemoveDirectory may answer kNotFound for what this very call removed, for the same reason.
//  * kNotFound is only as good as the server's exports: that the server is the right one is for the store
//    descriptor to prove.
Result<DataServerPtr> MakeXrootdServer(XrootdServerOptions options);

// The data servers below a redirector as "host:port", sorted, without duplicates. IPv4 addresses that the
// redirector prints as "[::127.0.0.1]:1094" are given as "127.0.0.1:1094". A data server's own URL lists itself.
// Only for discovery: a server that is down is simply missing. Errors: kUnavailable, kDeadlineExceeded.
Task<Result<std::vector<std::string>>> DiscoverServers(std::string url, Executor& executor, TimePoint deadline);

}  // namespace xec

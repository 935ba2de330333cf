// SPDX-License-Identifier: LGPL-3.0-or-later
// DataServer over the root protocol: archives on a vanilla XRootD data server. No header of XRootD is visible
// here.
#pragma once

#include <cstdint>
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
  // Renames, new directories and attributes are on the server's disk before they are answered (name_sync.hh).
  bool sync_names = false;
};

// Longest name of a file or directory: that of the file systems below. Stock servers list 254 bytes of it
// (listing.hh).
constexpr uint64_t kXrootdNameBytesMax = 255;

// A handle on one data server; no request is sent before the first operation. Error: kInvalidArgument for a
// URL that is none.
//
// Lifetime: completions run while the returned object or a file opened through it exists. Then requests still
// in flight keep their own buffers and connections until the server or the deadline ends them, but their
// `done` is destroyed without being called. An executor that goes needs AbandonXrootdRequests first.
//
// Where stock servers and XrdCl leave less than the contract of DataServer promises:
//  * Names: all bytes but 0, '/', '\n' and '?', at most kXrootdNameBytesMax; others are refused
//  (kInvalidArgument).
//  * List is one request, and further ones for entries of 254 bytes (listing.hh).
//  * A name that anybody has open under its old path cannot be created anew (kAlreadyExists), even when the
//  file
//    was renamed or removed meanwhile: servers share handles by path. The engine never uses a name twice.
//  * RemoveDirectory of a missing directory is OK.
//  * XrdCl sends a request again when its connection breaks before the answer. So Rename never answers
//  kNotFound
//    when the target exists, but kUnknown ("may have happened"), at the price of one stat; Remove may
//    answer kNotFound for what this very call removed.
//  * kNotFound is only as good as the server's exports: that it is the right server is for IdentityGuard to
//  prove.
Result<DataServerPtr> MakeXrootdServer(XrootdServerOptions options);

// From when this returns, no request of this layer uses the executor: answers still to come are dropped. Call
// it before an executor is destroyed that xrootd servers were made with, since a server that hangs may keep
// requests in flight for seconds.
void AbandonXrootdRequests(const Executor& executor);

// The data servers below a redirector as "host:port", sorted, without duplicates. IPv4 addresses that the
// redirector prints as "[::127.0.0.1]:1094" are given as "127.0.0.1:1094". A data server's own URL lists
// itself. Only for discovery: a server that is down is simply missing. Errors: kUnavailable,
// kDeadlineExceeded.
Task<Result<std::vector<std::string>>> DiscoverServers(std::string url, Executor& executor,
                                                       TimePoint deadline);

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// How XrdCl is made to behave within our time limits.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hh"
#include "runtime/executor.hh"
#include "xrdcompat/version.hh"

namespace xec {

// Process-wide defaults that XrdCl offers in no other way; applied once, before its first use. What the user
// has set with XRD_* variables wins (XrdCl sees to that).
void ApplyClientSettings();

struct ServerAddress {
  std::string host_port;  // "host:port"
  std::string prefix;  // "" or "/a/b": prepended to all paths
};

// Splits "root://[user@]host[:port][//prefix]". Error: kInvalidArgument.
Result<ServerAddress> ParseServerUrl(std::string_view url);

// The URL of the channel of `user` to a server; XrdCl has one connection per user@host:port and process.
std::string ChannelUrl(std::string_view user, const std::string& host_port);

// What the URL of a channel ends in: "", or the channel's settings as parameters ("?...") where the user has
// set others with XRD_* variables. As defaults of the process they cost nothing; each request copies its URL
// several times, and a map of its parameters with it.
const std::string& ChannelParameters();

// XrdCl's own timeout, a backstop behind our timers: the time left, rounded up, and a second more so that
// ours comes first. It bounds for how long a request given up on keeps its buffers.
XrdTimeout BackstopTimeout(TimePoint now, TimePoint deadline);

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// How XrdCl is made to behave within our time limits. Most is set per connection, in the URL that creates the
// channel, so that a daemon that uses XrdCl for itself is not affected.
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

// The settings in the form of URL parameters.
std::string_view ChannelParameters();

// XrdCl's own timeout, a backstop behind our timers: the time left, rounded up, and a second more so that
// ours comes first. It bounds for how long a request given up on keeps its buffers.
XrdTimeout BackstopTimeout(TimePoint now, TimePoint deadline);

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// Endpoint: one XRootD server, as a mount asks it for names. No header of XRootD is needed to use it.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hh"
#include "mount/tree.hh"
#include "runtime/executor.hh"
#include "tree_xrootd/patience.hh"
#include "tree_xrootd/told.hh"

namespace xec {

class ServerCore;

// Blocking, thread-safe. Paths are those of the tree. Every call may also answer kUnavailable,
// kDeadlineExceeded, kPermissionDenied and, of a name that the protocol cannot carry, kInvalidArgument. It
// sends nothing to other servers: a redirector's redirects are errors.
class Endpoint {
 public:
  // Names of one directory; more are an error, since all of them are in memory at once.
  static constexpr size_t kNamesMax = 2'000'000;

  // `prefix`: "" or "/a/b", where the tree begins. The executor runs what comes back. `patient`: requests
  // wait while the server is started anew.
  Endpoint(std::string host_port, std::string prefix, Executor* executor, bool patient);
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  const std::string& host_port() const { return host_port_; }
  // Where requests for open files go; it is part of XRootD's side of this layer.
  const std::shared_ptr<ServerCore>& core() const { return core_; }
  Patience& patience() const { return patience_; }

  // Now, by the clock that deadlines are times of.
  TimePoint Now() const { return executor_->Now(); }
  WallMillis WallNow() const { return executor_->WallNow(); }

  // Does it send clients to other servers?
  Result<bool> IsManager(TimePoint deadline) const;
  // Finds out whether it is a gateway of XEC, which keeps settings. If that cannot be told it is none.
  void LookForGateway(TimePoint deadline);
  bool is_gateway() const { return is_gateway_; }

  Result<Told> Stat(const std::string& path, TimePoint deadline) const;
  // All names, in the order of bytes. Errors: kNotFound, kNotDirectory, kUnsupported (too many).
  Result<std::vector<NamedEntry>> List(const std::string& path, TimePoint deadline) const;
  Status MakeDirectory(const std::string& path, uint32_t mode, TimePoint deadline) const;
  Status Remove(const std::string& path, TimePoint deadline) const;
  Status RemoveDirectory(const std::string& path, TimePoint deadline) const;
  Status Rename(const std::string& from, const std::string& to, TimePoint deadline) const;
  // Error: kUnsupported, a time, or a mode with other bits than of permissions, on a server that is no
  // gateway.
  Status SetSettings(const std::string& path, const Settings& settings, TimePoint deadline) const;
  // Errors: kNotFound, kUnsupported (a server that keeps none).
  Result<std::map<std::string, std::string>> Attributes(const std::string& path, TimePoint deadline) const;
  Status SetAttribute(const std::string& path, const std::string& name,
                      const std::optional<std::string>& value, TimePoint deadline) const;
  Result<TreeSpace> Space(TimePoint deadline) const;

 private:
  Status SetMode(const std::string& path, uint32_t mode, TimePoint deadline) const;
  // For looks at names.
  std::string AskedPath(const std::string& path) const;

  Executor* const executor_;
  const std::string host_port_;
  const std::shared_ptr<ServerCore> core_;
  mutable Patience patience_;
  std::atomic<bool> is_gateway_ = false;
};
using EndpointPtr = std::shared_ptr<const Endpoint>;

// Can the root protocol carry this path? XrdCl cuts names at '?', and listings are lines. Error:
// kInvalidArgument.
Status CheckTreePath(const std::string& path);

}  // namespace xec

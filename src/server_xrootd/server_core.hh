// SPDX-License-Identifier: LGPL-3.0-or-later
// What a server, its files and its requests in flight share. Requests hold it, so it (and the FileSystem in
// it) outlives the last answer.
#pragma once

#include <atomic>
#include <string>

#include "XrdCl/XrdClFileSystem.hh"
#include "server/data_server.hh"
#include "server_xrootd/client_settings.hh"
#include "server_xrootd/response.hh"

namespace xec {

// Connections for file data to one server, besides the one for metadata. A write to a hung or slow server
// fills its connection; what is behind it on the same connection waits.
constexpr uint32_t kDataChannels = 2;

class ServerCore {
 public:
  ServerCore(ServerAddress address, Executor* executor);

  const std::string& name() const { return name_; }
  const ExecutorGatePtr& gate() const { return gate_; }
  // Metadata operations; its calls are thread-safe.
  XrdCl::FileSystem& filesystem() { return filesystem_; }

  // The path on the server of `path` within our root.
  std::string ServerPath(const std::string& path) const { return prefix_ + path; }

  // URL for opening a file, on the data channels in turn.
  std::string FileUrl(const std::string& path);
  // URL for opening the file of NameSync, on a channel of its own: neither waits its sync behind data, nor
  // metadata behind the sync.
  std::string SyncUrl(const std::string& path) const;

  XrdTimeout Timeout(const OpContext& context) const {
    return BackstopTimeout(gate_->Now(), context.deadline);
  }

  // "rename /a on root://host:1094", for messages.
  std::string Describe(const char* verb, const std::string& path) const;

 private:
  std::string UrlFor(const std::string& user, const std::string& path) const;

  const std::string name_;
  const std::string host_port_;
  const std::string prefix_;
  const ExecutorGatePtr gate_;
  XrdCl::FileSystem filesystem_;
  std::atomic<uint32_t> next_channel_ = 0;
};

using ServerCorePtr = std::shared_ptr<ServerCore>;

// Held by the server object and by every file of it; when the last goes, nobody waits for answers any more
// and late ones are dropped.
class ServerUse {
 public:
  explicit ServerUse(ExecutorGatePtr gate) : gate_(std::move(gate)) {}
  ServerUse(const ServerUse&) = delete;
  ServerUse& operator=(const ServerUse&) = delete;
  ~ServerUse() { gate_->Close(); }

 private:
  const ExecutorGatePtr gate_;
};

using ServerUsePtr = std::shared_ptr<ServerUse>;

}  // namespace xec

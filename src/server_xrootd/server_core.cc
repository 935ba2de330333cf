// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server_xrootd/server_core.hh"

namespace xec {
namespace {

// User names on the wire have at most 8 bytes.
constexpr const char* kMetadataUser = "xecm";
constexpr const char* kSyncUser = "xecs";

}  // namespace

ServerCore::ServerCore(ServerAddress address, Executor* executor)
    : name_("root://" + address.host_port + (address.prefix.empty() ? "" : "/" + address.prefix)),
      host_port_(address.host_port),
      prefix_(address.prefix),
      gate_(ExecutorGate::Make(executor)),
      filesystem_(
          XrdCl::URL(fmt::format("{}/{}", ChannelUrl(kMetadataUser, host_port_), ChannelParameters())),
          /*enablePlugIns=*/false) {
  // A redirector in a data server's place is an error, not a way to somewhere else.
  filesystem_.SetProperty("FollowRedirects", "false");
}

std::string ServerCore::FileUrl(const std::string& path) {
  const uint32_t channel = next_channel_.fetch_add(1, std::memory_order_relaxed) % kDataChannels;
  return UrlFor(fmt::format("xecd{}", channel), path);
}

std::string ServerCore::SyncUrl(const std::string& path) const { return UrlFor(kSyncUser, path); }

std::string ServerCore::UrlFor(const std::string& user, const std::string& path) const {
  return fmt::format("{}/{}{}", ChannelUrl(user, host_port_), ServerPath(path), ChannelParameters());
}

std::string ServerCore::Describe(const char* verb, const std::string& path) const {
  return fmt::format("{} {} on {}", verb, path, name_);
}

}  // namespace xec

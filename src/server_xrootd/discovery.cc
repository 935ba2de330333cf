// SPDX-License-Identifier: LGPL-3.0-or-later
#include <algorithm>

#include "XrdCl/XrdClFileSystem.hh"
#include "server_xrootd/client_settings.hh"
#include "server_xrootd/response.hh"
#include "server_xrootd/xrootd_server.hh"
#include "xrdcompat/status.hh"

namespace xec {
namespace {

// "[::127.0.0.1]:1094", "[::ffff:127.0.0.1]:1094" -> "127.0.0.1:1094"; others unchanged.
std::string NormalizeAddress(std::string address) {
  for (const std::string_view mapped : {"[::ffff:", "[::"}) {
    const size_t close = address.find(']');
    if (!address.starts_with(mapped) || close == std::string::npos) continue;
    const std::string inner = address.substr(mapped.size(), close - mapped.size());
    const bool ipv4 =
        std::count(inner.begin(), inner.end(), '.') == 3 && inner.find(':') == std::string::npos;
    if (ipv4) return inner + address.substr(close + 1);
  }
  return address;
}

// The answer holds the FileSystem until it is dealt with.
struct Search {
  explicit Search(const XrdCl::URL& url) : filesystem(url, /*enablePlugIns=*/false) {}
  XrdCl::FileSystem filesystem;
};

}  // namespace

Task<Result<std::vector<std::string>>> DiscoverServers(std::string url, Executor& executor,
                                                       TimePoint deadline) {
  const Result<ServerAddress> address = ParseServerUrl(url);
  if (!address) co_return address.error();
  ApplyClientSettings();
  const auto gate = ExecutorGate::Make(&executor);
  const auto search = std::make_shared<Search>(
      XrdCl::URL(fmt::format("{}/{}", ChannelUrl("xecm", address->host_port), ChannelParameters())));
  using Found = Result<std::vector<std::string>>;
  OneShot<Found> found;
  const std::string what = "locate data servers at root://" + address->host_port;
  TimerId timer = 0;
  if (deadline != TimePoint::max()) {
    timer = executor.RunAt(deadline, [set = found.Setter(), what] {
      set(Fail(Code::kDeadlineExceeded, "{} got no answer in time", what));
    });
  }
  SendRequest(
      gate,
      [&](XrdCl::ResponseHandler* handler) {
        return search->filesystem.DeepLocate("*", XrdCl::OpenFlags::Refresh, handler,
                                             BackstopTimeout(executor.Now(), deadline));
      },
      [search, what, set = found.Setter()](Reply reply) {
        if (!reply.ok()) return set(ToError(*reply.status, what));
        std::vector<std::string> servers;
        if (auto* info = reply.Get<XrdCl::LocationInfo>()) {
          for (auto it = info->Begin(); it != info->End(); ++it) {
            if (it->IsServer()) servers.push_back(NormalizeAddress(it->GetAddress()));
          }
        }
        std::sort(servers.begin(), servers.end());
        servers.erase(std::unique(servers.begin(), servers.end()), servers.end());
        set(std::move(servers));
      });
  Found result = co_await found;
  if (timer != 0) executor.Cancel(timer);
  gate->Close();
  co_return std::move(result);
}

}  // namespace xec

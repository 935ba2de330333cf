// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server_xrootd/client_settings.hh"

#include <algorithm>
#include <mutex>

#include "XrdCl/XrdClDefaultEnv.hh"
#include "XrdCl/XrdClEnv.hh"
#include "XrdCl/XrdClURL.hh"
#include "base/log.hh"

namespace xec {
namespace {

constexpr int64_t kBackstopMaxSeconds =
    600;  // requests without a deadline, and the longest that is passed on
constexpr int kStreamTimeoutSeconds =
    30;  // a connection with requests but without a byte for so long is broken
constexpr int kEventLoops = 1;
// They only take answers over from the event loop: several wake each other for nothing.
constexpr int kWorkerThreads = 1;

struct ChannelSetting {
  const char* name;
  int value;
};
// 3 s for a connection including login, and no time of penance after a failure, so that a server that returns
// is used by the next request. XrdCl must not connect anew by itself: with one retry allowed it does so at
// the end of the window, perhaps while a connection that was made meanwhile is at work, and deadlocks with
// its event loop (5.5.3, Stream::ForceConnect).
constexpr ChannelSetting kChannelSettings[] = {
    {"ConnectionWindow", 3}, {"ConnectionRetry", 0}, {"StreamErrorWindow", 0}};

// Whether channels have our settings without being told: not where the user has others for the process.
bool PutChannelSettings(XrdCl::Env& env) {
  bool all = true;
  for (const ChannelSetting& setting : kChannelSettings) {
    int value = setting.value;
    env.PutInt(setting.name, value);
    all = env.GetInt(setting.name, value) && value == setting.value && all;
  }
  return all;
}

std::string AsUrlParameters() {
  std::string text;
  for (const ChannelSetting& setting : kChannelSettings)
    text += fmt::format("{}XrdCl.{}={}", text.empty() ? "?" : "&", setting.name, setting.value);
  return text;
}

}  // namespace

void ApplyClientSettings() {
  static std::once_flag once;
  std::call_once(once, [] {
    XrdCl::Env* env = XrdCl::DefaultEnv::GetEnv();
    // Timeouts are looked at once in so many seconds (default 15).
    env->PutInt("TimeoutResolution", 1);
    env->PutInt("StreamTimeout", kStreamTimeoutSeconds);
    env->PutInt("WorkerThreads", kWorkerThreads);
    // One thread moves bytes between sockets and buffers: a connection that breaks under load may be made
    // anew in another loop, and 5.5.3 then lets the two wait for each other, for ever (Stream::OnError within
    // AsyncSocketHandler::Event).
    int event_loops = kEventLoops;
    env->PutInt("ParallelEvtLoop", event_loops);
    env->GetInt("ParallelEvtLoop", event_loops);
    if (event_loops != kEventLoops) {
      Log(LogLevel::kWarning, "xrootd",
          "XRD_PARALLELEVTLOOP={} is set: with several event loops XrdCl 5.5.3 may stand still for ever when "
          "a server dies; unset it",
          event_loops);
    }
    // At a fork XrdCl would cancel its threads, in mid-callback too, and wait for them while it holds their
    // locks; our children only exec. The library's own proxy switches this off as well.
    env->PutInt("RunForkHandler", 0);
    // An exclusive create that is repeated after a broken connection would meet its own file.
    env->PutString("OpenRecovery", "false");
  });
}

Result<ServerAddress> ParseServerUrl(std::string_view url) {
  const XrdCl::URL parsed{std::string(url)};
  if (!parsed.IsValid() || parsed.GetProtocol() != "root" || parsed.GetHostName().empty()) {
    return Fail(Code::kInvalidArgument, "'{}' is not the URL of a data server (root://host:port)", url);
  }
  ServerAddress address;
  address.host_port = parsed.GetHostName() + ":" + std::to_string(parsed.GetPort());
  const std::string& path = parsed.GetPath();
  const size_t first = path.find_first_not_of('/');
  if (first != std::string::npos) {
    const size_t last = path.find_last_not_of('/');
    address.prefix = "/" + path.substr(first, last - first + 1);
  }
  return address;
}

const std::string& ChannelParameters() {
  ApplyClientSettings();
  static const std::string parameters =
      PutChannelSettings(*XrdCl::DefaultEnv::GetEnv()) ? "" : AsUrlParameters();
  return parameters;
}

std::string ChannelUrl(std::string_view user, const std::string& host_port) {
  return fmt::format("root://{}@{}", user, host_port);
}

XrdTimeout BackstopTimeout(TimePoint now, TimePoint deadline) {
  int64_t seconds = kBackstopMaxSeconds;
  if (deadline != TimePoint::max()) {
    seconds = std::chrono::ceil<std::chrono::seconds>(std::max(deadline - now, Duration::zero())).count() + 1;
  }
  return static_cast<XrdTimeout>(std::clamp<int64_t>(seconds, 1, kBackstopMaxSeconds));
}

}  // namespace xec

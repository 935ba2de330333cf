// SPDX-License-Identifier: LGPL-3.0-or-later
// Connections that break while they are being made.
#include <atomic>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "conformance_xrootd_process.hh"
#include "runtime/thread_pool.hh"
#include "server/calls.hh"
#include "server_xrootd/xrootd_server.hh"

namespace xec {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A server that ends each connection before it has said a word.
class HangsUp {
 public:
  HangsUp() : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    XEC_CHECK(bind(listener_, generic, size) == 0 && listen(listener_, 128) == 0);
    XEC_CHECK(getsockname(listener_, generic, &size) == 0);
    port_ = ntohs(address.sin_port);
  }
  ~HangsUp() { close(listener_); }

  std::string url() const { return fmt::format("root://127.0.0.1:{}", port_); }

  // Ends the next connection, if one comes within `limit`.
  bool EndOne(milliseconds limit) const {
    pollfd waiting{listener_, POLLIN, 0};
    if (poll(&waiting, 1, static_cast<int>(limit.count())) <= 0) return false;
    close(accept(listener_, nullptr, nullptr));
    return true;
  }

 private:
  const int listener_;
  uint16_t port_ = 0;
};

// XrdCl 5.5.3 may take one fault of a connection that is being made for two. If it is allowed to connect once
// more by itself after the second one, it does so when the connection window is over, whether or not the
// connection was made anew meanwhile and is at work; then it waits for its event loop while it holds the lock
// that the event loop needs. All connections of the process stand still, for ever.
TEST(ConnectionsTest, XrdClNeverConnectsUnasked) {
  if (!NoServersReason()->empty()) GTEST_SKIP() << *NoServersReason();
  constexpr int kRequests = 300;
  constexpr seconds kLongerThanTheWindow{5};
  ThreadPool pool("xrdtest", 2);
  const HangsUp hangs_up;
  const auto server = MakeXrootdServer({.url = hangs_up.url(), .executor = &pool});
  ASSERT_TRUE(server);
  std::atomic<bool> over = false;
  std::jthread serving([&] {
    while (!over) hangs_up.EndOne(milliseconds(10));
  });
  for (int i = 0; i < kRequests; ++i) {
    const CallContext soon{&pool, pool.Now() + seconds(20)};
    EXPECT_EQ(SyncWait(List(soon, *server, "/")).code(), Code::kUnavailable);
  }
  over = true;
  serving.join();
  EXPECT_FALSE(hangs_up.EndOne(kLongerThanTheWindow));
}

}  // namespace
}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// Connections that break while they are being made, or under load.
#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <atomic>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "XProtocol/XProtocol.hh"
#include "conformance_xrootd_process.hh"
#include "runtime/sync_wait.hh"
#include "runtime/thread_pool.hh"
#include "server/calls.hh"
#include "server_xrootd/xrootd_server.hh"

namespace xec {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A socket that listens on the loopback address; 0: on a port of its choice.
int Listen(uint16_t* port) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(*port);
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  const int reuse = 1;
  XEC_CHECK(setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse) == 0);
  XEC_CHECK(bind(listener, generic, size) == 0 && listen(listener, 128) == 0);
  XEC_CHECK(getsockname(listener, generic, &size) == 0);
  *port = ntohs(address.sin_port);
  return listener;
}

// The next connection, if one comes within `limit`; else -1.
int Accept(int listener, milliseconds limit) {
  pollfd waiting{listener, POLLIN, 0};
  if (poll(&waiting, 1, static_cast<int>(limit.count())) <= 0) return -1;
  return accept(listener, nullptr, nullptr);
}

// A server that ends each connection before it has said a word.
class HangsUp {
 public:
  HangsUp() : listener_(Listen(&port_)) {}
  ~HangsUp() { close(listener_); }

  std::string url() const { return fmt::format("root://127.0.0.1:{}", port_); }

  // Ends the next connection, if one comes within `limit`.
  bool EndOne(milliseconds limit) const {
    const int connection = Accept(listener_, limit);
    if (connection < 0) return false;
    close(connection);
    return true;
  }

 private:
  uint16_t port_ = 0;
  const int listener_;
};

// A server that lets clients log in, reads some of their requests without an answer, and dies; then another
// one takes its port.
class DiesUnderLoad {
 public:
  std::string url() const { return fmt::format("root://127.0.0.1:{}", port_); }

  // One life, if a client comes within `limit`: ends after so many requests other than those of a log-in.
  bool LiveOnce(int requests, milliseconds limit) {
    const int listener = Listen(&port_);
    const int connection = Accept(listener, limit);
    if (connection >= 0) Serve(connection, requests);
    // Whoever connects anew at once is refused, or accepted and hung up on.
    const bool refused = requests % 2 == 0;
    if (refused) close(listener);
    if (connection >= 0) close(connection);
    if (!refused) close(listener);
    return connection >= 0;
  }

 private:
  static void Serve(int connection, int requests) {
    std::array<char, 20> hello{};
    if (!Receive(connection, hello.data(), hello.size())) return;
    // No stream, status 0, 8 bytes: protocol 5.0, a data server.
    Send(connection, std::string("\0\0\0\0\0\0\0\x08\0\0\x05\0\0\0\0\x01", 16));
    while (requests > 0) {
      ClientRequestHdr header{};
      if (!Receive(connection, &header, sizeof header)) return;
      std::string body(ntohl(static_cast<uint32_t>(header.dlen)), '\0');
      if (!Receive(connection, body.data(), body.size())) return;
      switch (ntohs(header.requestid)) {
        case kXR_protocol: Answer(connection, header, std::string("\0\0\x05\0\0\0\0\x01", 8)); break;
        case kXR_login: Answer(connection, header, std::string(16, 's')); break;
        case kXR_endsess: Answer(connection, header, ""); break;
        default: --requests;
      }
    }
  }
  static bool Receive(int connection, void* into, size_t size) {
    return size == 0 || recv(connection, into, size, MSG_WAITALL) == static_cast<ssize_t>(size);
  }
  static void Send(int connection, const std::string& bytes) {
    send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  static void Answer(int connection, const ClientRequestHdr& request, const std::string& body) {
    ServerResponseHeader header{};
    std::copy(std::begin(request.streamid), std::end(request.streamid), std::begin(header.streamid));
    header.dlen = static_cast<kXR_int32>(htonl(static_cast<uint32_t>(body.size())));
    Send(connection, std::string(reinterpret_cast<const char*>(&header), sizeof header) + body);
  }

  uint16_t port_ = 20001;  // none that a connection gets while nobody listens
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

Task<void> ListUntil(const std::atomic<bool>& over, ThreadPool& pool, DataServerPtr server) {
  while (!over) {
    const CallContext soon{&pool, pool.Now() + seconds(20)};
    (void)co_await List(soon, server, "/");
  }
}

// A connection that ends while requests are queued for it is made anew within the event that told its end; in
// 5.5.3 that event goes on to write into the new one. With several event loops the new one may belong to
// another loop, and each of the two waits for the other: all connections of the process stand still, for
// ever.
TEST(ConnectionsTest, XrdClLivesOnWhenServersDieUnderLoad) {
  if (!NoServersReason()->empty()) GTEST_SKIP() << *NoServersReason();
  constexpr int kLives = 2000;
  constexpr int kClients = 128;
  constexpr int kRequestsMax = 16;
  ThreadPool pool("xrdtest", 2);
  DiesUnderLoad dies;
  const auto server = MakeXrootdServer({.url = dies.url(), .executor = &pool});
  ASSERT_TRUE(server);
  std::atomic<bool> over = false;
  TaskScope clients;
  for (int i = 0; i < kClients; ++i) clients.Spawn(ListUntil(over, pool, *server));
  for (int i = 0; i < kLives; ++i) {
    // Who stands still would not end this test either.
    XEC_CHECK(dies.LiveOnce(1 + i % kRequestsMax, seconds(20)));
  }
  over = true;
  clients.Drain();
}

}  // namespace
}  // namespace xec

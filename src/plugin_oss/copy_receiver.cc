// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/copy_receiver.hh"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <vector>

#include "base/log.hh"
#include "base/units.hh"

namespace xec {
namespace {

constexpr size_t kPieceBytes = kMiB;
// What a program says first, with its end: the client, a line end, the path, a line end.
constexpr size_t kGreetingMax = 8 * kKiB;
constexpr int kGreetingSeconds = 10;
constexpr int kAcceptPauseMs = 100;

std::string KeyOf(const std::string& client, const std::string& path) { return client + "\n" + path + "\n"; }

bool IsOurUser(int socket) {
  ucred peer = {};
  socklen_t size = sizeof peer;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

// "" if it does not come whole in time.
std::string ReadGreeting(int socket) {
  const timeval patience = {kGreetingSeconds, 0};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  std::string text;
  char letter = 0;
  while (text.size() < kGreetingMax && std::ranges::count(text, '\n') < 2) {
    if (recv(socket, &letter, 1, 0) != 1) return "";
    text += letter;
  }
  const timeval for_ever = {0, 0};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &for_ever, sizeof for_ever);
  return text;
}

}  // namespace

bool CopyReceiver::Expected::Begin(int socket) {
  MutexLock lock(mutex_);
  if (over_ || thread_.joinable()) return false;
  // The program waits for this, so that its bytes are not taken for late ones.
  if (send(socket, "\n", 1, MSG_NOSIGNAL) != 1) return false;
  socket_ = socket;
  thread_ = std::jthread([this, socket] { Receive(socket); });
  return true;
}

void CopyReceiver::Expected::Receive(int socket) {
  std::vector<char> piece(kPieceBytes);
  for (off_t offset = 0;;) {
    const ssize_t got = recv(socket, piece.data(), piece.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || write_(piece.data(), offset, static_cast<size_t>(got)) <= 0) return;
    offset += got;
  }
}

void CopyReceiver::Expected::End() {
  std::jthread thread;
  int socket = -1;
  {
    MutexLock lock(mutex_);
    over_ = true;
    thread.swap(thread_);
    std::swap(socket, socket_);
  }
  if (!thread.joinable()) return;
  // What has arrived can be read still, and then there is an end.
  shutdown(socket, SHUT_RD);
  thread.join();
  close(socket);
}

CopyReceiver::~CopyReceiver() {
  if (listener_ < 0) return;
  shutdown(listener_, SHUT_RDWR);
  thread_.join();
  close(listener_);
}

Status CopyReceiver::Start(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return Fail(Code::kInvalidArgument, "{} is too long a name for a socket", path);
  std::memcpy(address.sun_path, path.c_str(), path.size());
  unlink(path.c_str());
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0 || bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener, static_cast<int>(kCopiesAtOnceMax)) != 0) {
    const int error = errno;
    if (listener >= 0) close(listener);
    return Fail(Code::kInvalidArgument, "no socket can be made at {}: {}", path, std::strerror(error));
  }
  listener_ = listener;
  thread_ = std::jthread([this] { Accept(); });
  return OkStatus();
}

std::shared_ptr<CopyReceiver::Expected> CopyReceiver::Expect(const std::string& client,
                                                             const std::string& path, Write write) {
  auto expected = std::make_shared<Expected>(std::move(write));
  MutexLock lock(mutex_);
  std::erase_if(expected_, [](const auto& entry) { return entry.second.expired(); });
  expected_.emplace(KeyOf(client, path), expected);
  return expected;
}

void CopyReceiver::Accept() {
  while (true) {
    const int socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket >= 0) {
      Greet(socket);
    } else if (errno == EINVAL || errno == EBADF) {
      return;  // it listens no longer
    } else if (errno != EINTR && errno != ECONNABORTED) {
      // Such as too many open files: programs wait in line meanwhile.
      poll(nullptr, 0, kAcceptPauseMs);
    }
  }
}

// Owns the socket unless an upload takes it.
void CopyReceiver::Greet(int socket) {
  std::vector<std::shared_ptr<Expected>> named;
  if (IsOurUser(socket)) {
    const std::string greeting = ReadGreeting(socket);
    MutexLock lock(mutex_);
    const auto [first, last] = expected_.equal_range(greeting);
    for (auto entry = first; entry != last; ++entry) {
      if (auto expected = entry->second.lock()) named.push_back(std::move(expected));
    }
  }
  const bool taken =
      std::ranges::any_of(named, [socket](const auto& expected) { return expected->Begin(socket); });
  if (!taken) {
    Log(LogLevel::kWarning, "gateway", "a program wanted to send a copy that no client has asked for");
    close(socket);
  }
}

}  // namespace xec

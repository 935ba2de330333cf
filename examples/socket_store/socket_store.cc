// SPDX-License-Identifier: LGPL-3.0-or-later
// An example of a front end, written from api/store.hh and assembly/open_store.hh: a store at a unix socket.
//
//   socket_store CONFIG SOCKET     CONFIG as in docs/configuration.md; ends on SIGTERM and SIGINT
//
//   LIST DIRECTORY                 OK, then lines "f SIZE NAME" or "d - NAME", then "."
//   GET PATH                       OK SIZE, then SIZE bytes; fewer if the rest cannot be read
//   PUT PATH SIZE, SIZE bytes      OK SIZE: the object is there
//
// Each request is a line, and one connection takes any number of them:
//
//   (printf 'PUT /big %s\n' $(stat -c %s big); cat big) | nc -N -U SOCKET
//
// Errors are one line "ERR CODE: SENTENCE"; in LIST one may stand in place of any line. After a line that is
// no request the server hangs up, since it cannot know which of the bytes behind it are meant as requests.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <list>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

#include "api/store.hh"
#include "assembly/configuration/configuration_file.hh"
#include "assembly/open_store.hh"
#include "base/log.hh"
#include "base/text.hh"
#include "protocol/object_path.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

constexpr size_t kLineBytesMax = kPathBytesMax + 64;
constexpr size_t kBufferBytes = kMiB;  // of each connection; the same again while it gets
constexpr size_t kClientsMax = 16;
constexpr int kIdleSecondsMax = 60;  // without a byte of a client's, or one that it takes
constexpr Duration kEndGrace = std::chrono::seconds(5);  // of requests that SIGTERM meets

Error SystemError(std::string_view what) {
  return Fail(Code::kUnavailable, "{}: {}", what, std::strerror(errno));
}

bool Send(int socket, ByteSpan bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(sent));
  }
  return true;
}

bool SendError(int socket, const Error& error) {
  std::string line = error.ToString();
  std::replace(line.begin(), line.end(), '\n', ' ');
  return Send(socket, AsBytes(fmt::format("ERR {}\n", line)));
}

// One connection, which owns its socket. A thread of its own serves it, so it may block and use SyncWait; all
// that is public belongs to the main thread.
class Client {
 public:
  Client(OpenedStore& opened, int socket, std::stop_token stop)
      : store_(opened.store()), opened_(opened), socket_(socket), buffer_(kBufferBytes) {
    const timeval idle{kIdleSecondsMax, 0};
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &idle, sizeof idle);
    setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &idle, sizeof idle);
    ucred peer{};
    socklen_t size = sizeof peer;
    getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size);
    call_.stop = std::move(stop);
    call_.caller = std::make_shared<const Caller>(Caller{fmt::format("uid {}", peer.uid), {}, {}, "socket"});
    thread_ = std::jthread([this] { Serve(); });
  }
  ~Client() {
    thread_.join();
    close(socket_);
  }

  bool ended() const { return ended_; }
  // What has come in whole is still done.
  void EndInput() { shutdown(socket_, SHUT_RD); }

 private:
  void Serve() {
    const std::stop_callback hang_up(call_.stop, [this] { shutdown(socket_, SHUT_RDWR); });
    std::string line;
    while (ReadLine(line) && Answer(line)) {
    }
    ended_ = true;
    shutdown(socket_, SHUT_RDWR);
  }

  // What has come and was not taken; waits for something. Empty: the client is gone, or idle for too long.
  ByteSpan Arrived() {
    if (!arrived_.empty()) return arrived_;
    ssize_t count = 0;
    do {
      count = recv(socket_, buffer_.data(), buffer_.size(), 0);
    } while (count < 0 && errno == EINTR);
    arrived_ = ByteSpan(buffer_).first(count > 0 ? static_cast<size_t>(count) : 0);
    return arrived_;
  }

  ByteSpan Take(uint64_t most) {
    const ByteSpan taken = arrived_.first(std::min<uint64_t>(most, arrived_.size()));
    arrived_ = arrived_.subspan(taken.size());
    return taken;
  }

  bool ReadLine(std::string& line) {
    line.clear();
    for (;;) {
      const std::string_view text = AsText(Arrived());
      if (text.empty()) return false;
      const size_t end = text.find('\n');
      line += text.substr(0, end);
      if (line.size() > kLineBytesMax) return Refuse("a request has at most {} bytes", kLineBytesMax);
      Take(end == text.npos ? text.size() : end + 1);
      if (end != text.npos) return true;
    }
  }

  // Tells the client what is wrong with its words, and that it is to be hung up on.
  template <typename... Args>
  bool Refuse(fmt::format_string<Args...> format, Args&&... args) {
    SendError(socket_, Fail(Code::kInvalidArgument, format, std::forward<Args>(args)...));
    return false;
  }

  // As all below: false means hang up.
  bool Answer(const std::string& line) {
    if (line.starts_with("LIST ")) return List(line.substr(5));
    if (line.starts_with("GET ")) return Get(line.substr(4));
    const size_t last = line.rfind(' ');
    if (line.starts_with("PUT ") && last >= 4)
      if (const std::optional<uint64_t> size = ParseUint(line.substr(last + 1)))
        return Put(line.substr(4, last - 4), *size);
    return Refuse("a request is LIST DIRECTORY, GET PATH or PUT PATH SIZE");
  }

  bool List(const std::string& directory) {
    ListOptions options;
    std::string text = "OK\n";
    for (bool more = true; more; text.clear()) {
      const Result<NamesPage> page = SyncWait(store_.List(directory, options, call_));
      if (!page) return SendError(socket_, page.error());
      for (const ListedName& name : page->names) {
        text += name.directory ? "d -" : fmt::format("f {}", name.size);
        text += fmt::format(" {}\n", name.name);
        options.after = name.name;
      }
      more = page->more;
      if (!more) text += ".\n";
      if (!Send(socket_, AsBytes(text))) return false;
    }
    return true;
  }

  bool Get(const std::string& path) {
    const Result<std::shared_ptr<ReadHandle>> object = SyncWait(store_.Open(path, call_));
    if (!object) return SendError(socket_, object.error());
    const uint64_t size = (*object)->size();
    std::vector<std::byte> bytes(kBufferBytes);
    uint64_t offset = 0;
    do {
      const Result<uint64_t> count = SyncWait((*object)->Read(offset, bytes, call_));
      if (!count) {
        Log(LogLevel::kWarning, "socket_store", "GET {}: {}", path, count.error().ToString());
        return offset == 0 && SendError(socket_, count.error());  // later only hanging up can tell it
      }
      if (offset == 0 && !Send(socket_, AsBytes(fmt::format("OK {}\n", size)))) return false;
      if (!Send(socket_, ByteSpan(bytes).first(*count))) return false;
      offset += *count;
    } while (offset < size);
    return true;
  }

  bool Put(const std::string& path, uint64_t size) {
    uint64_t left = size;
    const Result<Committed> committed = Upload(path, left);
    if (committed) return Send(socket_, AsBytes(fmt::format("OK {}\n", size)));
    Log(LogLevel::kWarning, "socket_store", "PUT {}: {}", path, committed.error().ToString());
    if (!SendError(socket_, committed.error())) return false;
    while (left > 0 && !Arrived().empty()) left -= Take(left).size();  // the next request stands behind them
    return left == 0;
  }

  // `left` is what has not been taken of the client's bytes, also after an error.
  Result<Committed> Upload(const std::string& path, uint64_t& left) {
    CreateOptions options = opened_.CreateOptionsFor(path);
    options.write.size_hint = left;
    options.write.bytes_beside = kBufferBytes;
    XEC_ASSIGN_OR_RETURN(const auto upload, SyncWait(store_.Create(path, options, call_)));
    Status status = OkStatus();
    while (status && left > 0) {
      if (Arrived().empty()) {
        status = Fail(Code::kCancelled, "the upload of {} ended {} bytes early", path, left);
        break;
      }
      const ByteSpan bytes = Take(left);
      left -= bytes.size();
      status = SyncWait(upload->Append(bytes, call_));
    }
    if (status) return SyncWait(upload->Commit(call_));
    SyncWait(upload->Abandon());
    return status.error();
  }

  Store& store_;
  OpenedStore& opened_;
  const int socket_;
  CallOptions call_;
  std::vector<std::byte> buffer_;
  ByteSpan arrived_;  // in buffer_
  std::atomic<bool> ended_ = false;
  std::jthread thread_;
};

// Nobody but the user of this process may connect.
Status Listen(int socket, const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return Fail(Code::kInvalidArgument, "{} is too long for a socket", path);
  path.copy(address.sun_path, path.size());
  fchmod(socket, 0600);
  if (bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(socket, kClientsMax) != 0)
    return SystemError("cannot listen at " + path);
  return OkStatus();
}

// Accepts clients until a signal comes, then gives those that are there a moment to end.
Status Serve(OpenedStore& opened, int listener, int signals) {
  Status status = OkStatus();
  std::stop_source stop;
  std::list<Client> clients;
  pollfd wanted[] = {{listener, POLLIN, 0}, {signals, POLLIN, 0}};
  while (status && wanted[1].revents == 0) {
    poll(wanted, 2, -1);
    const int socket = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
      status = SystemError("cannot accept clients");
    clients.remove_if([](const Client& client) { return client.ended(); });
    if (socket >= 0 && clients.size() < kClientsMax) {
      clients.emplace_back(opened, socket, stop.get_token());
    } else if (socket >= 0) {
      SendError(socket, Fail(Code::kUnavailable, "{} clients are connected, come back later", kClientsMax));
      close(socket);
    }
  }
  for (Client& client : clients) client.EndInput();
  Executor& executor = opened.executor();
  const TimerId timer = executor.RunAt(executor.Now() + kEndGrace, [stop]() mutable { stop.request_stop(); });
  clients.clear();
  executor.Cancel(timer);
  return status;
}

Status Run(const char* file, const char* path) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);  // in all threads to come
  const int signals = signalfd(-1, &ends, SFD_CLOEXEC);
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  XEC_ASSIGN_OR_RETURN(Configuration configuration, ParseConfigurationFile(file));
  const OpenOptions options{
      .create_if_new = true, .background = true, .process = fmt::format("socket_store {}", path)};
  XEC_ASSIGN_OR_RETURN(const auto opened, OpenStore(std::move(configuration), options));
  for (const std::string& note : opened->notes()) Log(LogLevel::kWarning, "socket_store", "{}", note);
  XEC_TRY(Listen(listener, path));
  std::puts("ready");
  std::fflush(stdout);
  const Status status = Serve(*opened, listener, signals);
  unlink(path);
  if (!opened->Settle(std::chrono::seconds(10))) _Exit(1);
  return status;
}

}  // namespace
}  // namespace xec

int main(int argc, char** argv) {
  if (argc != 3) return std::fputs("usage: socket_store CONFIG SOCKET\n", stderr), 2;
  const xec::Status status = xec::Run(argv[1], argv[2]);
  if (!status) fmt::print(stderr, "socket_store: {}\n", status.error().ToString());
  return status ? 0 : 1;
}

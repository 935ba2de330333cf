// SPDX-License-Identifier: LGPL-3.0-or-later
#include "load/connection.hh"

#include <algorithm>
#include <sys/resource.h>
#include <thread>

#include "XrdCl/XrdClDefaultEnv.hh"
#include "XrdCl/XrdClEnv.hh"
#include "xrdcompat/status.hh"

namespace xec::load {
namespace {

using XrdCl::Access;
using XrdCl::OpenFlags;

// A connection that is silent for so long, or a request that takes so long, is a failure. Far above what is
// measured: a client that gives up would hide a stall; but a run must end.
constexpr int kGiveUpSeconds = 600;
// A connection attempt with its login; a server that has to accept 1,000 at a time takes some seconds.
constexpr int kConnectSeconds = 60;
constexpr int kThreadsMax = 8;
// Open files besides those of the connections: libraries, epoll, and a second connection for some after a
// redirection.
constexpr rlim_t kOtherDescriptors = 200;

void ApplySettings() {
  XrdCl::Env* env = XrdCl::DefaultEnv::GetEnv();
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  // Threads that move bytes between sockets and buffers (default 1): one cannot keep 1,000 connections busy.
  env->PutInt("ParallelEvtLoop", std::clamp(cores, 1, kThreadsMax));
  // Threads that compare page checksums and call back (default 3).
  env->PutInt("WorkerThreads", std::clamp(cores, 3, kThreadsMax));
  env->PutInt("ConnectionWindow", kConnectSeconds);
  // One attempt, and an error is an error: what a client repeats by itself would look like a slow server.
  env->PutInt("ConnectionRetry", 0);
  for (const char* name : {"OpenRecovery", "ReadRecovery", "WriteRecovery"}) env->PutString(name, "false");
  env->PutInt("RequestTimeout", kGiveUpSeconds);
  env->PutInt("StreamTimeout", kGiveUpSeconds);
  // We never fork.
  env->PutInt("RunForkHandler", 0);
}

Status RaiseDescriptors(rlim_t wanted) {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur >= wanted) return OkStatus();
  if (limit.rlim_max < wanted) {
    return Fail(Code::kNoSpace,
                "so many clients need {} open files and the limit is {}: raise it with ulimit -Hn", wanted,
                limit.rlim_max);
  }
  limit.rlim_cur = wanted;
  setrlimit(RLIMIT_NOFILE, &limit);
  return OkStatus();
}

std::string WithUser(const std::string& url, const std::string& user) {
  const size_t host = url.find("://") + 3;
  return url.substr(0, host) + user + "@" + url.substr(host);
}

}  // namespace

Status PrepareProcess(int clients) {
  ApplySettings();
  return RaiseDescriptors(2 * static_cast<rlim_t>(clients) + kOtherDescriptors);
}

Status Check(const Reply& reply, const char* verb, const std::string& path) {
  if (reply.ok()) return OkStatus();
  return ToError(*reply.status, fmt::format("{} {}", verb, path));
}

Connection::Connection(Loop& loop, const std::string& url, int number)
    : loop_(loop),
      name_(fmt::format("c{:03}", number)),
      base_(WithUser(url, name_)),
      filesystem_(XrdCl::URL(base_), /*enablePlugIns=*/false) {}

Task<Status> Connection::Connect() {
  auto submit = [this](XrdCl::ResponseHandler* handler) { return filesystem_.Ping(handler); };
  const Reply reply = co_await Ask(loop_, submit);
  co_return Check(reply, "connect to", base_);
}

Task<Result<uint64_t>> Connection::Stat(std::string path) {
  auto submit = [&](XrdCl::ResponseHandler* handler) { return filesystem_.Stat(path, handler); };
  const Reply reply = co_await Ask(loop_, submit);
  const Status status = Check(reply, "stat", path);
  if (!status) co_return status.error();
  const auto* info = reply.Get<XrdCl::StatInfo>();
  if (info == nullptr) co_return Fail(Code::kUnavailable, "stat {} failed: an empty answer", path);
  co_return info->GetSize();
}

Task<Status> Connection::Remove(std::string path) {
  auto submit = [&](XrdCl::ResponseHandler* handler) { return filesystem_.Rm(path, handler); };
  const Reply reply = co_await Ask(loop_, submit);
  co_return Check(reply, "delete", path);
}

RemoteFile::RemoteFile(Connection& connection, std::string path)
    : connection_(connection),
      path_(std::move(path)),
      file_(std::make_shared<XrdCl::File>(/*enablePlugIns=*/false)) {}

Task<Status> RemoteFile::Create(uint64_t size) {
  auto submit = [&](XrdCl::ResponseHandler* handler) {
    return file_->Open(fmt::format("{}?oss.asize={}", connection_.UrlOf(path_), size),
                       OpenFlags::New | OpenFlags::Update, Access::UR | Access::UW | Access::GR | Access::OR,
                       handler);
  };
  const Reply reply = co_await Ask(connection_.loop(), submit);
  opened_ = reply.ok();
  co_return Check(reply, "create", path_);
}

Task<Result<uint64_t>> RemoteFile::Open() {
  auto submit = [&](XrdCl::ResponseHandler* handler) {
    return file_->Open(connection_.UrlOf(path_), OpenFlags::Read, Access::None, handler);
  };
  const Reply reply = co_await Ask(connection_.loop(), submit);
  const Status status = Check(reply, "open", path_);
  if (!status) co_return status.error();
  opened_ = true;
  // Came with the answer to the open; not a request.
  XrdCl::StatInfo* info = nullptr;
  const XrdCl::XRootDStatus known = file_->Stat(/*force=*/false, info);
  const std::unique_ptr<XrdCl::StatInfo> owned(info);
  if (!known.IsOK()) co_return ToError(known, "size of " + path_);
  co_return info->GetSize();
}

Task<Status> RemoteFile::Close() {
  if (!opened_) co_return OkStatus();
  opened_ = false;
  auto submit = [&](XrdCl::ResponseHandler* handler) { return file_->Close(handler); };
  const Reply reply = co_await Ask(connection_.loop(), submit);
  const Status status = Check(reply, "close", path_);
  if (!status) co_return status;
  if (!reply.from_server)
    co_return Fail(Code::kUnavailable, "close {} failed: the connection was lost", path_);
  co_return OkStatus();
}

void RemoteFile::StartRead(Request& request, uint64_t offset, std::span<std::byte> into, bool pages) {
  const auto length = static_cast<uint32_t>(into.size());
  request.Start(connection_.loop(), [&](XrdCl::ResponseHandler* handler) {
    return pages ? file_->PgRead(offset, length, into.data(), handler)
                 : file_->Read(offset, length, into.data(), handler);
  });
}

void RemoteFile::StartWrite(Request& request, uint64_t offset, std::span<const std::byte> from, bool pages) {
  const auto length = static_cast<uint32_t>(from.size());
  request.Start(connection_.loop(), [&](XrdCl::ResponseHandler* handler) {
    std::vector<uint32_t> computed_by_xrdcl;
    return pages ? file_->PgWrite(offset, length, from.data(), computed_by_xrdcl, handler)
                 : file_->Write(offset, length, from.data(), handler);
  });
}

void RemoteFile::StartVectorRead(Request& request, const std::vector<Piece>& pieces,
                                 std::span<std::byte> into) {
  XrdCl::ChunkList chunks;
  for (const Piece& piece : pieces) chunks.emplace_back(piece.offset, piece.length);
  request.Start(connection_.loop(), [&](XrdCl::ResponseHandler* handler) {
    return file_->VectorRead(chunks, into.data(), handler);
  });
}

Status RemoteFile::CheckRead(const Reply& reply, uint64_t wanted) const {
  const Status status = Check(reply, "read", path_);
  if (!status) return status;
  uint64_t got = 0;
  // Which of the three it is depends on the request, and pages may have been read without page checksums
  // where the server knows none.
  if (const auto* page = reply.Get<XrdCl::PageInfo>()) {
    got = page->GetLength();
  } else if (const auto* chunk = reply.Get<XrdCl::ChunkInfo>()) {
    got = chunk->GetLength();
  } else if (const auto* vector = reply.Get<XrdCl::VectorReadInfo>()) {
    got = vector->GetSize();
  }
  if (got != wanted) {
    return Fail(Code::kUnavailable, "read {} failed: {} bytes instead of {}", path_, got, wanted);
  }
  return OkStatus();
}

}  // namespace xec::load

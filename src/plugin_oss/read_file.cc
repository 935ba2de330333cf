// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/read_file.hh"

#include <algorithm>
#include <fcntl.h>
#include <span>
#include <vector>

#include <XrdOuc/XrdOucEnv.hh>
#include <XrdSfs/XrdSfsAio.hh>

#include "base/text.hh"
#include "codec/checksum.hh"
#include "plugin_oss/cache_questions.hh"
#include "plugin_oss/caller.hh"
#include "plugin_oss/conditions.hh"
#include "plugin_oss/edit_file.hh"
#include "plugin_oss/file_status.hh"
#include "plugin_oss/handle_sharing.hh"
#include "plugin_oss/opaque.hh"
#include "plugin_oss/write_file.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

constexpr size_t kWirePageBytes = 4096;  // XRootD's kXR_pgPageSZ
// A positive answer to an open: XRootD tells the client to repeat it after so many seconds.
constexpr int kAskAgainSeconds = 1;
// From XRootD 6 on HTTP takes an object's size from the open.
constexpr bool kHttpStatsBeforeOpen = XrdVNUMBER < 60000;

class Reading final : public OpenHandle {
 public:
  Reading(Gateway& gateway, std::string path, std::string client, std::shared_ptr<ReadHandle> reader)
      : gateway_(gateway), path_(std::move(path)), client_(std::move(client)), reader_(std::move(reader)) {}

  ssize_t Read(void* buffer, off_t offset, size_t size) override {
    if (offset < 0) return -EINVAL;
    const MutableByteSpan into(static_cast<std::byte*>(buffer), size);
    const Result<uint64_t> got = SyncWait(reader_->Read(static_cast<uint64_t>(offset), into));
    if (!got) return Failed({"read", path_, client_}, got.error());
    return static_cast<ssize_t>(*got);
  }
  ssize_t ReadV(XrdOucIOVec* pieces, int count) override {
    std::vector<ReadPiece> wanted;
    uint64_t total = 0;
    for (const XrdOucIOVec& piece : std::span(pieces, static_cast<size_t>(count))) {
      const auto offset = static_cast<uint64_t>(piece.offset);
      const auto size = static_cast<uint64_t>(piece.size);
      // XRootD's word for a vector that goes beyond the end.
      if (piece.offset < 0 || piece.size < 0 || offset > reader_->size() || size > reader_->size() - offset)
        return -ESPIPE;
      wanted.push_back({offset, MutableByteSpan(reinterpret_cast<std::byte*>(piece.data), size)});
      total += size;
    }
    const Status status = SyncWait(reader_->ReadVector(std::move(wanted)));
    if (!status) return Failed({"read", path_, client_}, status.error());
    return static_cast<ssize_t>(total);
  }
  ssize_t Write(const void*, off_t, size_t) override { return -EBADF; }
  int Fstat(struct stat* out) override {
    ObjectInfo info;
    info.size = reader_->size();
    info.version = reader_->version();
    info.settings = reader_->settings();
    info.mtime_ms = info.settings.mtime_ns ? MillisOf(*info.settings.mtime_ns) : info.version.WallMillis();
    FillStat(gateway_, path_, info, out);
    return 0;
  }
  int Fchmod(mode_t) override { return 0; }
  int Ftruncate(unsigned long long) override { return -EBADF; }
  int Close() override { return 0; }
  std::string Tag() const override { return EntityTag(gateway_, path_, reader_->version()); }

 private:
  Gateway& gateway_;
  const std::string path_, client_;
  const std::shared_ptr<ReadHandle> reader_;
};

// What XRootD's protocols open comes under the name of the connection, NAME.PID:FD@HOST. HTTP third-party
// copy opens from inside the daemon, under the user's name or none. Nothing else tells the two apart: the
// user's protocol may be any (an X.509 user with VOMS is "gsi" over HTTP too).
bool IsConnection(std::string_view client) {
  const size_t at = client.rfind('@');
  if (at == std::string_view::npos) return false;
  const size_t colon = client.rfind(':', at);
  return colon != std::string_view::npos && ParseUint(client.substr(colon + 1, at - colon - 1));
}

// What a client announces it will write. Third-party copy takes -1 from a source that tells no size.
std::optional<uint64_t> AnnouncedSize(XrdOucEnv& env) {
  const char* text = env.Get("oss.asize");
  const std::optional<uint64_t> size = text == nullptr ? std::nullopt : ParseUint(text);
  return size && *size <= INT64_MAX ? size : std::nullopt;
}

}  // namespace

int File::Open(const char* path, int flags, mode_t mode, XrdOucEnv& env) {
  return Guarded("open", [&]() -> int {
    if (handle_) return -EBADF;
    // Before the name is looked up: a later opener looks for itself.
    HideHandles(path);
    if ((flags & O_CREAT) != 0) TurnsOfDaemon().Give(path);
    const CallOptions call = {.caller = CallerOf(&env)};
    if ((flags & O_ACCMODE) == O_RDONLY) {
      Result<std::shared_ptr<ReadHandle>> reader = SyncWait(gateway_.store().Open(path, call));
      if (!reader) return Failed({"open", path, client_}, reader.error());
      const Conditions conditions = Conditions::OfReading(OpaqueOf(&env));
      const Status holds = conditions.Hold(gateway_, path, (*reader)->version());
      if (!holds) return Failed({"open", path, client_}, holds.error());
      if (kHttpStatsBeforeOpen && IsHttp(&env) &&
          gateway_.last_stats().Contradicts(client_, path, (*reader)->size())) {
        return Failed({"open", path, client_}, Fail(Code::kConflict, "{} was replaced a moment ago", path));
      }
      handle_ = std::make_shared<Reading>(gateway_, path, client_, std::move(*reader));
      return 0;
    }
    if ((flags & (O_TRUNC | O_CREAT)) == 0) {
      if (gateway_.interrupted().Take(client_, path)) {
        return Failed(
            {"open", path, client_},
            Fail(
                Code::kNotCurrent,
                "the connection was lost while {} was written, and what came of it is dropped; write it anew",
                path));
      }
      Result<std::shared_ptr<OpenHandle>> edit = OpenEdit(gateway_, path, client_, call);
      if (!edit) return Failed({"open", path, client_}, edit.error());
      Opened(std::move(*edit));
      return 0;
    }
    UploadRequest request;
    request.path = path;
    request.client = client_;
    request.call = call;
    request.exclusive = (flags & O_EXCL) != 0;
    request.announced_size = AnnouncedSize(env);
    request.mode = mode;
    request.opaque = OpaqueOf(&env);
    // Third-party copy takes "ask again" for a failure.
    request.asks_again = IsConnection(client_);
    request.copied = env.Get("tpc.key") != nullptr && gateway_.copies().started();
    // XRootD 5 closes what it copied as if it were whole, also when the source said "not found" or broke off.
    if (!request.announced_size && (request.copied || !request.asks_again)) {
      return Failed({"open", path, client_},
                    Fail(Code::kUnsupported,
                         "a third-party copy must know the size of its source, which did not tell it"));
    }
    Result<std::shared_ptr<OpenHandle>> upload = StartUpload(gateway_, std::move(request));
    if (!upload) return Failed({"open", path, client_}, upload.error());
    if (!*upload) return kAskAgainSeconds;
    Opened(std::move(*upload));
    return 0;
  });
}

void File::Opened(std::shared_ptr<OpenHandle> handle) {
  handle_ = std::move(handle);
  if (OpenOfThread* in_front = OpenOfThread::Get()) in_front->Opened(handle_);
}

ssize_t File::Read(void* buffer, off_t offset, size_t size) {
  return Guarded("read", [&]() -> ssize_t { return handle_ ? handle_->Read(buffer, offset, size) : -EBADF; });
}

ssize_t File::pgRead(void* buffer, off_t offset, size_t size, uint32_t* checksums, uint64_t) {
  const ssize_t got = Read(buffer, offset, size);
  if (got <= 0 || checksums == nullptr) return got;
  ByteSpan bytes(static_cast<const std::byte*>(buffer), static_cast<size_t>(got));
  // Pages are those of the object, so the first one may be cut off at its front.
  if (const size_t within = static_cast<size_t>(offset) % kWirePageBytes; within != 0) {
    const ByteSpan first = bytes.first(std::min(bytes.size(), kWirePageBytes - within));
    *checksums++ = Crc32c(first);
    bytes = bytes.subspan(first.size());
  }
  PageChecksums(bytes, kWirePageBytes,
                std::span(checksums, (bytes.size() + kWirePageBytes - 1) / kWirePageBytes));
  return got;
}

ssize_t File::Write(const void* buffer, off_t offset, size_t size) {
  return Guarded("write",
                 [&]() -> ssize_t { return handle_ ? handle_->Write(buffer, offset, size) : -EBADF; });
}

ssize_t File::ReadV(XrdOucIOVec* pieces, int count) {
  return Guarded("read", [&]() -> ssize_t { return handle_ ? handle_->ReadV(pieces, count) : -EBADF; });
}

int File::Read(XrdSfsAio* aio) {
  aio->Result = Read(const_cast<void*>(aio->sfsAio.aio_buf), aio->sfsAio.aio_offset, aio->sfsAio.aio_nbytes);
  aio->doneRead();
  return 0;
}

int File::Write(XrdSfsAio* aio) {
  aio->Result =
      Write(const_cast<const void*>(aio->sfsAio.aio_buf), aio->sfsAio.aio_offset, aio->sfsAio.aio_nbytes);
  aio->doneWrite();
  return 0;
}

int File::Fsync(XrdSfsAio* aio) {
  aio->Result = Fsync();
  aio->doneWrite();
  return 0;
}

int File::Fsync() {
  return Guarded("sync", [&]() -> int { return handle_ ? handle_->Sync() : -EBADF; });
}

int File::Fstat(struct stat* out) { return handle_ ? handle_->Fstat(out) : -EBADF; }
int File::Fchmod(mode_t mode) { return handle_ ? handle_->Fchmod(mode) : -EBADF; }
int File::Ftruncate(unsigned long long size) { return handle_ ? handle_->Ftruncate(size) : -EBADF; }

#if XrdVNUMBER >= 60000
int File::Fctl(int command, int size, const char* question, char** answer) {
  if (command != Fctl_QFinfo) return XrdOssDF::Fctl(command, size, question, answer);
  return Guarded("query", [&]() -> int {
    const bool known = answer != nullptr && question != nullptr &&
                       IsHeadQuestion(std::string_view(question, static_cast<size_t>(size)));
    if (!known || !handle_ || handle_->Tag().empty()) return -ENOTSUP;
    *answer = AnswerOf(CacheControl(handle_->Tag()));
    return 0;
  });
}
#endif

int File::Close(long long* size) {
  return Guarded("close", [&]() -> int {
    if (!handle_) return -EBADF;
    struct stat info;
    if (size != nullptr && handle_->Fstat(&info) == 0) *size = info.st_size;
    const int result = handle_->Close();
    handle_.reset();
    return result;
  });
}

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/write_file.hh"

#include <atomic>
#include <ctime>

#include "base/log.hh"
#include "base/units.hh"
#include "plugin_oss/conditions.hh"
#include "plugin_oss/declared_checksums.hh"
#include "plugin_oss/file_status.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

// Of a connection that moves data, kept by XRootD as long as it lasts: its largest buffer.
constexpr uint64_t kXrootdBufferBytes = 2 * kMiB;
// XRootD's mark of a file whose upload is not over.
constexpr mode_t kPendingBit = 01000;

class Upload final : public OpenHandle {
 public:
  Upload(Gateway& gateway, UploadRequest request, UploadLine::Admitted admitted)
      : gateway_(gateway),
        request_(std::move(request)),
        attributes_(gateway.uploads_of_clients().Begin(request_.client, request_.path)),
        client_(std::move(admitted.client)),
        writer_(std::move(admitted.writer)) {
    if (!request_.copied) return;
    copy_ = gateway.copies().Expect(
        request_.client, request_.path,
        [this](const void* bytes, off_t offset, size_t size) { return Write(bytes, offset, size); });
  }

  ~Upload() override {
    if (copy_) copy_->End();
    MutexLock lock(mutex_);
    if (writer_) Abandon();
  }

  ssize_t Read(void*, off_t, size_t) override { return -EBADF; }
  ssize_t ReadV(XrdOucIOVec*, int) override { return -EBADF; }

  ssize_t Write(const void* buffer, off_t offset, size_t size) override {
    MutexLock lock(mutex_);
    if (failure_ != 0) return FailedBefore();
    if (!writer_) return -EBADF;
    if (offset < 0 || static_cast<uint64_t>(offset) != size_) {
      return GiveUp("write",
                    Fail(Code::kInvalidArgument,
                         "write at {} after {} bytes: objects are written from start to end", offset, size_));
    }
    const Status appended = SyncWait(writer_->Append(ByteSpan(static_cast<const std::byte*>(buffer), size)));
    if (!appended) return GiveUp("write", appended.error());
    size_ += size;
    return static_cast<ssize_t>(size);
  }

  int Fstat(struct stat* out) override {
    ObjectInfo info;
    info.size = size_;
    info.mtime_ms = static_cast<int64_t>(std::time(nullptr)) * 1000;
    FillStat(gateway_, request_.path, info, out);
    return 0;
  }

  int Fchmod(mode_t mode) override {
    MutexLock lock(mutex_);
    const bool pending = (mode & kPendingBit) != 0;
    // The daemon was configured without "persist on successful close" if no pending mark ever comes.
    guarded_ = guarded_ || pending;
    complete_ = !pending;
    return 0;
  }

  int Ftruncate(unsigned long long size) override {
    if (size == size_) return 0;
    return Failed(Doing("truncate"),
                  Fail(Code::kUnsupported, "an upload of {} bytes cannot be cut to {}", size_.load(), size));
  }

  int Close() override {
    if (copy_) copy_->End();
    MutexLock lock(mutex_);
    // XRootD lets clients close after a failed write; they must hear of it once more.
    if (failure_ != 0) return FailedBefore();
    if (!writer_) return -EBADF;
    if (guarded_ && !complete_) {
      Log(LogLevel::kWarning, "gateway", "upload of {} by {} was interrupted after {} bytes and is dropped",
          request_.path, request_.client, size_.load());
      Abandon();
      return 0;
    }
    if (request_.announced_size && *request_.announced_size != size_) {
      return GiveUp("close", Fail(Code::kInvalidArgument, "{} bytes came of an upload announced with {}",
                                  size_.load(), *request_.announced_size));
    }
    const Result<UserAttributes> attributes = attributes_->End();
    const Status attributes_set =
        attributes ? writer_->SetUserAttributes(*attributes) : Status(attributes.error());
    if (!attributes_set) return GiveUp("close", attributes_set.error());
    const Result<Committed> committed = SyncWait(writer_->Commit());
    writer_.reset();
    return committed ? 0 : Note("close", committed.error());
  }

 private:
  Attempt Doing(const char* name) const { return {name, request_.path, request_.client}; }

  int Note(const char* doing, const Error& error) XEC_REQUIRES(mutex_) {
    failure_ = Failed(Doing(doing), error);
    failure_text_ = error.message;
    return failure_;
  }

  int FailedBefore() const XEC_REQUIRES(mutex_) {
    RememberErrorText(failure_text_);
    return failure_;
  }

  // Lets go of what the upload holds: clients that fail may stay for long.
  int GiveUp(const char* doing, const Error& error) XEC_REQUIRES(mutex_) {
    Abandon();
    return Note(doing, error);
  }

  void Abandon() XEC_REQUIRES(mutex_) {
    SyncWait(writer_->Abandon());
    writer_.reset();
  }

  Gateway& gateway_;
  const UploadRequest request_;
  const UploadsOfClients::Upload attributes_;
  const UploadLine::ClientToken client_;
  std::shared_ptr<CopyReceiver::Expected> copy_;  // null unless a third party sends the bytes
  std::atomic<uint64_t> size_ = 0;                // bytes accepted
  Mutex mutex_{LockRank::kUpload};  // one request of the writer after another
  std::unique_ptr<WriteHandle> writer_ XEC_GUARDED_BY(mutex_);
  int failure_ XEC_GUARDED_BY(mutex_) = 0;  // -errno of the first failure; every later call answers it
  std::string failure_text_ XEC_GUARDED_BY(mutex_);  // and its sentence
  bool guarded_ XEC_GUARDED_BY(mutex_) = false;  // a pending mark was seen
  bool complete_ XEC_GUARDED_BY(mutex_) = false;  // and taken back
};

Result<std::unique_ptr<WriteHandle>> Create(Gateway& gateway, const UploadRequest& request) {
  XEC_ASSIGN_OR_RETURN(const Conditions conditions, Conditions::OfChange(request.opaque));
  CreateOptions options = gateway.CreateOptionsFor(request.path);
  XEC_ASSIGN_OR_RETURN(options.write.declared_checksums, DeclaredChecksums(request.opaque));
  XEC_ASSIGN_OR_RETURN(options.write.only_if, conditions.OfUpload(gateway, request.path, request.call));
  if (request.exclusive) options.write.only_if = OnlyIf::Absent();
  options.write.size_hint = request.announced_size;
  options.write.bytes_beside = kXrootdBufferBytes;
  return SyncWait(gateway.store().Create(request.path, std::move(options), request.call));
}

}  // namespace

Result<std::unique_ptr<OpenHandle>> StartUpload(Gateway& gateway, UploadRequest request) {
  if (!request.truncate) {
    return Fail(Code::kUnsupported, "{} cannot be changed in place; write it anew", request.path);
  }
  UploadLine& line = gateway.upload_line();
  // One that says anything else is another upload, with other conditions.
  const std::string key =
      fmt::format("{}\n{}\n{}\n{}", request.client, request.path, request.exclusive, request.opaque);
  UploadLine::Admitted admitted;
  if (request.asks_again && line.Has(key)) {
    XEC_ASSIGN_OR_RETURN(admitted, line.AskAgain(key));
  } else {
    line.DropLost();
    XEC_ASSIGN_OR_RETURN(std::unique_ptr<WriteHandle> writer, Create(gateway, request));
    XEC_ASSIGN_OR_RETURN(admitted, request.asks_again ? line.Enter(request.client, key, std::move(writer))
                                                      : line.EnterOnce(std::move(writer)));
  }
  if (!admitted.writer) return std::unique_ptr<OpenHandle>();
  return std::unique_ptr<OpenHandle>(
      std::make_unique<Upload>(gateway, std::move(request), std::move(admitted)));
}

}  // namespace xec

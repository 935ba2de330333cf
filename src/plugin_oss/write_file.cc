// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/write_file.hh"

#include <ctime>

#include "base/log.hh"
#include "base/units.hh"
#include "plugin_oss/conditions.hh"
#include "plugin_oss/declared_checksums.hh"
#include "plugin_oss/edit_file.hh"
#include "plugin_oss/file_status.hh"
#include "plugin_oss/prepared_edit.hh"
#include "plugin_oss/wanted_settings.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

// Of a connection that moves data, kept by XRootD as long as it lasts: its largest buffer.
constexpr uint64_t kXrootdBufferBytes = 2 * kMiB;
// XRootD's mark of a file whose upload is not over.
constexpr mode_t kPendingBit = 01000;

class Upload final : public OpenHandle {
 public:
  // `settings`: that it was created with.
  Upload(Gateway& gateway, UploadRequest request, Settings settings, UploadLine::ClientToken client,
         std::unique_ptr<ObjectEdit> edit)
      : gateway_(gateway),
        request_(std::move(request)),
        settings_(settings),
        attributes_(gateway.uploads_of_clients().Begin(request_.client, request_.path)),
        client_(std::move(client)),
        mark_(gateway.interrupted().Begin(request_.client, request_.path)),
        edit_(std::move(edit)) {
    if (!request_.copied) return;
    copy_ = gateway.copies().Expect(
        request_.client, request_.path,
        [this](const void* bytes, off_t offset, size_t size) { return Write(bytes, offset, size); });
  }

  ~Upload() override {
    if (copy_) copy_->End();
    MutexLock lock(mutex_);
    if (open_) Abandon();
  }

  // Ends the stream, so only for clients that mean it.
  ssize_t Read(void* buffer, off_t offset, size_t size) override {
    MutexLock lock(mutex_);
    if (failure_ != 0) return FailedBefore();
    if (!open_ || offset < 0) return open_ ? -EINVAL : -EBADF;
    const MutableByteSpan into(static_cast<std::byte*>(buffer), size);
    const Result<uint64_t> got = SyncWait(edit_.edit().Read(static_cast<uint64_t>(offset), into));
    if (!got) return Failed(Doing("read"), got.error());
    return static_cast<ssize_t>(*got);
  }
  ssize_t ReadV(XrdOucIOVec* pieces, int count) override { return ReadPieces(*this, pieces, count); }

  ssize_t Write(const void* buffer, off_t offset, size_t size) override {
    MutexLock lock(mutex_);
    if (failure_ != 0) return FailedBefore();
    if (!open_) return -EBADF;
    if (offset < 0)
      return GiveUp("write", Fail(Code::kInvalidArgument, "write at {}: there is no such place", offset));
    const ByteSpan bytes(static_cast<const std::byte*>(buffer), size);
    edit_.NoteChange();
    attributes_->BytesChange();
    const Status written = SyncWait(edit_.edit().Write(static_cast<uint64_t>(offset), bytes));
    if (!written) return GiveUp("write", written.error());
    return static_cast<ssize_t>(size);
  }

  int Fstat(struct stat* out) override {
    ObjectInfo info;
    info.size = size();
    info.mtime_ms = static_cast<int64_t>(std::time(nullptr)) * 1000;
    info.settings = settings_.With(attributes_->settings());
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
    MutexLock lock(mutex_);
    if (failure_ != 0) return FailedBefore();
    if (!open_) return -EBADF;
    edit_.NoteChange();
    attributes_->BytesChange();
    const Status cut = SyncWait(edit_.edit().Truncate(size));
    return cut ? 0 : GiveUp("truncate", cut.error());
  }

  bool Prepare(std::chrono::milliseconds patience) override {
    MutexLock lock(mutex_);
    return !open_ || edit_.Prepare(patience);
  }

  int Close() override {
    if (copy_) copy_->End();
    MutexLock lock(mutex_);
    const bool died = guarded_ && !complete_;
    if (!died) mark_.Over();
    // XRootD lets clients close after a failed write; they must hear of it once more.
    if (failure_ != 0) return FailedBefore();
    if (!open_) return -EBADF;
    if (died) {
      Log(LogLevel::kWarning, "gateway", "upload of {} by {} was interrupted after {} bytes and is dropped",
          request_.path, request_.client, size());
      Abandon();
      return 0;
    }
    if (request_.announced_size && *request_.announced_size != size()) {
      return GiveUp("close", Fail(Code::kInvalidArgument, "{} bytes came of an upload announced with {}",
                                  size(), *request_.announced_size));
    }
    const Status given = GiveAttributes();
    if (!given) return GiveUp("close", given.error());
    const Status committed = edit_.Commit();
    open_ = false;
    return committed ? 0 : Note("close", committed.error());
  }

 private:
  uint64_t size() { return edit_.edit().size(); }

  Attempt Doing(const char* name) const { return {name, request_.path, request_.client}; }

  Status GiveAttributes() XEC_REQUIRES(mutex_) {
    XEC_ASSIGN_OR_RETURN(const UploadAttributes::Given given, attributes_->End());
    XEC_TRY(SyncWait(edit_.edit().SetUserAttributes(given.attributes)));
    return given.settings.Any() ? SyncWait(edit_.edit().SetSettings(given.settings)) : OkStatus();
  }

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
    SyncWait(edit_.edit().Drop());
    open_ = false;
  }

  Gateway& gateway_;
  const UploadRequest request_;
  const Settings settings_;
  const UploadsOfClients::Upload attributes_;
  const UploadLine::ClientToken client_;
  InterruptedChanges::Mark mark_ XEC_GUARDED_BY(mutex_);
  std::shared_ptr<CopyReceiver::Expected> copy_;  // null unless a third party sends the bytes
  PreparedEdit edit_;
  Mutex mutex_{LockRank::kUpload};  // one request of the client after another
  bool open_ XEC_GUARDED_BY(mutex_) = true;  // neither closed nor given up
  int failure_ XEC_GUARDED_BY(mutex_) = 0;  // -errno of the first failure; every later call answers it
  std::string failure_text_ XEC_GUARDED_BY(mutex_);  // and its sentence
  bool guarded_ XEC_GUARDED_BY(mutex_) = false;  // a pending mark was seen
  bool complete_ XEC_GUARDED_BY(mutex_) = false;  // and taken back
};

Result<CreateOptions> OptionsOf(Gateway& gateway, const UploadRequest& request) {
  XEC_ASSIGN_OR_RETURN(const Conditions conditions, Conditions::OfChange(request.opaque));
  CreateOptions options = gateway.CreateOptionsFor(request.path);
  XEC_ASSIGN_OR_RETURN(options.write.declared_checksums, DeclaredChecksums(request.opaque));
  XEC_ASSIGN_OR_RETURN(options.write.only_if, conditions.OfUpload(gateway, request.path, request.call));
  if (request.exclusive) options.write.only_if = OnlyIf::Absent();
  XEC_ASSIGN_OR_RETURN(options.write.settings, SettingsWanted(request.opaque, request.mode));
  options.write.size_hint = request.announced_size;
  options.write.bytes_beside = kXrootdBufferBytes;
  return options;
}

}  // namespace

Result<std::shared_ptr<OpenHandle>> StartUpload(Gateway& gateway, UploadRequest request) {
  UploadLine& line = gateway.upload_line();
  // One that says anything else is another upload, with other conditions.
  const std::string key =
      fmt::format("{}\n{}\n{}\n{}", request.client, request.path, request.exclusive, request.opaque);
  UploadLine::Admitted admitted;
  if (request.asks_again && line.Has(key)) {
    XEC_ASSIGN_OR_RETURN(admitted, line.AskAgain(key));
  } else {
    line.DropLost();
    XEC_ASSIGN_OR_RETURN(CreateOptions options, OptionsOf(gateway, request));
    XEC_ASSIGN_OR_RETURN(std::unique_ptr<WriteHandle> writer,
                         SyncWait(gateway.store().Create(request.path, options, request.call)));
    XEC_ASSIGN_OR_RETURN(
        admitted, request.asks_again ? line.Enter(request.client, key, std::move(writer), std::move(options))
                                     : line.EnterOnce(std::move(writer), std::move(options)));
  }
  if (!admitted.writer) return std::shared_ptr<OpenHandle>();
  EditOptions options;
  options.upload = std::move(admitted.options);
  const Settings settings = options.upload.write.settings;
  auto edit = std::make_unique<ObjectEdit>(gateway.store(), gateway.scratch(), request.path,
                                           std::move(options), std::move(admitted.writer), request.call);
  return std::shared_ptr<OpenHandle>(std::make_shared<Upload>(gateway, std::move(request), settings,
                                                              std::move(admitted.client), std::move(edit)));
}

}  // namespace xec

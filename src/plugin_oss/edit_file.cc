// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/edit_file.hh"

#include <ctime>
#include <span>

#include "base/log.hh"
#include "plugin_oss/file_status.hh"
#include "plugin_oss/prepared_edit.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

class EditFile final : public OpenHandle {
 public:
  EditFile(Gateway& gateway, std::string path, std::string client, std::unique_ptr<ObjectEdit> edit)
      : gateway_(gateway), path_(std::move(path)), client_(std::move(client)), edit_(std::move(edit)) {}

  ssize_t Read(void* buffer, off_t offset, size_t size) override {
    if (offset < 0) return -EINVAL;
    const MutableByteSpan into(static_cast<std::byte*>(buffer), size);
    const Result<uint64_t> got = SyncWait(edit_.edit().Read(static_cast<uint64_t>(offset), into));
    if (!got) return Failed(Doing("read"), got.error());
    return static_cast<ssize_t>(*got);
  }
  ssize_t ReadV(XrdOucIOVec* pieces, int count) override { return ReadPieces(*this, pieces, count); }
  ssize_t Write(const void* buffer, off_t offset, size_t size) override {
    if (offset < 0) return -EINVAL;
    const ByteSpan bytes(static_cast<const std::byte*>(buffer), size);
    NoteChange();
    const Status written = SyncWait(edit_.edit().Write(static_cast<uint64_t>(offset), bytes));
    if (!written) return Failed(Doing("write"), written.error());
    return static_cast<ssize_t>(size);
  }
  int Fstat(struct stat* out) override {
    ObjectInfo info;
    info.size = edit_.edit().size();
    const std::optional<Version> version = SyncWait(edit_.edit().BaseVersion());
    if (version) info.version = *version;
    info.mtime_ms = version && !edit_.edit().changed() ? version->WallMillis()
                                                       : static_cast<int64_t>(std::time(nullptr)) * 1000;
    info.settings = SyncWait(edit_.edit().SettingsToTell());
    MutexLock lock(mutex_);
    if (given_) info.settings = info.settings.With(given_->settings());
    if (info.settings.mtime_ns) info.mtime_ms = MillisOf(*info.settings.mtime_ns);
    FillStat(gateway_, path_, info, out);
    return 0;
  }
  int Fchmod(mode_t) override { return 0; }
  int Ftruncate(unsigned long long size) override {
    NoteChange();
    return Answer(Doing("truncate"), SyncWait(edit_.edit().Truncate(size)));
  }
  bool Prepare(std::chrono::milliseconds patience) override { return edit_.Prepare(patience); }
  bool SyncCommits() const override { return true; }
  int Sync() override {
    const Status committed = Commit();
    if (committed && !edit_.edit().changed()) End();
    return Answer(Doing("sync"), committed);
  }
  int Close() override {
    // Of a client that died XRootD closes the file without asking the file system in front.
    if (edit_.prepared()) {
      End();
      return Answer(Doing("close"), Commit());
    }
    if (edit_.edit().changed())
      Log(LogLevel::kWarning, "gateway", "changes of {} by {} were interrupted and are dropped", path_,
          client_);
    SyncWait(edit_.edit().Drop());
    return 0;
  }

 private:
  Attempt Doing(const char* name) const { return {name, path_, client_}; }

  void NoteChange() {
    edit_.NoteChange();
    MutexLock lock(mutex_);
    if (!mark_) mark_.emplace(gateway_.interrupted().Begin(client_, path_));
    if (!given_) given_ = gateway_.edits_of_clients().Begin(client_, path_);
    given_->BytesChange();
  }
  void End() {
    MutexLock lock(mutex_);
    if (mark_) mark_->Over();
    mark_.reset();
  }

  // Takes what the client has set; what it sets from now on is for the version that is committed.
  Result<Settings> TakeGiven() {
    MutexLock lock(mutex_);
    const UploadsOfClients::Upload given = std::move(given_);
    if (!given) return Settings();
    XEC_ASSIGN_OR_RETURN(const UploadAttributes::Given ended, given->End());
    return ended.settings;
  }
  Status Commit() {
    XEC_ASSIGN_OR_RETURN(const Settings given, TakeGiven());
    if (given.Any()) XEC_TRY(SyncWait(edit_.edit().SetSettings(given)));
    return edit_.Commit();
  }

  Gateway& gateway_;
  const std::string path_, client_;
  PreparedEdit edit_;
  Mutex mutex_{LockRank::kUpload};  // over the marks'
  std::optional<InterruptedChanges::Mark> mark_ XEC_GUARDED_BY(mutex_);  // while there are changes
  UploadsOfClients::Upload given_ XEC_GUARDED_BY(mutex_);  // the same
};

}  // namespace

Result<std::shared_ptr<OpenHandle>> OpenEdit(Gateway& gateway, std::string path, std::string client,
                                             const CallOptions& call) {
  if (OpenOfThread::Get() == nullptr) {
    return Fail(Code::kUnsupported, "{} cannot be changed in place without the line `xrootd.fslib ++` of XEC",
                path);
  }
  EditOptions options;
  options.upload = gateway.CreateOptionsFor(path);
  // A write that copied the whole object would cost its client the connection.
  options.tail_in_scratch_max = UINT64_MAX;
  XEC_ASSIGN_OR_RETURN(
      std::unique_ptr<ObjectEdit> edit,
      SyncWait(ObjectEdit::Open(gateway.store(), gateway.scratch(), path, std::move(options), call)));
  return std::shared_ptr<OpenHandle>(
      std::make_shared<EditFile>(gateway, std::move(path), std::move(client), std::move(edit)));
}

ssize_t ReadPieces(OpenHandle& handle, XrdOucIOVec* pieces, int count) {
  ssize_t total = 0;
  for (const XrdOucIOVec& piece : std::span(pieces, static_cast<size_t>(count))) {
    if (piece.offset < 0 || piece.size < 0) return -ESPIPE;
    const ssize_t got = handle.Read(piece.data, piece.offset, static_cast<size_t>(piece.size));
    if (got < 0) return got;
    if (got < piece.size) return -ESPIPE;
    total += got;
  }
  return total;
}

}  // namespace xec

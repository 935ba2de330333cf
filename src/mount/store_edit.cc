// SPDX-License-Identifier: LGPL-3.0-or-later
#include "mount/store_edit.hh"

#include <algorithm>

#include "base/mutex.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

class StoreEdit final : public TreeEdit {
 public:
  StoreEdit(Store& store, std::string path, CreateOptions options, CallOptions call)
      : store_(store), path_(std::move(path)), options_(std::move(options)), call_(std::move(call)) {}

  Status Begin(bool truncate) {
    MutexLock lock(mutex_);
    if (truncate) {
      changed_ = true;
      return OkStatus();
    }
    return SetBase({});
  }

  uint64_t size() const override {
    const MutexLock lock(mutex_);
    return Size();
  }
  std::string version() const override {
    const MutexLock lock(mutex_);
    return base_ ? base_->version().ToString() : "";
  }
  bool changed() const override {
    const MutexLock lock(mutex_);
    return changed_;
  }

  Result<uint64_t> Read(uint64_t offset, MutableByteSpan into) override {
    MutexLock lock(mutex_);
    if (offset >= Size()) return 0;
    if (changed_) return Fail(Code::kUnsupported, "{} is being written and cannot be read yet", path_);
    return SyncWait(base_->Read(offset, into, call_));
  }

  Status Write(uint64_t offset, ByteSpan bytes) override {
    MutexLock lock(mutex_);
    if (failed_) return *failed_;
    if (offset != Size() || (!changed_ && Size() > 0))
      return Fail(Code::kUnsupported, "{} can only be written from its start to its end, in one go", path_);
    XEC_TRY(NeedWriter());
    const Status appended = SyncWait(writer_->Append(bytes, call_));
    if (!appended) failed_ = appended.error();
    return appended;
  }

  Status Truncate(uint64_t size) override {
    MutexLock lock(mutex_);
    if (size == Size()) return OkStatus();
    if (size > 0) return Fail(Code::kUnsupported, "{} of {} bytes cannot be cut to {}", path_, Size(), size);
    writer_.reset();
    failed_.reset();
    changed_ = true;
    return OkStatus();
  }

  Result<std::string> Commit() override {
    MutexLock lock(mutex_);
    if (failed_) return *failed_;
    XEC_TRY(NeedWriter());
    const Result<Committed> committed = SyncWait(writer_->Commit(call_));
    writer_.reset();
    if (!committed) {
      failed_ = committed.error();
      return committed.error();
    }
    XEC_TRY(SetBase(OnlyIf::Current(committed->version)));
    changed_ = false;
    return base_->version().ToString();
  }

 private:
  uint64_t Size() const XEC_REQUIRES(mutex_) {
    if (changed_) return writer_ ? writer_->size() : 0;
    return base_->size();
  }

  Status SetBase(OnlyIf only_if) XEC_REQUIRES(mutex_) {
    XEC_ASSIGN_OR_RETURN(base_, SyncWait(store_.Open(path_, only_if, call_)));
    return OkStatus();
  }

  Status NeedWriter() XEC_REQUIRES(mutex_) {
    if (writer_) return OkStatus();
    CreateOptions options = options_;
    options.make_parents = false;
    if (base_) options.write.only_if = OnlyIf::Current(base_->version());
    XEC_ASSIGN_OR_RETURN(writer_, SyncWait(store_.Create(path_, std::move(options), call_)));
    changed_ = true;
    return OkStatus();
  }

  Store& store_;
  const std::string path_;
  const CreateOptions options_;
  const CallOptions call_;
  mutable Mutex mutex_{LockRank::kUpload};
  std::shared_ptr<ReadHandle> base_ XEC_GUARDED_BY(mutex_);  // null: it began empty
  std::unique_ptr<WriteHandle> writer_ XEC_GUARDED_BY(mutex_);
  bool changed_ XEC_GUARDED_BY(mutex_) = false;
  std::optional<Error> failed_ XEC_GUARDED_BY(mutex_);
};

}  // namespace

Result<std::shared_ptr<TreeEdit>> OpenStoreEdit(Store& store, std::string path, CreateOptions options,
                                                bool truncate, CallOptions call) {
  auto edit = std::make_shared<StoreEdit>(store, std::move(path), std::move(options), std::move(call));
  XEC_TRY(edit->Begin(truncate));
  return std::shared_ptr<TreeEdit>(std::move(edit));
}

}  // namespace xec

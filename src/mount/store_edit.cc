// SPDX-License-Identifier: LGPL-3.0-or-later
#include "mount/store_edit.hh"

#include <algorithm>
#include <atomic>

#include "edit/edit_bytes.hh"
#include "edit/object_edit.hh"
#include "runtime/sync_wait.hh"
#include "runtime/task_lock.hh"

namespace xec {
namespace {

class StoreEdit final : public TreeEdit {
 public:
  explicit StoreEdit(std::unique_ptr<ObjectEdit> edit) : edit_(std::move(edit)) {}

  uint64_t size() const override { return edit_->size(); }
  bool changed() const override { return edit_->changed(); }
  std::string version() const override {
    const std::optional<Version> base = SyncWait(edit_->BaseVersion());
    return base ? base->ToString() : "";
  }

  Result<uint64_t> Read(uint64_t offset, MutableByteSpan into) override {
    return SyncWait(edit_->Read(offset, into));
  }
  Status Write(uint64_t offset, ByteSpan bytes) override { return SyncWait(edit_->Write(offset, bytes)); }
  Status Truncate(uint64_t size) override { return SyncWait(edit_->Truncate(size)); }
  Status Rest() override { return SyncWait(edit_->Rest()); }

  Result<std::string> Commit() override {
    XEC_ASSIGN_OR_RETURN(const std::optional<Committed> committed, SyncWait(edit_->Flush()));
    return committed ? committed->version.ToString() : version();
  }

 private:
  const std::unique_ptr<ObjectEdit> edit_;
};

// A file whose name is gone: all changes stay in scratch, and no upload is made, which would look for the
// name.
class NamelessEdit final : public TreeEdit {
 public:
  explicit NamelessEdit(Scratch& scratch) : bytes_(scratch) {}
  ~NamelessEdit() override { SyncWait(bytes_.Clear()); }

  void SetBase(std::shared_ptr<ReadHandle> base) {
    version_ = base->version().ToString();
    bytes_.SetBase(std::move(base));
    size_ = bytes_.size();
  }

  uint64_t size() const override { return size_; }
  bool changed() const override { return changed_; }
  std::string version() const override { return version_; }
  Result<uint64_t> Read(uint64_t offset, MutableByteSpan into) override {
    return SyncWait(ReadNow(offset, into));
  }
  Status Write(uint64_t offset, ByteSpan bytes) override { return SyncWait(WriteNow(offset, bytes)); }
  Status Truncate(uint64_t size) override { return SyncWait(TruncateNow(size)); }
  Status Rest() override { return OkStatus(); }
  Result<std::string> Commit() override { return version_; }

 private:
  Task<Result<uint64_t>> ReadNow(uint64_t offset, MutableByteSpan into) {
    const TaskLock::Held held = co_await lock_.Share();
    const uint64_t size = size_;
    const uint64_t count = std::min<uint64_t>(into.size(), size - std::min(size, offset));
    const Status read = co_await bytes_.Read(offset, into.first(count));
    if (!read) co_return read.error();
    co_return count;
  }
  Task<Status> WriteNow(uint64_t offset, ByteSpan bytes) {
    const TaskLock::Held held = co_await lock_.Take();
    changed_ = true;
    Status written = co_await bytes_.Write(offset, bytes);
    size_ = bytes_.size();
    co_return std::move(written);
  }
  Task<Status> TruncateNow(uint64_t size) {
    const TaskLock::Held held = co_await lock_.Take();
    changed_ = true;
    co_await bytes_.Truncate(size);
    size_ = size;
    co_return OkStatus();
  }

  std::string version_;
  TaskLock lock_;
  EditBytes bytes_;
  std::atomic<uint64_t> size_ = 0;
  std::atomic<bool> changed_ = false;
};

}  // namespace

Result<std::shared_ptr<TreeEdit>> OpenStoreEdit(Store& store, Scratch& scratch, std::string path,
                                                CreateOptions create, EditHow how, CallOptions call) {
  if (how.nameless) {
    auto edit = std::make_shared<NamelessEdit>(scratch);
    if (how.truncate) return std::shared_ptr<TreeEdit>(std::move(edit));
    XEC_ASSIGN_OR_RETURN(std::shared_ptr<ReadHandle> base, SyncWait(store.Open(path, call)));
    edit->SetBase(std::move(base));
    return std::shared_ptr<TreeEdit>(std::move(edit));
  }
  EditOptions options;
  options.upload = std::move(create);
  options.upload.make_parents = false;
  XEC_ASSIGN_OR_RETURN(std::unique_ptr<ObjectEdit> edit,
                       SyncWait(ObjectEdit::Open(store, scratch, std::move(path), std::move(options), call)));
  // Not an edit that begins empty: what was there keeps its attributes.
  if (how.truncate && edit->size() > 0) XEC_TRY(SyncWait(edit->Truncate(0)));
  return std::shared_ptr<TreeEdit>(std::make_shared<StoreEdit>(std::move(edit)));
}

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "mount/store_edit.hh"

#include "runtime/sync_wait.hh"

namespace xec {
namespace {

class StoreEdit final : public TreeEdit {
 public:
  explicit StoreEdit(std::unique_ptr<ObjectEdit> edit) : edit_(std::move(edit)) {}

  uint64_t size() const override { return edit_->size(); }
  bool changed() const override { return edit_->changed(); }
  bool stays() const override { return true; }
  std::string version() const override {
    const std::optional<Version> base = SyncWait(edit_->BaseVersion());
    return base ? base->ToString() : "";
  }

  Result<uint64_t> Read(uint64_t offset, MutableByteSpan into) override {
    return SyncWait(edit_->Read(offset, into));
  }
  Status Write(uint64_t offset, ByteSpan bytes) override { return SyncWait(edit_->Write(offset, bytes)); }
  Status Truncate(uint64_t size) override { return SyncWait(edit_->Truncate(size)); }
  Result<bool> SetSettings(const Settings& settings) override {
    XEC_TRY(SyncWait(edit_->SetSettings(settings)));
    return true;
  }
  Result<bool> Rest() override { return SyncWait(edit_->Rest()); }
  Status Hold() override { return SyncWait(edit_->Hold()); }
  void LoseName() override { SyncWait(edit_->LoseName()); }

  Result<std::string> Commit() override {
    XEC_ASSIGN_OR_RETURN(const std::optional<Committed> committed, SyncWait(edit_->Flush()));
    return committed ? committed->version.ToString() : version();
  }

 private:
  const std::unique_ptr<ObjectEdit> edit_;
};

}  // namespace

Result<std::shared_ptr<TreeEdit>> OpenStoreEdit(Store& store, Scratch& scratch, std::string path,
                                                EditOptions options, EditHow how, CallOptions call) {
  options.upload.make_parents = false;
  const bool any_version = options.last_writer_wins || how.only_if.empty();
  XEC_ASSIGN_OR_RETURN(std::unique_ptr<ObjectEdit> edit,
                       SyncWait(ObjectEdit::Open(store, scratch, path, std::move(options), call)));
  auto opened = std::make_shared<StoreEdit>(std::move(edit));
  if (!any_version && opened->version() != how.only_if)
    return Fail(Code::kNotCurrent, "{} was replaced", path);
  // Not an edit that begins empty: what was there keeps its attributes.
  if (how.truncate && opened->size() > 0) XEC_TRY(opened->Truncate(0));
  return std::shared_ptr<TreeEdit>(std::move(opened));
}

}  // namespace xec

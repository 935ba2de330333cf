// SPDX-License-Identifier: LGPL-3.0-or-later
#include "audit/audited_store.hh"

namespace xec {
namespace {

bool MayHaveHappened(Code code) {
  return code == Code::kUnknown || code == Code::kDeadlineExceeded || code == Code::kCancelled;
}

void TellOf(AuditLog& log, AuditRecord record, const Status& ended, const CallOptions& call) {
  if (!ended && !MayHaveHappened(ended.code())) return;
  if (!ended) record.result = "unknown";
  log.Write(record, call.caller.get());
}

void TellOf(AuditLog& log, std::string_view path, const Result<Committed>& ended, const Caller* caller) {
  if (!ended && !MayHaveHappened(ended.code())) return;
  AuditRecord record = {.event = "create", .path = path};
  if (ended) {
    if (ended->replaced) record.event = "replace";
    record.version = ended->version;
    record.size = ended->size;
  } else {
    record.result = "unknown";
  }
  log.Write(record, caller);
}

class AuditedWriter final : public WriteHandle {
 public:
  AuditedWriter(std::unique_ptr<WriteHandle> next, std::string path, std::shared_ptr<const Caller> caller,
                AuditLog& log)
      : next_(std::move(next)), path_(std::move(path)), caller_(std::move(caller)), log_(log) {}

  uint64_t size() const override { return next_->size(); }
  Task<Status> Reserve(CallOptions call) override { return next_->Reserve(std::move(call)); }
  bool KeepPlace() override { return next_->KeepPlace(); }
  Task<Status> Append(ByteSpan bytes, CallOptions call) override {
    return next_->Append(bytes, std::move(call));
  }
  Status SetUserAttributes(std::map<std::string, std::string> attributes) override {
    return next_->SetUserAttributes(std::move(attributes));
  }
  void SetSettings(Settings settings) override { next_->SetSettings(settings); }
  bool AllInMemory() const override { return next_->AllInMemory(); }
  Task<Status> EndStream(CallOptions call) override { return next_->EndStream(std::move(call)); }
  Task<Result<uint64_t>> ReadBack(uint64_t offset, MutableByteSpan into, CallOptions call) override {
    return next_->ReadBack(offset, into, std::move(call));
  }
  Task<Result<Committed>> Commit(CallOptions call) override {
    Result<Committed> committed = co_await next_->Commit(std::move(call));
    TellOf(log_, path_, committed, caller_.get());
    co_return std::move(committed);
  }
  Task<void> Abandon() override { return next_->Abandon(); }

 private:
  const std::unique_ptr<WriteHandle> next_;
  const std::string path_;
  const std::shared_ptr<const Caller> caller_;
  AuditLog& log_;
};

}  // namespace

Task<Result<std::unique_ptr<WriteHandle>>> AuditedStore::Create(std::string path, CreateOptions options,
                                                                CallOptions call) {
  std::shared_ptr<const Caller> caller = call.caller;
  Result<std::unique_ptr<WriteHandle>> writer =
      co_await next_.Create(path, std::move(options), std::move(call));
  if (!writer) co_return writer.error();
  co_return std::unique_ptr<WriteHandle>(
      std::make_unique<AuditedWriter>(std::move(*writer), std::move(path), std::move(caller), log_));
}

Task<Result<ObjectGone>> AuditedStore::Remove(std::string path, OnlyIf only_if, CallOptions call) {
  Result<ObjectGone> removed = co_await next_.Remove(path, only_if, call);
  AuditRecord record = {.event = "remove", .path = path};
  if (removed) {
    record.version = removed->version;
    record.size = removed->size;
  }
  TellOf(log_, record, removed, call);
  co_return std::move(removed);
}

Task<Status> AuditedStore::MakeDirectory(std::string path, bool parents, CallOptions call) {
  Status made = co_await next_.MakeDirectory(path, parents, call);
  TellOf(log_, {.event = "mkdir", .path = path}, made, call);
  co_return std::move(made);
}

Task<Status> AuditedStore::RemoveDirectory(std::string path, CallOptions call) {
  Status removed = co_await next_.RemoveDirectory(path, call);
  TellOf(log_, {.event = "rmdir", .path = path}, removed, call);
  co_return std::move(removed);
}

Task<Result<Renamed>> AuditedStore::Rename(std::string from, std::string to, RenameOptions options,
                                           CallOptions call) {
  Result<Renamed> renamed = co_await next_.Rename(from, to, options, call);
  AuditRecord record = {.event = "rename", .path = from, .to = to};
  if (renamed && !renamed->directory) {
    record.version = renamed->version;
    record.size = renamed->size;
  }
  TellOf(log_, record, renamed, call);
  co_return std::move(renamed);
}

Task<Result<Committed>> AuditedStore::Copy(std::string from, std::string to, CopyOptions options,
                                           CallOptions call) {
  Result<Committed> copied = co_await next_.Copy(std::move(from), to, std::move(options), call);
  TellOf(log_, to, copied, call.caller.get());
  co_return std::move(copied);
}

Task<Status> AuditedStore::SetAttribute(std::string path, std::string name, std::optional<std::string> value,
                                        OnlyIf only_if, CallOptions call) {
  Status set = co_await next_.SetAttribute(path, name, std::move(value), only_if, call);
  TellOf(log_, {.event = "attribute", .path = path, .what = name}, set, call);
  co_return std::move(set);
}

Task<Status> AuditedStore::SetSettings(std::string path, Settings settings, CallOptions call) {
  Status set = co_await next_.SetSettings(path, settings, call);
  TellOf(log_, {.event = settings.mode ? "mode" : "time", .path = path}, set, call);
  co_return std::move(set);
}

}  // namespace xec

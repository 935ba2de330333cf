// SPDX-License-Identifier: LGPL-3.0-or-later
// AuditedStore: a store that tells of each change, with its caller, before the caller hears of it.
#pragma once

#include "api/store.hh"
#include "audit/audit_log.hh"

namespace xec {

// Thread-safe as far as the store is. Told is what was changed, and what may have been (kUnknown,
// and what ended a limited call).
class AuditedStore final : public Store {
 public:
  // Both outlive it and its handles.
  AuditedStore(Store& next, AuditLog& log) : next_(next), log_(log) {}

  Task<Result<ObjectInfo>> Stat(std::string path, CallOptions call) override {
    return next_.Stat(std::move(path), std::move(call));
  }
  Task<Result<ObjectDescription>> Describe(std::string path, CallOptions call) override {
    return next_.Describe(std::move(path), std::move(call));
  }
  Task<Result<NamesPage>> List(std::string directory, ListOptions options, CallOptions call) override {
    return next_.List(std::move(directory), std::move(options), std::move(call));
  }
  Task<Result<std::shared_ptr<ReadHandle>>> Open(std::string path, OnlyIf only_if,
                                                 CallOptions call) override {
    return next_.Open(std::move(path), only_if, std::move(call));
  }
  Task<Status> KeepChecksum(std::string path, Version version, std::string algorithm, std::string hex,
                            CallOptions call) override {
    return next_.KeepChecksum(std::move(path), version, std::move(algorithm), std::move(hex),
                              std::move(call));
  }
  Task<Result<StoreSpace>> Space(CallOptions call) override { return next_.Space(std::move(call)); }

  Task<Result<std::unique_ptr<WriteHandle>>> Create(std::string path, CreateOptions options,
                                                    CallOptions call) override;
  Task<Result<ObjectGone>> Remove(std::string path, OnlyIf only_if, CallOptions call) override;
  Task<Status> MakeDirectory(std::string path, bool parents, CallOptions call) override;
  Task<Status> RemoveDirectory(std::string path, CallOptions call) override;
  Task<Result<Renamed>> Rename(std::string from, std::string to, RenameOptions options,
                               CallOptions call) override;
  Task<Result<Committed>> Copy(std::string from, std::string to, CopyOptions options,
                               CallOptions call) override;
  Task<Status> SetAttribute(std::string path, std::string name, std::optional<std::string> value,
                            OnlyIf only_if, CallOptions call) override;
  Task<Status> SetMode(std::string path, uint32_t mode, CallOptions call) override;

 private:
  Store& next_;
  AuditLog& log_;
};

}  // namespace xec

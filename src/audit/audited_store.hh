// SPDX-License-Identifier: LGPL-3.0-or-later
// AuditedStore: a store that tells of each change, with its caller, before the caller hears of it.
#pragma once

#include "api/passing_store.hh"
#include "audit/audit_log.hh"

namespace xec {

// Thread-safe as far as the store is. Told is what was changed, and what may have been (kUnknown,
// and what ended a limited call).
class AuditedStore final : public PassingStore {
 public:
  // Both outlive it and its handles.
  AuditedStore(Store& next, AuditLog& log) : PassingStore(next), log_(log) {}

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
  Task<Status> SetSettings(std::string path, Settings settings, CallOptions call) override;

 private:
  AuditLog& log_;
};

}  // namespace xec

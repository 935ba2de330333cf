// SPDX-License-Identifier: LGPL-3.0-or-later
// CountedStore: a store whose changes are summed up for their groups, and whose groups keep to their quotas.
#pragma once

#include <functional>

#include "api/store.hh"
#include "space/space_ledger.hh"

namespace xec {

// Thread-safe as far as the store is. What would go beyond a quota is kOverQuota, and nothing is changed
// then; what may have happened (kUnknown) counts when the store is counted the next time. No change asks a
// server more than it would otherwise, unless a quota is about to be exceeded, or an object is to come into a
// group with one from another name.
class CountedStore final : public Store {
 public:
  // Awaited before a quota is looked at: brings the ledger up to date if need be.
  using Refresh = std::function<Task<void>()>;

  // Both references outlive it and its handles. `wall_ms`: milliseconds since 1970.
  CountedStore(Store& next, SpaceLedger& ledger, Refresh refresh, std::function<int64_t()> wall_ms)
      : next_(next), ledger_(ledger), refresh_(std::move(refresh)), wall_ms_(std::move(wall_ms)) {}

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
  Task<Status> MakeDirectory(std::string path, bool parents, CallOptions call) override {
    return next_.MakeDirectory(std::move(path), parents, std::move(call));
  }
  Task<Status> RemoveDirectory(std::string path, CallOptions call) override {
    return next_.RemoveDirectory(std::move(path), std::move(call));
  }
  Task<Status> SetAttribute(std::string path, std::string name, std::optional<std::string> value,
                            OnlyIf only_if, CallOptions call) override {
    return next_.SetAttribute(std::move(path), std::move(name), std::move(value), only_if, std::move(call));
  }
  Task<Status> SetMode(std::string path, uint32_t mode, CallOptions call) override {
    return next_.SetMode(std::move(path), mode, std::move(call));
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
  Task<Result<Renamed>> Rename(std::string from, std::string to, RenameOptions options,
                               CallOptions call) override;
  Task<Result<Committed>> Copy(std::string from, std::string to, CopyOptions options,
                               CallOptions call) override;

 private:
  // For what comes to `to` from another name.
  Task<Status> ClaimFor(SpaceClaim& claim, std::string from, std::string to, CallOptions call);

  Store& next_;
  SpaceLedger& ledger_;
  const Refresh refresh_;
  const std::function<int64_t()> wall_ms_;
};

}  // namespace xec

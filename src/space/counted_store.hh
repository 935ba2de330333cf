// SPDX-License-Identifier: LGPL-3.0-or-later
// CountedStore: a store whose changes are summed up for their groups, and whose groups keep to their quotas.
#pragma once

#include <functional>

#include "api/passing_store.hh"
#include "space/space_ledger.hh"

namespace xec {

// Thread-safe as far as the store is. What would go beyond a quota is kOverQuota, and nothing is changed
// then; what may have happened (kUnknown) counts when the store is counted the next time. No change asks a
// server more than it would otherwise, unless a quota is about to be exceeded, or an object is to come into a
// group with one from another name.
class CountedStore final : public PassingStore {
 public:
  // Awaited before a quota is looked at: brings the ledger up to date if need be.
  using Refresh = std::function<Task<void>()>;

  // Both references outlive it and its handles. `wall_ms`: milliseconds since 1970.
  CountedStore(Store& next, SpaceLedger& ledger, Refresh refresh, std::function<int64_t()> wall_ms)
      : PassingStore(next), ledger_(ledger), refresh_(std::move(refresh)), wall_ms_(std::move(wall_ms)) {}

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

  SpaceLedger& ledger_;
  const Refresh refresh_;
  const std::function<int64_t()> wall_ms_;
};

}  // namespace xec

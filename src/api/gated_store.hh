// SPDX-License-Identifier: LGPL-3.0-or-later
// GatedStore: a store behind a gate. Before each operation it asks the gate about each name in it: whether
// there is a store yet, whether this process may still go by what it knows of it, whether the name is
// offered, whether the caller may; the gate's error is the answer otherwise.
#pragma once

#include "api/store.hh"

namespace xec {

// Thread-safe as far as the gate is.
class GatedStore final : public Store {
 public:
  // The store to use now for the name ("" for what is asked about all). The store never goes before the
  // gate.
  using Gate = std::function<Result<Store*>(std::string_view path, const CallOptions& call)>;

  explicit GatedStore(Gate gate) : gate_(std::move(gate)) {}

  Task<Result<ObjectInfo>> Stat(std::string path, CallOptions call) override;
  Task<Result<ObjectDescription>> Describe(std::string path, CallOptions call) override;
  Task<Result<NamesPage>> List(std::string directory, ListOptions options, CallOptions call) override;
  Task<Result<std::unique_ptr<WriteHandle>>> Create(std::string path, CreateOptions options,
                                                    CallOptions call) override;
  Task<Result<std::shared_ptr<ReadHandle>>> Open(std::string path, OnlyIf only_if, CallOptions call) override;
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
  Task<Status> KeepChecksum(std::string path, Version version, std::string algorithm, std::string hex,
                            CallOptions call) override;
  Task<Result<StoreSpace>> Space(CallOptions call) override;

 private:
  // For what has two names.
  Result<Store*> BothPass(std::string_view from, std::string_view to, const CallOptions& call) const;

  const Gate gate_;
};

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// GatedStore: the store as front ends see it. Before each operation it asks a gate about each name in it:
// whether there is a store yet, whether this process may still go by what it knows of it, whether the name is
// offered; the gate's error is the answer otherwise.
#pragma once

#include <functional>

#include "store/store.hh"

namespace xec {

// Thread-safe as far as the gate is.
class GatedStore final : public Store {
 public:
  // The store to use now for the name ("" for what is asked about all). The store never goes before the
  // gate.
  using Gate = std::function<Result<Store*>(std::string_view path)>;

  explicit GatedStore(Gate gate) : gate_(std::move(gate)) {}

  Task<Result<ObjectInfo>> Stat(std::string path) override;
  Task<Result<std::vector<ListedName>>> List(std::string path) override;
  Task<Result<std::unique_ptr<ObjectWriter>>> Create(std::string path, CreateOptions options) override;
  Task<Result<std::shared_ptr<ObjectReader>>> OpenRead(std::string path) override;
  Task<Status> Remove(std::string path) override;
  Task<Status> MakeDirectory(std::string path, bool parents) override;
  Task<Status> RemoveDirectory(std::string path) override;
  Task<Status> Rename(std::string from, std::string to) override;
  Task<Result<std::map<std::string, std::string>>> Checksums(std::string path) override;
  Task<Result<VersionChecksums>> LaterChecksums(std::string path) override;
  Task<Status> KeepChecksum(std::string path, Version version, std::string algorithm,
                            std::string hex) override;
  Task<Result<std::map<std::string, std::string>>> GetUserAttributes(std::string path) override;
  Task<Status> SetUserAttribute(std::string path, std::string name,
                                std::optional<std::string> value) override;
  Task<Result<StoreSpace>> Space() override;
  Task<Result<CleanReport>> Clean() override;
  Task<Result<StoredNames>> ListStored(std::string directory) override;
  Task<Result<bool>> BringIntoTree(std::string path) override;
  Task<Result<RepairReport>> Repair(std::string path, RepairOptions options) override;

 private:
  const Gate gate_;
};

}  // namespace xec

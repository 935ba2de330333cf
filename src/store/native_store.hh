// SPDX-License-Identifier: LGPL-3.0-or-later
// The native layout: append-only versions, all promises.
#pragma once

#include <limits>

#include "store/store.hh"

namespace xec {

class NativeStore final : public Store {
 public:
  explicit NativeStore(Engine& engine)
      : engine_(engine), rests_(engine.RandomBelow(std::numeric_limits<uint64_t>::max())) {}

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
  // `path`: of the text.
  Task<Result<NameInfo>> LookUpObject(std::string text, Result<ObjectPath> path);
  // `version`: of no other.
  Task<Status> ChangeAttributeOf(std::string path, std::optional<Version> version, std::string name,
                                 std::optional<std::string> value);

  Engine& engine_;
  NamesAtRest rests_;  // that its cleaner knows
};

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// LayoutStore: what the two layouts have in common. EngineStore makes of it what front ends see.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/store.hh"
#include "api/store_maintenance.hh"
#include "commit/clean/cleaner.hh"
#include "commit/engine/names.hh"
#include "object/read/object_reader.hh"
#include "object/repair/repair.hh"
#include "object/write/object_writer.hh"
#include "protocol/attribute_set.hh"
#include "store/client_requests.hh"

namespace xec {

// Thread-safe. Paths as of Store.
class LayoutStore {
 public:
  virtual ~LayoutStore() = default;

  virtual Task<Result<ObjectInfo>> Stat(std::string path) = 0;
  virtual Task<Result<ObjectDescription>> Describe(std::string path) = 0;
  virtual Task<Result<std::vector<ListedName>>> List(std::string path) = 0;
  // `options.limit`: at least 1.
  virtual Task<Result<NamesPage>> ListPage(std::string path, ListOptions options);
  virtual Task<Result<std::unique_ptr<ObjectWriter>>> Create(std::string path, CreateOptions options) = 0;
  virtual Task<Result<std::shared_ptr<ObjectReader>>> OpenRead(std::string path) = 0;
  virtual Task<Result<ObjectGone>> Remove(std::string path, OnlyIf only_if = {}) = 0;
  virtual Task<Status> MakeDirectory(std::string path, bool parents) = 0;
  virtual Task<Status> RemoveDirectory(std::string path) = 0;
  virtual Task<Result<Renamed>> Rename(std::string from, std::string to, RenameOptions options = {}) = 0;

  // Any attribute of the name, also those of the store's own. Replace changes the whole map atomically.
  virtual Task<Status> ChangeAttributes(std::string path, AttributeChanges changes, OnlyIf only_if) = 0;
  Task<Status> SetAttribute(std::string path, std::string name, std::optional<std::string> value,
                            OnlyIf only_if = {}) {
    return ChangeAttributes(std::move(path), {{std::move(name), std::move(value)}}, only_if);
  }
  // As Store::KeepChecksum.
  virtual Task<Status> KeepChecksum(std::string path, Version version, std::string algorithm,
                                    std::string hex) = 0;

  virtual Task<Result<StoreSpace>> Space() = 0;

  // As of StoreMaintenance.
  // Error: kCancelled when `options` ended it. A pass of layout xrdec always begins at the beginning.
  virtual Task<Result<CleanReport>> Clean(CleanOptions options = CleanOptions()) = 0;
  virtual Task<Result<StoredNames>> ListStored(std::string directory);
  virtual Task<Result<bool>> BringIntoTree(std::string path);
  virtual Task<Result<RepairReport>> Repair(std::string path, RepairOptions options) = 0;

  // Objects in which readers met damage that Repair can mend; nobody does it by himself.
  RepairQueue& damage() { return *damage_; }
  // Calls of front ends under way.
  const std::shared_ptr<ClientRequests>& clients() const { return clients_; }

 protected:
  const std::shared_ptr<RepairQueue> damage_ = std::make_shared<RepairQueue>();

 private:
  const std::shared_ptr<ClientRequests> clients_ = std::make_shared<ClientRequests>();
};

}  // namespace xec

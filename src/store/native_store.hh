// SPDX-License-Identifier: LGPL-3.0-or-later
// The native layout: append-only versions, all promises.
#pragma once

#include <limits>

#include "commit/programs/list_page.hh"
#include "store/layout_store.hh"

namespace xec {

class NativeStore final : public LayoutStore {
 public:
  explicit NativeStore(Engine& engine)
      : engine_(engine), rests_(engine.RandomBelow(std::numeric_limits<uint64_t>::max())) {}

  Task<Result<ObjectInfo>> Stat(std::string path) override;
  Task<Result<ObjectDescription>> Describe(std::string path) override;
  Task<Result<std::vector<ListedName>>> List(std::string path) override;
  Task<Result<NamesPage>> ListPage(std::string path, ListOptions options) override;
  Task<Result<std::unique_ptr<ObjectWriter>>> Create(std::string path, CreateOptions options) override;
  Task<Result<std::shared_ptr<ObjectReader>>> OpenRead(std::string path) override;
  Task<Result<ObjectGone>> Remove(std::string path, OnlyIf only_if) override;
  Task<Status> MakeDirectory(std::string path, bool parents) override;
  Task<Status> RemoveDirectory(std::string path) override;
  Task<Result<Renamed>> Rename(std::string from, std::string to, RenameOptions options) override;
  Task<Status> KeepChecksum(std::string path, Version version, std::string algorithm,
                            std::string hex) override;
  Task<Status> ChangeAttributes(std::string path, AttributeChanges changes, OnlyIf only_if) override;
  Task<Result<StoreSpace>> Space() override;
  Task<Result<CleanReport>> Clean(CleanOptions options) override;
  Task<Result<StoredNames>> ListStored(std::string directory) override;
  Task<Result<bool>> BringIntoTree(std::string path) override;
  Task<Result<RepairReport>> Repair(std::string path, RepairOptions options) override;

 private:
  // `path`: of the text.
  Task<Result<NameInfo>> LookUpObject(std::string text, Result<ObjectPath> path);

  Engine& engine_;
  NamesAtRest rests_;  // that its cleaner knows
  ListCursors cursors_;
};

}  // namespace xec

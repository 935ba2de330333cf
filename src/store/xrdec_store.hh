// SPDX-License-Identifier: LGPL-3.0-or-later
// The xrdec layout: objects as stock XrdEc reads and writes them, written once. What it promises less than
// the native layout: docs/configuration.md, "Layout xrdec".
#pragma once

#include "commit/programs/attributes.hh"
#include "store/layout_store.hh"
#include "xrdec/look.hh"

namespace xec {

class XrdecStore final : public LayoutStore {
 public:
  explicit XrdecStore(Engine& engine) : engine_(engine) {}

  Task<Result<ObjectInfo>> Stat(std::string path) override;
  // Of checksums those that the object was written with, and later ones in the register, where stock clients
  // do not look; stock clients leave at most adler32.
  Task<Result<ObjectDescription>> Describe(std::string path) override;
  Task<Result<std::vector<ListedName>>> List(std::string path) override;
  // kAlreadyExists over an object, exclusive or not: nothing is replaced.
  Task<Result<std::unique_ptr<ObjectWriter>>> Create(std::string path, CreateOptions options) override;
  Task<Result<std::shared_ptr<ObjectReader>>> OpenRead(std::string path) override;
  // Conditions other than that nothing is there: kUnsupported, as everywhere here.
  Task<Result<ObjectGone>> Remove(std::string path, OnlyIf only_if) override;
  Task<Status> MakeDirectory(std::string path, bool parents) override;
  Task<Status> RemoveDirectory(std::string path) override;
  // Objects only, onto a name that does not exist; kUnsupported for directories.
  Task<Result<Renamed>> Rename(std::string from, std::string to, RenameOptions options) override;
  Task<Status> KeepChecksum(std::string path, Version version, std::string algorithm,
                            std::string hex) override;
  // kUnsupported for directories.
  Task<Status> ChangeAttributes(std::string path, AttributeChanges changes, OnlyIf only_if) override;
  Task<Result<StoreSpace>> Space() override;
  Task<Result<CleanReport>> Clean(CleanOptions options) override;
  Task<Result<RepairReport>> Repair(std::string path, RepairOptions options) override;

 private:
  Task<Result<ObjectDescription>> DescribeArchives(const XrdecName& name);
  Task<Status> NeedParent(ObjectPath path, bool make);
  // What the text names must be an object.
  Task<Result<XrdecName>> LookUpArchives(std::string text, ObjectPath path);
  // `name` is in the register, and was looked up with its archives.
  Task<Status> ChangeRegistered(XrdecName name, AttributeChanges changes);
  Task<Result<std::optional<AttributeRevision>>> AttributesSetFor(const XrdecName& name);

  Engine& engine_;
};

}  // namespace xec

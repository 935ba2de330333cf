// SPDX-License-Identifier: LGPL-3.0-or-later
// The xrdec layout: objects as stock XrdEc reads and writes them, written once. What it promises less than
// the native layout: docs/configuration.md, "Layout xrdec".
#pragma once

#include "commit/attributes.hh"
#include "store/store.hh"
#include "xrdec/look.hh"

namespace xec {

class XrdecStore final : public Store {
 public:
  explicit XrdecStore(Engine& engine) : engine_(engine) {}

  Task<Result<ObjectInfo>> Stat(std::string path) override;
  Task<Result<std::vector<ListedName>>> List(std::string path) override;
  // kAlreadyExists over an object, exclusive or not: nothing is replaced.
  Task<Result<std::unique_ptr<ObjectWriter>>> Create(std::string path, CreateOptions options) override;
  Task<Result<std::shared_ptr<ObjectReader>>> OpenRead(std::string path) override;
  Task<Status> Remove(std::string path) override;
  Task<Status> MakeDirectory(std::string path, bool parents) override;
  Task<Status> RemoveDirectory(std::string path) override;
  // Objects only, onto a name that does not exist; kUnsupported for directories.
  Task<Status> Rename(std::string from, std::string to) override;
  // Those that the object was written with; stock clients leave at most adler32.
  Task<Result<std::map<std::string, std::string>>> Checksums(std::string path) override;
  // Kept in the register, where stock clients do not look; kUnsupported for directories.
  Task<Result<VersionChecksums>> LaterChecksums(std::string path) override;
  Task<Status> KeepChecksum(std::string path, Version version, std::string algorithm,
                            std::string hex) override;
  Task<Result<std::map<std::string, std::string>>> GetUserAttributes(std::string path) override;
  Task<Status> SetUserAttribute(std::string path, std::string name,
                                std::optional<std::string> value) override;
  Task<Result<StoreSpace>> Space() override;
  Task<Result<CleanReport>> Clean() override;
  Task<Result<RepairReport>> Repair(std::string path, RepairOptions options) override;

 private:
  Task<Status> NeedParent(ObjectPath path, bool make);
  // What the text names must be an object.
  Task<Result<XrdecName>> LookUpArchives(std::string text, ObjectPath path);
  // `name` is in the register, and was looked up with its archives.
  Task<Status> ChangeRegistered(XrdecName name, std::string attribute, std::optional<std::string> value);
  Task<Result<std::optional<AttributeRevision>>> AttributesSetFor(const XrdecName& name);

  Engine& engine_;
};

}  // namespace xec

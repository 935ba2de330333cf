// SPDX-License-Identifier: LGPL-3.0-or-later
// Store: what every front end works with. Names and objects; what operators do with a store is in
// store_maintenance.hh.
#pragma once

#include <functional>

#include "api/handles.hh"
#include "api/object_info.hh"

namespace xec {

// Begin with OpenedStore::CreateOptionsFor: what the configuration wants.
struct CreateOptions {
  WriteOptions write;
  bool make_parents = true;  // else a missing parent is kNotFound
};

struct RenameOptions {
  OnlyIf source;  // `absent` means nothing here
  OnlyIf target;  // of objects only
};

struct Renamed {
  bool directory = false;  // then nothing else is told
  Version version = {};    // at the old name
  uint64_t size = 0;       // bytes
  std::optional<ObjectGone> replaced = {};  // at the new one
};

struct CopyOptions {
  CreateOptions create;
  OnlyIf source;
  bool attributes =
      true;  // those of the source, with its settings but for the time, in place of those in `create`
  // Hears of the bytes copied so far. False: stop, with kCancelled and nothing visible.
  std::function<bool(uint64_t bytes)> progress = [](uint64_t) { return true; };
};

// Thread-safe. A condition (OnlyIf) may be left out. All paths are given as users write them; each operation
// validates (kInvalidArgument): at most kPathBytesMax bytes, no zero, no line end (docs/limits.md, "Names,
// directories and listings"). A slash at the end of one says "directory": kNotDirectory where an object is
// there, kIsDirectory for an upload. Every operation may also answer kNoQuorum ("cannot tell, retry"; also
// while the store is not open yet), and with a limited call kDeadlineExceeded and kCancelled. Of a change
// also kUnknown: "unknown, retry".
class Store {
 public:
  virtual ~Store() = default;

  // Errors: kNotFound.
  virtual Task<Result<ObjectInfo>> Stat(std::string path, CallOptions call = {}) = 0;

  // All of one version. Costs a look into an archive besides. Errors: kNotFound; kDataLoss and kUnavailable,
  // as reading.
  virtual Task<Result<ObjectDescription>> Describe(std::string path, CallOptions call = {}) = 0;

  // A page of what is in the directory. A listing that begins shows what was there then (promise P10). Pages
  // that follow within a minute may be of the same look: what is made or removed meanwhile may be in them or
  // not. Errors: kNotFound, kNotDirectory.
  virtual Task<Result<NamesPage>> List(std::string directory, ListOptions options, CallOptions call = {}) = 0;

  // Errors: kIsDirectory, kNotFound and kNotDirectory (the parent), kAlreadyExists, kUnsupported (an option
  // that the layout does not offer).
  virtual Task<Result<std::unique_ptr<WriteHandle>>> Create(std::string path, CreateOptions options,
                                                            CallOptions call = {}) = 0;

  // Errors: kNotFound, kIsDirectory, kNotCurrent.
  virtual Task<Result<std::shared_ptr<ReadHandle>>> Open(std::string path, OnlyIf only_if = {},
                                                         CallOptions call = {}) = 0;

  Task<Result<std::shared_ptr<ReadHandle>>> Open(std::string path, CallOptions call) {
    return Open(std::move(path), OnlyIf(), std::move(call));
  }

  // An object. Errors: kNotFound, kIsDirectory, kNotCurrent.
  virtual Task<Result<ObjectGone>> Remove(std::string path, OnlyIf only_if = {}, CallOptions call = {}) = 0;
  Task<Result<ObjectGone>> Remove(std::string path, CallOptions call) {
    return Remove(std::move(path), OnlyIf(), std::move(call));
  }

  // `parents`: what is missing above it is made too. Errors: kAlreadyExists, kNotFound, kNotDirectory,
  // kConflict.
  virtual Task<Status> MakeDirectory(std::string path, bool parents, CallOptions call = {}) = 0;

  // An empty one. Errors: kNotFound, kNotDirectory, kNotEmpty, kConflict.
  virtual Task<Status> RemoveDirectory(std::string path, CallOptions call = {}) = 0;

  // An object (replacing an object at the target) or a directory (the target must not exist, or be an empty
  // directory). Errors: kNotFound, kIsDirectory, kNotDirectory, kAlreadyExists, kNotEmpty, kNotCurrent,
  // kConflict; kUnsupported (layout xrdec: directories).
  virtual Task<Result<Renamed>> Rename(std::string from, std::string to, RenameOptions options = {},
                                       CallOptions call = {}) = 0;

  // An object, within the store: no client moves its bytes. They are verified as they are read, and the copy
  // is committed as an upload is. Errors: those of Open, Read, Create, Append and Commit.
  virtual Task<Result<Committed>> Copy(std::string from, std::string to, CopyOptions options,
                                       CallOptions call = {}) = 0;

  // Sets a user attribute, or removes it. Errors: kNotFound, kNotCurrent, kInvalidArgument (a name that is
  // not for users; too many, too large), kConflict.
  virtual Task<Status> SetAttribute(std::string path, std::string name, std::optional<std::string> value,
                                    OnlyIf only_if = {}, CallOptions call = {}) = 0;
  Task<Status> SetAttribute(std::string path, std::string name, std::optional<std::string> value,
                            CallOptions call) {
    return SetAttribute(std::move(path), std::move(name), std::move(value), OnlyIf(), std::move(call));
  }

  // Mode and time, those that are there, of the version that lives: what replaces it has its own. Whether an
  // object is a link is said where it is created, and stays. Errors: as SetAttribute.
  virtual Task<Status> SetSettings(std::string path, Settings settings, CallOptions call = {}) = 0;

  // Keeps a checksum that was computed since the version was written. Errors: kNotCurrent; kUnsupported for
  // an object of layout xrdec that a stock client wrote; as SetAttribute.
  virtual Task<Status> KeepChecksum(std::string path, Version version, std::string algorithm, std::string hex,
                                    CallOptions call = {}) = 0;

  virtual Task<Result<StoreSpace>> Space(CallOptions call = {}) = 0;
};

// Lists page after page, from `options.after` on, and gives each one to `take`, which must not block. It
// answers whether it wants more. Errors: as Store::List.
Task<Status> ForEachPage(Store& store, std::string directory, ListOptions options,
                         std::function<bool(NamesPage page)> take, CallOptions call = {});

// All pages of one listing, for callers that can hold it. Errors: as Store::List.
Task<Result<std::vector<ListedName>>> ListAll(Store& store, std::string directory, CallOptions call = {});

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// Store: the facade that every front end uses (gateway plug-in, CLI, simulator). It chooses the layout's
// implementation, keeps directories consistent with what lies below them and runs the cleaner.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "archive/manifest.hh"
#include "commit/cleaner.hh"
#include "commit/names.hh"
#include "object/object_reader.hh"
#include "object/object_writer.hh"
#include "object/repair.hh"
#include "store/later_checksums.hh"

namespace xec {

struct ObjectInfo {
  bool directory = false;
  uint64_t size = 0;
  int64_t mtime_ms = 0;
  Version version;
  std::optional<uint32_t> mode = {};  // as a client has set it (store/mode.hh)
};

struct CreateOptions {
  WriteOptions write;
  bool make_parents = true;  // else a missing parent is kNotFound
};

struct StoreSpace {
  uint64_t raw_total_bytes = 0, raw_free_bytes = 0;        // of all servers heard
  uint64_t usable_total_bytes = 0, usable_free_bytes = 0;  // times k/(k+m) of the store's geometry
  size_t servers_heard = 0;
};

// What stands in a directory on the servers, whether it lives itself or not.
struct StoredNames {
  std::vector<ListedName> names;  // that live, sorted
  // Paths of directories in it that do not live, but below which something may stand.
  std::vector<std::string> gone;
};

// What one pass of the cleaner did.
struct CleanReport {
  uint64_t names = 0;        // object directories visited
  uint64_t removed = 0;      // files and marks removed
  uint64_t left = 0;         // states that wait for a grace time or a missing server
  std::vector<ThinObject> thin;  // objects that lack archives; damage() has been told
};

// Thread-safe. All paths are given as users write them; each operation validates (kInvalidArgument). A slash
// at the end of one says "directory": kNotDirectory where an object is there, kIsDirectory for an upload.
class Store {
 public:
  virtual ~Store() = default;

  // `engine` outlives the store.
  static std::unique_ptr<Store> Make(Engine& engine);

  virtual Task<Result<ObjectInfo>> Stat(std::string path) = 0;
  virtual Task<Result<std::vector<ListedName>>> List(std::string path) = 0;
  virtual Task<Result<std::unique_ptr<ObjectWriter>>> Create(std::string path, CreateOptions options) = 0;
  virtual Task<Result<std::shared_ptr<ObjectReader>>> OpenRead(std::string path) = 0;
  virtual Task<Status> Remove(std::string path) = 0;           // an object
  virtual Task<Status> MakeDirectory(std::string path, bool parents) = 0;
  virtual Task<Status> RemoveDirectory(std::string path) = 0;  // an empty one
  // Renames an object (replacing an object at the target) or a directory (the target must not exist, or be
  // an empty directory).
  virtual Task<Status> Rename(std::string from, std::string to) = 0;

  // Stored checksums of an object, O(1): algorithm -> hex.
  virtual Task<Result<std::map<std::string, std::string>>> Checksums(std::string path) = 0;

  // Those that were computed since it was written, O(1) too.
  virtual Task<Result<VersionChecksums>> LaterChecksums(std::string path) = 0;
  // Keeps one with the version that it is of. Errors: kConflict if another one lives there by now;
  // kUnsupported for an object of layout xrdec that a stock client wrote; as of SetUserAttribute.
  virtual Task<Status> KeepChecksum(std::string path, Version version, std::string algorithm,
                                    std::string hex) = 0;

  // User attributes of an object. Replace changes the whole map atomically.
  virtual Task<Result<std::map<std::string, std::string>>> GetUserAttributes(std::string path) = 0;
  virtual Task<Status> SetUserAttribute(std::string path, std::string name,
                                        std::optional<std::string> value) = 0;

  virtual Task<Result<StoreSpace>> Space() = 0;

  // One pass over every name of the store: rolls forward, finishes moves, removes debris past its grace time.
  virtual Task<Result<CleanReport>> Clean() = 0;

  // What census and repair walk along, so that nothing is hidden from them. `directory`: as given by them.
  virtual Task<Result<StoredNames>> ListStored(std::string directory);
  // Makes the directories above an object that are gone, so that listings find it (promise P10). True: some
  // were. Errors: kNotDirectory (an object has the name of one), as MakeDirectory.
  virtual Task<Result<bool>> BringIntoTree(std::string path);

  // Writes what is lost or damaged of an object anew, and verifies it then; see RepairObject. One at a time.
  // Error: kUnsupported for layout xrdec.
  virtual Task<Result<RepairReport>> Repair(std::string path, RepairOptions options) = 0;

  // Objects in which readers met damage that Repair can mend; nobody does it by himself.
  RepairQueue& damage() { return *damage_; }

 protected:
  const std::shared_ptr<RepairQueue> damage_ = std::make_shared<RepairQueue>();
};

}  // namespace xec

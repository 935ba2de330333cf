// SPDX-License-Identifier: LGPL-3.0-or-later
// MountedTree: the names and files that a mount shows, wherever they are. The side of the kernel sees nothing
// else.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.hh"
#include "base/result.hh"
#include "protocol/settings.hh"

namespace xec {

constexpr int64_t kNanosInMilli = 1'000'000;

struct TreeEntry {
  bool directory = false;
  bool link = false;  // a symbolic link, whose target is what a reader of it reads
  uint64_t size = 0;  // bytes
  int64_t mtime_ns = 0;  // since 1970
  std::optional<uint32_t> mode = {};  // permission bits; none: nobody has set it
  std::string version = {};  // of a file: another one whenever its bytes may differ
  // Of the last change of which we know, whatever time was set; none: as mtime_ns.
  std::optional<int64_t> ctime_ns = {};
};

struct NamedEntry {
  std::string name;
  TreeEntry entry;
  bool all_known = false;  // else mode and time may be others than `entry` says
};

struct TreePage {
  std::vector<NamedEntry> names;  // in the order of bytes
  bool more = false;  // there may be names above the last one
};

struct TreeSpace {
  uint64_t total_bytes = 0, free_bytes = 0;
};

// What a tree knows of itself at once.
struct TreeState {
  std::vector<std::string> silent_servers = {};  // that did not answer when they were asked last
  uint64_t scratch_bytes = 0, scratch_limit_bytes = 0;  // of changes; no limit: it has no scratch
  std::optional<size_t> workers = {};  // that ask servers for names
};

// Edits that wait for memory which other edits may have.
struct TreeLine {
  size_t waiting = 0;
  uint64_t waited = 0;  // so many waits have ended
};

// A file as it was opened, whatever becomes of its name. Thread-safe. It does not outlive its tree.
class TreeReader {
 public:
  virtual ~TreeReader() = default;
  virtual uint64_t size() const = 0;
  virtual const std::string& version() const = 0;
  // Do the bytes stay what they are, whatever becomes of the file?
  virtual bool stays() const = 0;
  // Fewer bytes than fit only at the end. Errors: those of ReadHandle::Read.
  virtual Result<uint64_t> Read(uint64_t offset, MutableByteSpan into) = 0;
};

// A file that is open to be changed: what it was with the changes so far, which nobody else sees before
// Commit. Thread-safe. It does not outlive its tree. One that is destroyed forgets what is not committed.
class TreeEdit {
 public:
  virtual ~TreeEdit() = default;
  virtual uint64_t size() const = 0;
  // What it began with or has committed last.
  virtual std::string version() const = 0;
  // Is there anything that Commit would write?
  virtual bool changed() const = 0;
  // As TreeReader::stays, of what is not changed.
  virtual bool stays() const = 0;
  virtual Result<uint64_t> Read(uint64_t offset, MutableByteSpan into) = 0;
  // All bytes or none. Errors: kNoSpace, kUnsupported (a place in the file that the tree cannot write),
  // kUnavailable.
  virtual Status Write(uint64_t offset, ByteSpan bytes) = 0;
  virtual Status Truncate(uint64_t size) = 0;
  // Mode and time of what Commit makes visible; the time holds until the bytes change. False: not here, but
  // at the name once the changes are committed.
  virtual Result<bool> SetSettings(const Settings&) { return false; }
  // Gives back what an upload under way holds of the process's memory, since other uploads may wait for it.
  // False: there was none. Errors: as Write.
  virtual Result<bool> Rest() = 0;
  // Its name is about to go, and stays if that fails: opens what its users need without it. Errors: as Read.
  virtual Status Hold() = 0;
  // Its name has gone, or is another file's: it is not committed any more. After Hold.
  virtual void LoseName() = 0;
  // Makes the changes what everybody sees, and answers the version that has them. Errors: kNotCurrent and
  // kNotFound (somebody else has replaced or removed the file; nothing is overwritten), those of
  // WriteHandle::Commit.
  virtual Result<std::string> Commit() = 0;
};

struct EditHow {
  bool truncate = false;  // it begins empty, which is a change unless the file is
  bool nameless = false;  // the name is about to go: Hold and LoseName follow
  std::string only_if = {};  // kNotCurrent if it is another version, of trees whose versions tell; "": any
};

// Blocking, thread-safe. Paths begin with a slash; "/" is the root. Every call may also answer kNoQuorum,
// kUnavailable and kPermissionDenied, and of a change kUnknown.
class MountedTree {
 public:
  virtual ~MountedTree() = default;

  // Of the longest path that there may be.
  virtual size_t path_bytes_max() const = 0;

  // Error: kNotFound.
  virtual Result<TreeEntry> Stat(const std::string& path) = 0;
  // Names above `after`, a page of them. Errors: kNotFound, kNotDirectory.
  virtual Result<TreePage> List(const std::string& directory, const std::string& after) = 0;

  // Errors: kNotFound, kIsDirectory.
  virtual Result<std::shared_ptr<TreeReader>> OpenReader(const std::string& path) = 0;
  // Errors: as OpenReader; kNotCurrent.
  virtual Result<std::shared_ptr<TreeEdit>> OpenEdit(const std::string& path, EditHow how) = 0;
  // An empty file, where there is nothing. `mode`: permission bits. Errors: kAlreadyExists, kNotFound (the
  // parent), kNotDirectory.
  virtual Result<TreeEntry> CreateFile(const std::string& path, uint32_t mode) = 0;
  // A symbolic link, where there is nothing. Errors: as CreateFile; kUnsupported.
  virtual Result<TreeEntry> MakeLink(const std::string& path, const std::string&) {
    return Fail(Code::kUnsupported, "{}: there are no symbolic links here", path);
  }

  // A file. Errors: kNotFound, kIsDirectory.
  virtual Status Remove(const std::string& path) = 0;
  // Errors: kAlreadyExists, kNotFound (the parent).
  virtual Status MakeDirectory(const std::string& path) = 0;
  // Errors: kNotFound, kNotDirectory, kNotEmpty.
  virtual Status RemoveDirectory(const std::string& path) = 0;
  // `replace`: a file at the target goes, or an empty directory. Errors: kNotFound, kAlreadyExists,
  // kIsDirectory, kNotDirectory, kNotEmpty.
  virtual Status Rename(const std::string& from, const std::string& to, bool replace) = 0;

  // Mode and time, those that are there; the time holds until the bytes change.
  virtual Status SetSettings(const std::string& path, const Settings& settings) = 0;
  virtual Result<std::map<std::string, std::string>> Attributes(const std::string& path) = 0;
  // nullopt: removes it. Errors: kNotFound (the path, or an attribute to remove), kInvalidArgument.
  virtual Status SetAttribute(const std::string& path, const std::string& name,
                              std::optional<std::string> value) = 0;

  virtual Result<TreeSpace> Space() = 0;

  virtual TreeState State() = 0;
  virtual TreeLine Line() const { return {}; }
  // What it knows of names by itself is asked anew.
  virtual void ForgetNames() {}

  // Attributes that are the tree's own, by their whole names, as "xrootdfs.fs.workers". kNotFound: it has no
  // such attribute. What is set is set by root only.
  virtual Result<std::string> OwnAttribute(const std::string&, const std::string& name) {
    return Fail(Code::kNotFound, "there is no attribute {}", name);
  }
  virtual Status SetOwnAttribute(const std::string& name, const std::string&) {
    return Fail(Code::kNotFound, "there is no attribute {}", name);
  }
};

}  // namespace xec

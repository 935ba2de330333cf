// SPDX-License-Identifier: LGPL-3.0-or-later
// FuseMount: what the kernel asks of a mount, answered from its tree. Each call answers its request, once, on
// the thread that makes it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.hh"
#include "mount/directory_pages.hh"
#include "mount/fuse_api.hh"
#include "mount/mount_options.hh"
#include "mount/mount_status.hh"
#include "mount/node_table.hh"

namespace xec {

// The value of an attribute, for a caller that has room for `size` bytes; 0: it asks how many there are.
void ReplyAttribute(fuse_req_t request, std::string_view text, size_t size);

// Thread-safe. `tree` outlives it. The calls are those of fuse_lowlevel_ops.
class FuseMount {
 public:
  static constexpr size_t kNameBytesMax = 255;

  FuseMount(MountedTree& tree, const MountOptions& options, MountIdentity identity)
      : tree_(tree), options_(options), identity_(std::move(identity)), nodes_(tree) {}

  // Before the first request: whom to tell that what it knows of a file is old.
  void SetSession(fuse_session* session) { session_ = session; }
  // Before the first request: who calls FlushForThoseWhoAsked soon, on a thread that answers no requests.
  void SetFlusher(std::function<void()> flusher) { flusher_ = std::move(flusher); }

  // Around each request but those to forget.
  void Begin() { ++requests_; }
  void End() { --requests_; }

  // Commits what is left of changes, and logs which files that were. Once no request comes any more.
  void CommitAll();

  // To be called now and then, by one thread: looks after the files in use. True: somebody waits for memory,
  // so it is to be called again soon; if nobody has got any by then, uploads that go on give some back.
  bool Tend();

  // To be called now and then; may wait for memory, so not by the thread that calls Tend: commits what
  // programs have not gone on with for long.
  void CommitIdle();

  // What the mount tells of itself: fuse_control.cc. For those who asked since the last call: commits what
  // programs have written, drops what the kernel knows of names, and answers.
  void FlushForThoseWhoAsked();

  // Names: fuse_names.cc.
  void Lookup(fuse_req_t request, fuse_ino_t directory, const char* name);
  void Forget(fuse_ino_t id, uint64_t lookups) { nodes_.Forget(id, lookups); }
  void MakeDirectory(fuse_req_t request, fuse_ino_t directory, const char* name, mode_t mode);
  void MakeNode(fuse_req_t request, fuse_ino_t directory, const char* name, mode_t mode);
  void MakeLink(fuse_req_t request, fuse_ino_t directory, const char* name, const char* target);
  void ReadLink(fuse_req_t request, fuse_ino_t id);
  void Unlink(fuse_req_t request, fuse_ino_t directory, const char* name);
  void RemoveDirectory(fuse_req_t request, fuse_ino_t directory, const char* name);
  void Rename(fuse_req_t request, fuse_ino_t from_directory, const char* from, fuse_ino_t to_directory,
              const char* to, unsigned flags);

  // Directories that are open: fuse_directories.cc.
  void OpenDirectory(fuse_req_t request, fuse_ino_t id, fuse_file_info* file);
  void ReadDirectory(fuse_req_t request, size_t size, off_t place, fuse_file_info* file, bool plus);
  void ReleaseDirectory(fuse_req_t request, fuse_file_info* file);

  // Files: fuse_files.cc.
  void Create(fuse_req_t request, fuse_ino_t directory, const char* name, mode_t mode, fuse_file_info* file);
  void Open(fuse_req_t request, fuse_ino_t id, fuse_file_info* file);
  void Read(fuse_req_t request, size_t size, off_t offset, fuse_file_info* file);
  void Write(fuse_req_t request, const char* bytes, size_t size, off_t offset, fuse_file_info* file);
  // Of a close, or a sync: what was changed is committed.
  void Flush(fuse_req_t request, fuse_file_info* file, const char* what);
  void Release(fuse_req_t request, fuse_file_info* file);

  // What is told of names: fuse_attributes.cc.
  void GetAttributes(fuse_req_t request, fuse_ino_t id);
  void SetAttributes(fuse_req_t request, fuse_ino_t id, const struct stat* wanted, int which);
  void StatFilesystem(fuse_req_t request);
  void GetExtended(fuse_req_t request, fuse_ino_t id, const char* name, size_t size);
  void ListExtended(fuse_req_t request, fuse_ino_t id, size_t size);
  void SetExtended(fuse_req_t request, fuse_ino_t id, const char* name, std::string_view value, int flags);
  void RemoveExtended(fuse_req_t request, fuse_ino_t id, const char* name);

 private:
  struct WantsFlush {
    fuse_req_t request = nullptr;
    size_t size = 0;  // what there is room for in the answer
  };
  struct FileHandle {
    NodePtr node;
    OpenHow how;
  };
  struct DirectoryHandle {
    NodePtr node;
    DirectoryPages pages;
    Turns turns = {};
  };

  Result<NodePtr> NodeOf(fuse_ino_t id) const;
  // Logs what is worth it, and answers the request.
  void Refuse(fuse_req_t request, const char* what, std::string_view path, const Error& error);
  // Of what the kernel knows. If it is not there the kernel looks its name up once more, and then answers for
  // it, or goes on with what has the name now.
  void RefuseKnown(fuse_req_t request, const char* what, const Node& node, const Error& error);
  void Answer(fuse_req_t request, const char* what, std::string_view path, const Status& status);
  std::string PathForLog(const Node& node) const;

  // Before any use of a name that may not be there yet the kernel looks it up, so this is asked there only.
  bool TooLong(std::string_view name, const Result<std::string>& path) const;
  // What the file or directory is, with changes that are not committed.
  Result<TreeEntry> Look(const Node& node);
  struct stat StatOf(uint64_t shown_id, const TreeEntry& entry) const;
  // Of one that may have lost its name.
  struct stat StatOf(const Node& node, const TreeEntry& entry) const;
  fuse_entry_param EntryOf(const Node& node, const TreeEntry& entry, bool attributes_hold = true) const;
  // The node of a name that the kernel looks up, and what it is told of it.
  fuse_entry_param Found(const NodePtr& directory, const std::string& name, TreeEntry entry);
  Result<std::map<std::string, std::string>> AttributesOf(const Node& node) const;
  Status SetAttributeOf(Node& node, const std::string& name, std::optional<std::string> value);
  mode_t ModeOf(const TreeEntry& entry) const;
  Status SetSettings(Node& node, Settings wanted);
  Status SetOwner(const struct stat& wanted, int which) const;
  // Root, and the user that mounted.
  bool MayControl(fuse_req_t request) const;
  std::string StatusText() const;
  void GetControl(fuse_req_t request, std::string_view name, size_t size);
  MountFlushed FlushAll();
  // So many uploads give their memory to those who wait for some.
  void MakeRoom(const std::vector<NodePtr>& files, size_t uploads);
  void GetOwn(fuse_req_t request, fuse_ino_t id, const char* name, size_t size);
  void SetOwn(fuse_req_t request, const char* name, std::string_view value);
  Status RemoveFile(const NodePtr& directory, const std::string& name);
  Status RenameNode(const NodePtr& from_directory, const std::string& from, const NodePtr& to_directory,
                    const std::string& to, bool replace);
  // Adds one entry to what is told of a directory; 0: it does not fit.
  size_t AddEntry(fuse_req_t request, const NodePtr& directory, const NamedEntry& named, bool plus,
                  uint64_t place, MutableByteSpan into, std::vector<uint64_t>& looked_up);
  // What is told of a directory from this place on; answers how many bytes.
  Result<size_t> FillDirectory(fuse_req_t request, DirectoryHandle& handle, uint64_t place, bool plus,
                               MutableByteSpan into, std::vector<uint64_t>& looked_up);
  Result<TreeEntry> CreateOrFind(const std::string& path, mode_t mode, bool exclusive, bool& created);
  Result<fuse_entry_param> CreateFile(const NodePtr& directory, const std::string& name, mode_t mode,
                                      fuse_file_info* file);
  void OpenFile(const NodePtr& node, bool same_pages, OpenHow how, fuse_file_info* file);

  MountedTree& tree_;
  const MountOptions options_;
  const MountIdentity identity_;
  const int64_t since_ms_ = MountClockMs();
  std::atomic<size_t> requests_ = 0;
  std::function<void()> flusher_;
  TreeLine line_;  // as Tend has seen it last
  Mutex mutex_;
  std::vector<WantsFlush> want_flush_ XEC_GUARDED_BY(mutex_);  // each is a program that waits
  NodeTable nodes_;
  fuse_session* session_ = nullptr;
};

}  // namespace xec

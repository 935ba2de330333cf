// SPDX-License-Identifier: LGPL-3.0-or-later
// MountedFile: what all that have one file of a mount open share, so that each sees the bytes of the others
// at once.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/mutex.hh"
#include "mount/tree.hh"
#include "mount/turns.hh"

namespace xec {

// After so long without a change.
constexpr auto kRestAfter = std::chrono::seconds(5);
constexpr auto kCommitAfter = std::chrono::minutes(20);
// Where that fails it is tried again after a pause, which grows.
constexpr auto kCommitPauseMin = std::chrono::seconds(30);
constexpr auto kCommitPauseMax = std::chrono::minutes(10);
// Names and values of the attributes of a file that has lost its name.
constexpr size_t kKeptAttributesBytesMax = size_t{64} << 10;

using SteadyTime = std::chrono::steady_clock::time_point;

// By the clock of the machine, since 1970.
int64_t MountClockMs();

struct OpenHow {
  bool reads = false;
  bool writes = false;
  bool truncate = false;
};

// Thread-safe, and blocking. There is one for each file that the kernel knows, open or not: an edit begins
// with the first change and ends with the last handle that may write; a reader is open while somebody reads.
class MountedFile {
 public:
  // Answers the file's path, or kNotFound: it has lost its name in this mount, and lives until its last
  // handle ends.
  using Where = std::function<Result<std::string>()>;
  // `tree` outlives it, as does what `where` refers to.
  MountedFile(MountedTree& tree, Where where) : tree_(tree), where_(std::move(where)) {}

  // True: the bytes are those that were seen last, so the kernel may keep its pages. Looks the version up if
  // the file is to be read, unless it has changes that are not committed. Errors: those of OpenReader and
  // OpenEdit.
  Result<bool> Open(OpenHow how);
  // As Open, of a file that was made a moment ago as this version.
  void OpenCreated(OpenHow how, std::string version);
  // One of those that were opened ends. What is left of changes with the last writer is committed.
  Status Close(OpenHow how);

  Result<uint64_t> Read(uint64_t offset, MutableByteSpan into);
  // `offset` nullopt: at the end.
  Status Write(std::optional<uint64_t> offset, ByteSpan bytes);
  // Of a file that nobody has open to write, it is committed at once.
  Status Truncate(uint64_t size);
  // Mode and time: with the changes if there are any, else at the name; of a file without a name here.
  // Errors: those of MountedTree::SetSettings; those of Commit if they need one.
  Status SetSettings(const Settings& settings);
  // Makes the changes visible to everybody. Error: nothing was made visible, and the changes are still there,
  // except that after kUnknown they may be visible or become so.
  Status Commit();

  // What its users see of the file, whose name shows `named`. The kernel reads no further than to the size
  // that it was told last.
  TreeEntry Seen(TreeEntry named) const;
  // The same of one whose name shows nothing. None: nothing of it is open.
  std::optional<TreeEntry> SeenWithoutName() const;
  // Attributes of a file that has lost its name, which are kept here. None, false: it has a name, or nothing
  // of it is open. Error: kInvalidArgument, they are too large together.
  std::optional<std::map<std::string, std::string>> AttributesWithoutName() const;
  Result<bool> SetAttributeWithoutName(const std::string& name, const std::optional<std::string>& value);
  // Does it have changes that are not committed?
  bool changed() const;
  bool in_use() const;

  // To be called now and then; does not wait for those that use the file, nor for memory. Changes that nobody
  // goes on with give their memory back.
  void Tend(SteadyTime now);
  // Likewise, but may wait for memory. They are committed in the end, before the store takes their upload for
  // one whose writer has died.
  void CommitIfIdle(SteadyTime now);
  // As Tend, of changes that somebody does go on with: others wait for memory. True: they had some.
  bool GiveMemoryBack();

  // Held by one who renames or removes the file, over that request and the calls below; nobody else uses
  // the file then. Files are taken in the order of their nodes' ids.
  Turns& turns() { return turns_; }
  // Before its name goes: what its users need further is opened. If the name stays, nothing has changed.
  void KeepForUsers();
  // It has no name any more.
  void LostName();
  // GiveMemoryBack by who holds the turn.
  bool RestAlone();
  // Before it gets another name: its changes are committed. Errors: those of Commit.
  Status CommitAlone();
  // It has another name now: what is open is found anew there.
  void Renamed();

 private:
  std::shared_ptr<TreeEdit> edit() const;
  std::shared_ptr<TreeReader> reader() const;
  Status NeedEdit(EditHow how);
  Status NeedReader();
  void ShowChanges(TreeEntry& entry) const XEC_REQUIRES(mutex_);
  bool IsOpenWithoutName() const;
  void KeepWhatNameShows();
  bool Rest(TreeEdit& open);
  // True: that is news.
  bool NoteFailedCommit(Code code, SteadyTime now);
  Status CommitEdit(TreeEdit& edit);
  Status EndWithLastWriter();  // in a turn alone
  void Changed() XEC_REQUIRES(mutex_);
  template <typename Change>
  Status Apply(Change change);

  struct FailedCommit {
    Code code;
    std::chrono::steady_clock::duration pause;
    SteadyTime until;
  };

  MountedTree& tree_;
  const Where where_;
  Turns turns_;
  mutable Mutex mutex_;
  // Set in a turn alone.
  std::shared_ptr<TreeEdit> edit_ XEC_GUARDED_BY(mutex_);
  std::shared_ptr<TreeReader> reader_ XEC_GUARDED_BY(mutex_);
  std::string pages_ XEC_GUARDED_BY(mutex_);  // version of the pages that the kernel may have; "": not one
  std::string seen_ XEC_GUARDED_BY(mutex_);  // version that the last open or edit saw; "": it did not look
  int64_t changed_ms_ XEC_GUARDED_BY(mutex_) = 0;  // since 1970, by the clock of the machine
  SteadyTime changed_ XEC_GUARDED_BY(mutex_);  // the same moment
  Settings set_ XEC_GUARDED_BY(mutex_);  // by users, and not committed yet
  bool rests_ XEC_GUARDED_BY(mutex_) = false;  // since the last change
  std::optional<FailedCommit> failed_ XEC_GUARDED_BY(mutex_);  // likewise
  // What the name shows when it goes.
  std::optional<TreeEntry> kept_ XEC_GUARDED_BY(mutex_);
  std::map<std::string, std::string> kept_attributes_ XEC_GUARDED_BY(mutex_);
  size_t readers_ XEC_GUARDED_BY(mutex_) = 0;
  size_t writers_ XEC_GUARDED_BY(mutex_) = 0;
};

}  // namespace xec

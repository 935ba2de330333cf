// SPDX-License-Identifier: LGPL-3.0-or-later
#include "mount/mounted_file.hh"

#include <algorithm>
#include <ctime>
#include <utility>

#include "base/log.hh"

namespace xec {
namespace {

constexpr SteadyTime::duration kMinPause = kCommitPauseMin, kMaxPause = kCommitPauseMax;

void LogProblem(const Error& error) {
  Log(LogLevel::kWarning, "mount", "a file that is open for writing: {}", error.message);
}

}  // namespace

int64_t MountClockMs() {
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * 1000 + now.tv_nsec / kNanosInMilli;
}

std::shared_ptr<TreeEdit> MountedFile::edit() const {
  const MutexLock lock(mutex_);
  return edit_;
}

std::shared_ptr<TreeReader> MountedFile::reader() const {
  const MutexLock lock(mutex_);
  return reader_;
}

void MountedFile::Changed() {
  changed_ms_ = MountClockMs();
  changed_ = std::chrono::steady_clock::now();
  set_.mtime_ns.reset();
  rests_ = false;
  failed_.reset();
}

Status MountedFile::NeedEdit(EditHow how) {
  XEC_ASSIGN_OR_RETURN(const std::string path, where_());
  if (!how.truncate) {
    const MutexLock lock(mutex_);
    // What a writer has seen is what it changes.
    if (writers_ > 0) how.only_if = seen_;
  }
  XEC_ASSIGN_OR_RETURN(std::shared_ptr<TreeEdit> opened, tree_.OpenEdit(path, how));
  const std::string version = opened->version();
  const MutexLock lock(mutex_);
  // The kernel drops its pages itself when it truncates.
  if (how.truncate) pages_ = version;
  if (version != pages_) pages_.clear();
  seen_ = version;
  edit_ = std::move(opened);
  set_ = Settings();
  Changed();
  return OkStatus();
}

Status MountedFile::NeedReader() {
  XEC_ASSIGN_OR_RETURN(const std::string path, where_());
  XEC_ASSIGN_OR_RETURN(std::shared_ptr<TreeReader> opened, tree_.OpenReader(path));
  const MutexLock lock(mutex_);
  reader_ = std::move(opened);
  return OkStatus();
}

Result<bool> MountedFile::Open(OpenHow how) {
  const AloneTurn turn(turns_);
  bool same_pages = true;
  const std::shared_ptr<TreeEdit> current = edit();
  if (how.truncate) {
    XEC_TRY(NeedEdit({.truncate = true}));
  } else if (!current || !current->changed()) {
    // Somebody else may have replaced the file, which an edit would find out too late.
    {
      const MutexLock lock(mutex_);
      edit_.reset();
    }
    if (how.reads) XEC_TRY(NeedReader());
    const MutexLock lock(mutex_);
    same_pages = how.reads && reader_->version() == pages_;
    if (how.reads) pages_ = reader_->version();
    seen_ = how.reads ? pages_ : "";
  }
  const MutexLock lock(mutex_);
  readers_ += how.reads ? 1 : 0;
  writers_ += how.writes ? 1 : 0;
  return same_pages && !how.truncate;
}

void MountedFile::OpenCreated(OpenHow how, std::string version) {
  const MutexLock lock(mutex_);
  readers_ += how.reads ? 1 : 0;
  writers_ += how.writes ? 1 : 0;
  pages_ = seen_ = std::move(version);
}

Status MountedFile::Close(OpenHow how) {
  const AloneTurn turn(turns_);
  {
    const MutexLock lock(mutex_);
    readers_ -= how.reads ? 1 : 0;
    writers_ -= how.writes ? 1 : 0;
    if (readers_ == 0 && writers_ == 0) reader_.reset();
  }
  return how.writes ? EndWithLastWriter() : OkStatus();
}

Status MountedFile::EndWithLastWriter() {
  {
    const MutexLock lock(mutex_);
    if (writers_ > 0) return OkStatus();
  }
  const Status committed = CommitAlone();
  const bool has_name = where_().has_value();
  const MutexLock lock(mutex_);
  // The kernel may have pages of changes that are lost.
  if (!committed) pages_.clear();
  if (!has_name && readers_ > 0) return committed;
  // Readers that are left find the new version by its name.
  if (edit_) reader_.reset();
  edit_.reset();
  return committed;
}

Result<uint64_t> MountedFile::Read(uint64_t offset, MutableByteSpan into) {
  while (true) {
    {
      const SharedTurn turn(turns_);
      if (const auto changed = edit()) return changed->Read(offset, into);
      if (const auto whole = reader()) return whole->Read(offset, into);
    }
    const AloneTurn turn(turns_);
    if (!edit() && !reader()) XEC_TRY(NeedReader());
  }
}

template <typename Change>
Status MountedFile::Apply(Change change) {
  while (true) {
    {
      const SharedTurn turn(turns_);
      if (const auto open = edit()) {
        {
          const MutexLock lock(mutex_);
          Changed();
        }
        return change(*open);
      }
    }
    const AloneTurn turn(turns_);
    if (!edit()) XEC_TRY(NeedEdit({}));
  }
}

Status MountedFile::Write(std::optional<uint64_t> offset, ByteSpan bytes) {
  // The kernel has one writer of a file at a time, so the end stays where it is meanwhile.
  return Apply([&](TreeEdit& open) { return open.Write(offset.value_or(open.size()), bytes); });
}

Status MountedFile::Truncate(uint64_t size) {
  if (size == 0) {
    const AloneTurn turn(turns_);
    // What the file was need not be looked at.
    if (!edit()) XEC_TRY(NeedEdit({.truncate = true}));
  }
  XEC_TRY(Apply([&](TreeEdit& open) { return open.size() == size ? OkStatus() : open.Truncate(size); }));
  const AloneTurn turn(turns_);
  return EndWithLastWriter();
}

Status MountedFile::CommitEdit(TreeEdit& open) {
  // A file without a name ends with its last handle.
  if (!open.changed() || !where_()) return OkStatus();
  XEC_ASSIGN_OR_RETURN(std::string version, open.Commit());
  const MutexLock lock(mutex_);
  set_ = Settings();
  seen_ = version;
  if (!pages_.empty()) pages_ = std::move(version);
  return OkStatus();
}

Status MountedFile::Commit() {
  const AloneTurn turn(turns_);
  return CommitAlone();
}

Status MountedFile::CommitAlone() {
  const std::shared_ptr<TreeEdit> open = edit();
  return open ? CommitEdit(*open) : OkStatus();
}

Status MountedFile::SetSettings(const Settings& settings) {
  const AloneTurn turn(turns_);
  if (IsOpenWithoutName()) {
    const MutexLock lock(mutex_);
    set_ = set_.With(settings);
    return OkStatus();
  }
  const std::shared_ptr<TreeEdit> open = edit();
  if (open && open->changed()) {
    XEC_ASSIGN_OR_RETURN(const bool taken, open->SetSettings(settings));
    if (!taken) XEC_TRY(CommitEdit(*open));
    const MutexLock lock(mutex_);
    if (taken) set_ = set_.With(settings);
    if (taken) return OkStatus();
  }
  XEC_ASSIGN_OR_RETURN(const std::string path, where_());
  return tree_.SetSettings(path, settings);
}

void MountedFile::ShowChanges(TreeEntry& entry) const {
  entry.size = edit_ ? edit_->size() : reader_->size();
  if (edit_ && edit_->changed()) entry.mtime_ns = changed_ms_ * kNanosInMilli;
  if (edit_ && edit_->changed()) entry.ctime_ns = entry.mtime_ns;
  if (set_.mtime_ns) entry.mtime_ns = *set_.mtime_ns;
  if (set_.mode) entry.mode = set_.mode;
}

TreeEntry MountedFile::Seen(TreeEntry named) const {
  const MutexLock lock(mutex_);
  if (edit_ && edit_->changed()) {
    ShowChanges(named);
  } else if (edit_ && edit_->stays()) {
    named.size = edit_->size();
  } else if (!edit_ && reader_ && reader_->stays()) {
    named.size = reader_->size();
  }
  return named;
}

std::optional<TreeEntry> MountedFile::SeenWithoutName() const {
  const MutexLock lock(mutex_);
  if (!edit_ && !reader_) return std::nullopt;
  TreeEntry entry = kept_.value_or(TreeEntry{.mtime_ns = changed_ms_ * kNanosInMilli});
  ShowChanges(entry);
  return entry;
}

bool MountedFile::IsOpenWithoutName() const {
  const bool has_name = where_().has_value();
  const MutexLock lock(mutex_);
  return !has_name && (edit_ || reader_);
}

std::optional<std::map<std::string, std::string>> MountedFile::AttributesWithoutName() const {
  if (!IsOpenWithoutName()) return std::nullopt;
  const MutexLock lock(mutex_);
  return kept_attributes_;
}

Result<bool> MountedFile::SetAttributeWithoutName(const std::string& name,
                                                  const std::optional<std::string>& value) {
  if (!IsOpenWithoutName()) return false;
  const MutexLock lock(mutex_);
  if (!value) {
    kept_attributes_.erase(name);
    return true;
  }
  size_t bytes = name.size() + value->size();
  for (const auto& [other, of_other] : kept_attributes_) {
    if (other != name) bytes += other.size() + of_other.size();
  }
  if (bytes > kKeptAttributesBytesMax)
    return Fail(Code::kInvalidArgument, "a file without a name keeps {} bytes of attributes at most",
                kKeptAttributesBytesMax);
  kept_attributes_[name] = *value;
  return true;
}

bool MountedFile::changed() const {
  const MutexLock lock(mutex_);
  return edit_ && edit_->changed();
}

bool MountedFile::in_use() const {
  const MutexLock lock(mutex_);
  return readers_ > 0 || writers_ > 0;
}

void MountedFile::Tend(SteadyTime now) {
  // What is in use may be waiting for memory, which the other files are to give back.
  if (!turns_.TryBeginAlone()) return;
  const AloneTurn turn(turns_, std::adopt_lock);
  const std::shared_ptr<TreeEdit> open = edit();
  if (!open || !open->changed()) return;
  {
    const MutexLock lock(mutex_);
    if (now - changed_ < kRestAfter || rests_) return;
    rests_ = true;
  }
  (void)Rest(*open);
}

void MountedFile::CommitIfIdle(SteadyTime now) {
  if (!turns_.TryBeginAlone()) return;
  const AloneTurn turn(turns_, std::adopt_lock);
  const std::shared_ptr<TreeEdit> open = edit();
  if (!open || !open->changed()) return;
  {
    const MutexLock lock(mutex_);
    if (now - changed_ < kCommitAfter || (failed_ && now < failed_->until)) return;
  }
  const Status done = CommitEdit(*open);
  if (done) return;
  if (NoteFailedCommit(done.code(), now)) LogProblem(done.error());
}

bool MountedFile::NoteFailedCommit(Code code, SteadyTime now) {
  const MutexLock lock(mutex_);
  const auto pause = failed_ ? std::min(2 * failed_->pause, kMaxPause) : kMinPause;
  const std::optional<FailedCommit> before = std::exchange(failed_, FailedCommit{code, pause, now + pause});
  return !before || before->code != code;
}

bool MountedFile::GiveMemoryBack() {
  if (!turns_.TryBeginAlone()) return false;
  const AloneTurn turn(turns_, std::adopt_lock);
  return RestAlone();
}

bool MountedFile::RestAlone() {
  const std::shared_ptr<TreeEdit> open = edit();
  return open && open->changed() && Rest(*open);
}

bool MountedFile::Rest(TreeEdit& open) {
  const Result<bool> had = open.Rest();
  if (!had) LogProblem(had.error());
  return had && *had;
}

void MountedFile::KeepWhatNameShows() {
  const Result<std::string> path = where_();
  if (!path) return;
  const Result<TreeEntry> named = tree_.Stat(*path);
  auto attributes = tree_.Attributes(*path);
  std::optional<TreeEntry> seen;
  if (named) seen = Seen(*named);
  const MutexLock lock(mutex_);
  kept_ = std::move(seen);
  kept_attributes_ = attributes ? std::move(*attributes) : std::map<std::string, std::string>();
}

void MountedFile::KeepForUsers() {
  KeepWhatNameShows();
  bool reads = false, writes = false, empty = false;
  {
    const MutexLock lock(mutex_);
    reads = readers_ > 0 && !reader_ && !edit_;
    // An upload to the name would make it anew.
    empty = edit_ && edit_->size() == 0;
    writes = writers_ > 0 && (!edit_ || empty);
  }
  Status kept = writes ? NeedEdit({.truncate = empty, .nameless = true}) : OkStatus();
  if (kept && reads && !writes) kept = NeedReader();
  const std::shared_ptr<TreeEdit> open = edit();
  if (kept && open) kept = open->Hold();
  if (!kept)
    Log(LogLevel::kWarning, "mount", "a file is removed whose users cannot go on: {}", kept.error().message);
}

void MountedFile::LostName() {
  if (const std::shared_ptr<TreeEdit> open = edit()) open->LoseName();
}

void MountedFile::Renamed() {
  const MutexLock lock(mutex_);
  edit_.reset();
  reader_.reset();
  pages_.clear();
  seen_.clear();
}

}  // namespace xec

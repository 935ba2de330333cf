// SPDX-License-Identifier: LGPL-3.0-or-later
#include "edit/object_edit.hh"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "base/log.hh"
#include "base/units.hh"

namespace xec {
namespace {

// What an upload has in memory goes to scratch in such pieces.
constexpr size_t kPieceBytes = kMiB;
// A copy that is larger is not begun before the store says that it has room.
constexpr uint64_t kLargeCopyBytes = kGiB;
// Offsets of files are signed.
constexpr uint64_t kSizeMax = std::numeric_limits<int64_t>::max();

Error NotWritten(Error error) {
  const bool changed_meanwhile = error.code == Code::kNotCurrent || error.code == Code::kAlreadyExists;
  if (changed_meanwhile) error.message += "; what was changed is not written";
  return error;
}

Status CheckSize(std::string_view path, uint64_t offset, uint64_t bytes) {
  if (offset <= kSizeMax && bytes <= kSizeMax - offset) return OkStatus();
  return Fail(Code::kInvalidArgument, "{} cannot have more than {} bytes", path, kSizeMax);
}

}  // namespace

ObjectEdit::ObjectEdit(Store& store, Scratch& scratch, std::string path, EditOptions options,
                       std::unique_ptr<WriteHandle> upload, CallOptions call)
    : store_(store),
      options_(std::move(options)),
      call_({.caller = std::move(call.caller)}),
      path_(std::move(path)),
      nothing_stands_(upload && options_.upload.write.only_if.absent),
      standing_(upload ? options_.upload.write.only_if.version : std::nullopt),
      stream_(std::move(upload)),
      bytes_(scratch),
      tail_max_(options_.tail_in_scratch_max),
      changed_(stream_ != nullptr) {}

Task<Result<std::unique_ptr<ObjectEdit>>> ObjectEdit::Open(Store& store, Scratch& scratch, std::string path,
                                                           EditOptions options, CallOptions call) {
  auto edit =
      std::make_unique<ObjectEdit>(store, scratch, std::move(path), std::move(options), nullptr, call);
  const Status begun = co_await edit->Begin(std::move(call));
  if (!begun) co_return begun.error();
  co_return std::move(edit);
}

Task<Status> ObjectEdit::Begin(CallOptions call) {
  nothing_stands_ = options_.exclusive;
  if (!options_.truncate && !options_.exclusive) {
    Result<std::shared_ptr<ReadHandle>> there = co_await store_.Open(path_, OnlyIf(), call);
    if (there) {
      TakeBase(std::move(*there));
      co_return OkStatus();
    }
    if (there.code() != Code::kNotFound || !options_.create) co_return there.error();
    nothing_stands_ = !options_.last_writer_wins;
  }
  changed_ = true;
  Result<std::unique_ptr<WriteHandle>> upload =
      co_await StartUpload(options_.upload.write.size_hint, std::move(call));
  if (!upload) co_return upload.error();
  stream_ = std::move(*upload);
  stream_is_admitted_ = false;
  co_return OkStatus();
}

OnlyIf ObjectEdit::Condition() const {
  OnlyIf only_if;
  only_if.absent = nothing_stands_;
  if (!options_.last_writer_wins) only_if.version = standing_;
  return only_if;
}

// What users have said about the version that is followed is said about the next one. It is asked for when
// the next one is about to be committed, so that what was said while bytes were coming is not lost.
Task<Result<ObjectEdit::Beside>> ObjectEdit::BesideBytes() {
  const WriteOptions& first = options_.upload.write;
  Beside beside{attributes_.value_or(first.attributes), first.settings};
  const bool follows = standing_ && !attributes_;
  if (follows) {
    Result<ObjectDescription> there = co_await store_.Describe(path_, call_);
    const bool gone = !there && there.code() == Code::kNotFound;
    if (!there && !(gone && options_.last_writer_wins))
      co_return gone ? Fail(Code::kNotCurrent, "{} was removed", path_) : there.error();
    if (there && there->info.version != *standing_ && !options_.last_writer_wins)
      co_return Fail(Code::kNotCurrent, "{} was replaced", path_);
    if (there) {
      beside = {std::move(there->attributes), there->info.settings};
      beside.settings.mtime_ns.reset();
    }
  }
  beside.settings = beside.settings.With(settings_);
  co_return std::move(beside);
}

Task<Result<std::unique_ptr<WriteHandle>>> ObjectEdit::StartUpload(std::optional<uint64_t> size,
                                                                   CallOptions call) {
  CreateOptions options = options_.upload;
  options.write.only_if = Condition();
  options.write.size_hint = size;
  co_return co_await store_.Create(path_, std::move(options), std::move(call));
}

// A time that was set was of the bytes as they were.
void ObjectEdit::BytesChange() {
  changed_ = true;
  settings_.mtime_ns.reset();
}

Status ObjectEdit::CheckUsable() const {
  if (lost_) return *lost_;
  if (closed_) return Fail(Code::kInvalidArgument, "{} is not open any more", path_);
  return OkStatus();
}

Task<Status> ObjectEdit::OpenBase() {
  if (!base_is_due_) co_return OkStatus();
  OnlyIf only_if;
  if (!options_.last_writer_wins) only_if.version = standing_;
  Result<std::shared_ptr<ReadHandle>> version = co_await store_.Open(path_, only_if, call_);
  if (!version) co_return version.error();
  TakeBase(std::move(*version));
  base_is_due_ = false;
  co_return OkStatus();
}

void ObjectEdit::TakeBase(std::shared_ptr<ReadHandle> version) {
  standing_ = version->version();
  standing_settings_ = version->settings();
  size_ = version->size();
  bytes_.SetBase(std::move(version));
}

// Brings the bytes to where they can be read and changed.
Task<Status> ObjectEdit::MakeReadable() {
  Status ready = CheckUsable();
  if (ready) ready = co_await OpenBase();
  if (ready && stream_) ready = co_await EndStream();
  co_return std::move(ready);
}

Task<Status> ObjectEdit::EndStream() {
  if (stream_->AllInMemory()) {
    Status moved = co_await ToScratch();
    if (!moved) co_return std::move(moved);
    co_await stream_->Abandon();
    stream_.reset();
    stream_is_whole_ = false;
    co_return OkStatus();
  }
  const Status ended = co_await stream_->EndStream();
  if (!ended) {
    lost_ = ended.error();
    co_await stream_->Abandon();
    stream_.reset();
    co_return ended.error();
  }
  bytes_.SetBase(std::move(stream_));
  stream_is_whole_ = false;
  co_return OkStatus();
}

// What the upload has in memory. It goes on if there is no room.
Task<Status> ObjectEdit::ToScratch() {
  std::vector<std::byte> piece(std::min<uint64_t>(kPieceBytes, stream_->size()));
  while (bytes_.size() < stream_->size()) {
    const uint64_t offset = bytes_.size();
    const Result<uint64_t> got = co_await stream_->ReadBack(offset, piece);
    Status moved;
    if (!got) moved = got.error();
    if (got) moved = co_await bytes_.Write(offset, ByteSpan(piece).first(*got));
    if (moved) continue;
    co_await bytes_.Clear();
    co_return std::move(moved);
  }
  co_return OkStatus();
}

Task<Result<uint64_t>> ObjectEdit::Read(uint64_t offset, MutableByteSpan into) {
  while (true) {
    {
      const TaskLock::Held held = co_await lock_.Share();
      const Status usable = CheckUsable();
      if (!usable) co_return usable.error();
      const uint64_t size = size_;
      const uint64_t bytes = std::min<uint64_t>(into.size(), size - std::min(size, offset));
      if (bytes == 0) co_return uint64_t{0};
      if (!stream_ && !base_is_due_) {
        const Status read = co_await bytes_.Read(offset, into.first(bytes));
        if (!read) co_return read.error();
        co_return bytes;
      }
    }
    const TaskLock::Held held = co_await lock_.Take();
    const Status ready = co_await MakeReadable();
    if (!ready) co_return ready.error();
  }
}

Task<Status> ObjectEdit::AppendToStream(ByteSpan bytes) {
  Status appended;
  if (!std::exchange(stream_is_admitted_, true)) appended = co_await bytes_.Admit(*stream_);
  if (appended) appended = co_await stream_->Append(bytes, call_);
  if (appended) {
    size_ = stream_->size();
    co_return OkStatus();
  }
  lost_ = appended.error();
  co_await stream_->Abandon();
  stream_.reset();
  co_return appended.error();
}

Task<Status> ObjectEdit::Write(uint64_t offset, ByteSpan bytes) {
  const TaskLock::Held held = co_await lock_.Take();
  co_return co_await WriteHeld(offset, bytes);
}

Task<Status> ObjectEdit::Append(ByteSpan bytes) {
  const TaskLock::Held held = co_await lock_.Take();
  co_return co_await WriteHeld(size_, bytes);
}

Task<Status> ObjectEdit::WriteHeld(uint64_t offset, ByteSpan bytes) {
  Status ready = CheckUsable();
  if (ready) ready = CheckSize(path_, offset, bytes.size());
  if (!ready || bytes.empty()) co_return std::move(ready);
  if (!stream_ && size_ == 0 && offset == 0 && !nameless_) {
    Result<std::unique_ptr<WriteHandle>> upload = co_await StartUpload(std::nullopt, call_);
    if (!upload) co_return NotWritten(upload.error());
    co_await bytes_.Clear();
    base_is_due_ = false;
    stream_ = std::move(*upload);
    stream_is_ours_ = true;
    stream_is_admitted_ = false;
  }
  if (stream_ && stream_is_ours_ && !stream_is_whole_ && offset == size_) {
    BytesChange();
    co_return co_await AppendToStream(bytes);
  }
  ready = co_await MakeReadable();
  if (!ready) co_return std::move(ready);
  BytesChange();
  Status written = co_await bytes_.Write(offset, bytes);
  size_ = bytes_.size();
  const bool appended = written && offset + bytes.size() == size_;
  if (appended && HasLongTail()) written = co_await BecomeStream();
  co_return std::move(written);
}

// Would scratch have to keep what an upload can take? If the stream is ended again everything is copied once
// more, so the next time there has to be as much as there was before.
bool ObjectEdit::HasLongTail() const {
  if (nameless_) return false;
  const ExtentSet& changes = bytes_.changes();
  const bool only_tail = changes.count() == 1 && changes.begin() >= bytes_.base_bytes();
  const bool first_time = only_tail && !bytes_.stands_on_stream();
  return changes.bytes() > (first_time ? tail_max_ : std::max(tail_max_, bytes_.base_bytes()));
}

// An object of holes may be larger than the store, which would be full before the upload failed.
Task<Status> ObjectEdit::CheckRoom() {
  if (size_ < kLargeCopyBytes) co_return OkStatus();
  const Result<StoreSpace> space = co_await store_.Space(call_);
  if (!space || size_ <= space->usable_free_bytes) co_return OkStatus();
  co_return Fail(Code::kNoSpace, "{} has {} and is written anew, and {} are free", path_, FormatSize(size_),
                 FormatSize(space->usable_free_bytes));
}

// Everything, in a new upload.
Task<Result<std::unique_ptr<WriteHandle>>> ObjectEdit::Copy(std::optional<uint64_t> size) {
  Status ready = co_await OpenBase();
  if (ready) ready = co_await CheckRoom();
  if (!ready) co_return ready.error();
  Result<std::unique_ptr<WriteHandle>> upload = co_await StartUpload(size, call_);
  if (!upload) co_return NotWritten(upload.error());
  const Status copied = co_await bytes_.CopyTo(**upload);
  if (copied) co_return std::move(upload);
  co_await (*upload)->Abandon();
  co_return NotWritten(copied.error());
}

Task<Status> ObjectEdit::CopyToStream(std::optional<uint64_t> size) {
  Result<std::unique_ptr<WriteHandle>> upload = co_await Copy(size);
  if (!upload) co_return upload.error();
  co_await bytes_.Clear();
  stream_ = std::move(*upload);
  stream_is_whole_ = size.has_value();
  stream_is_admitted_ = true;
  stream_is_ours_ = true;
  co_return OkStatus();
}

Task<Status> ObjectEdit::BecomeStream() {
  Status copied = co_await CopyToStream(std::nullopt);
  if (copied) co_return OkStatus();
  tail_max_ = 2 * bytes_.changes().bytes();
  if (copied.code() == Code::kNotCurrent || copied.code() == Code::kAlreadyExists)
    co_return std::move(copied);
  Log(LogLevel::kInfo, "edit", "{}: its tail stays in scratch: {}", path_, copied.error().message);
  co_return OkStatus();
}

Task<Result<bool>> ObjectEdit::Rest() {
  const TaskLock::Held held = co_await lock_.Take();
  Status rested = CheckUsable();
  const bool has_memory = stream_ && size_ > 0;
  if (rested && has_memory) rested = co_await EndStream();
  if (!rested) co_return rested.error();
  co_return has_memory;
}

Task<Status> ObjectEdit::Prepare() {
  const TaskLock::Held held = co_await lock_.Take();
  Status ready = CheckUsable();
  if (ready && !stream_is_ours_) ready = co_await MakeReadable();
  if (!ready || !changed_ || IsUpload()) co_return std::move(ready);
  co_return co_await CopyToStream(size_);
}

// Has an upload all that is to be committed?
bool ObjectEdit::IsUpload() const {
  return stream_is_ours_ && (stream_ || (bytes_.stands_on_stream() && bytes_.IsBase()));
}

Task<Status> ObjectEdit::Truncate(uint64_t size) {
  const TaskLock::Held held = co_await lock_.Take();
  Status ready = CheckUsable();
  if (ready) ready = CheckSize(path_, size, 0);
  if (!ready || size == size_) co_return std::move(ready);
  if (size == 0 && stream_) {
    co_await stream_->Abandon();
    stream_.reset();
    stream_is_whole_ = false;
  }
  if (size == 0) base_is_due_ = false;
  ready = co_await MakeReadable();
  if (!ready) co_return std::move(ready);
  BytesChange();
  co_await bytes_.Truncate(size);
  size_ = size;
  co_return OkStatus();
}

Status ObjectEdit::Give(WriteHandle& upload, Beside beside) {
  upload.SetSettings(beside.settings);
  return upload.SetUserAttributes(std::move(beside.attributes));
}

Task<Result<Committed>> ObjectEdit::CommitUpload(std::unique_ptr<WriteHandle> upload, Beside beside) {
  const Status given = Give(*upload, std::move(beside));
  if (!given) lost_ = given.error();
  if (!given) co_return given.error();
  Result<Committed> committed = co_await upload->Commit(call_);
  if (!committed) lost_ = committed.error();
  co_return std::move(committed);
}

Task<Result<Committed>> ObjectEdit::CommitCopy(Beside beside) {
  Result<std::unique_ptr<WriteHandle>> upload = co_await Copy(size_);
  if (!upload) co_return upload.error();
  const Status given = Give(**upload, std::move(beside));
  if (!given) co_return NotWritten(given.error());
  Result<Committed> committed = co_await (*upload)->Commit(call_);
  if (!committed) co_return NotWritten(committed.error());
  co_return std::move(committed);
}

Task<Result<std::optional<Committed>>> ObjectEdit::FlushHeld() {
  Status ready = CheckUsable();
  if (ready && nameless_) ready = Fail(Code::kNotFound, "{} has lost its name", path_);
  if (ready && !changed_) co_return std::optional<Committed>();
  if (ready && !stream_is_ours_) ready = co_await MakeReadable();
  if (!ready) co_return ready.error();
  // A stream that was ended stands in the way of every other upload of the name, also of one of ours.
  if (bytes_.stands_on_stream() && !IsUpload()) {
    ready = co_await CopyToStream(size_);
    if (!ready) co_return ready.error();
  }
  Result<Beside> beside = co_await BesideBytes();
  if (!beside) co_return NotWritten(beside.error());
  const Settings given = beside->settings;
  Result<Committed> committed = Committed();
  if (IsUpload()) {
    std::unique_ptr<WriteHandle> upload = stream_ ? std::move(stream_) : bytes_.TakeStream();
    committed = co_await CommitUpload(std::move(upload), std::move(*beside));
  } else {
    committed = co_await CommitCopy(std::move(*beside));
  }
  if (!committed) co_return committed.error();
  settings_ = Settings();
  co_await bytes_.Clear();
  standing_ = committed->version;
  standing_settings_ = given;
  nothing_stands_ = false;
  base_is_due_ = true;
  stream_is_whole_ = false;
  stream_is_ours_ = true;
  changed_ = false;
  co_return std::optional<Committed>(std::move(*committed));
}

Task<Result<std::optional<Committed>>> ObjectEdit::Flush() {
  const TaskLock::Held held = co_await lock_.Take();
  co_return co_await FlushHeld();
}

Task<Result<std::optional<Committed>>> ObjectEdit::Close() {
  const TaskLock::Held held = co_await lock_.Take();
  Result<std::optional<Committed>> flushed = co_await FlushHeld();
  if (flushed) {
    co_await bytes_.Clear();
    closed_ = true;
  }
  co_return std::move(flushed);
}

Task<void> ObjectEdit::Drop() {
  const TaskLock::Held held = co_await lock_.Take();
  closed_ = true;
  changed_ = false;
  if (stream_) co_await stream_->Abandon();
  stream_.reset();
  co_await bytes_.Clear();
}

Task<Status> ObjectEdit::Moved(std::string path) {
  const TaskLock::Held held = co_await lock_.Take();
  const Status usable = CheckUsable();
  if (!usable) co_return usable.error();
  if (standing_) {
    const Result<ObjectInfo> there = co_await store_.Stat(path, call_);
    if (!there) co_return there.error();
    standing_ = there->version;
  }
  path_ = std::move(path);
  // An upload is for the old name: it can only be read back.
  stream_is_ours_ = false;
  co_return OkStatus();
}

Task<Status> ObjectEdit::Hold() {
  const TaskLock::Held held = co_await lock_.Take();
  Status usable = CheckUsable();
  if (usable) usable = co_await OpenBase();
  co_return std::move(usable);
}

Task<void> ObjectEdit::LoseName() {
  const TaskLock::Held held = co_await lock_.Take();
  nameless_ = true;
  Status left = co_await MakeReadable();
  if (left) left = co_await bytes_.LeaveStream();
  if (!left) Log(LogLevel::kInfo, "edit", "{} has lost its name: {}", path_, left.error().message);
}

Task<Status> ObjectEdit::SetUserAttributes(std::map<std::string, std::string> attributes) {
  const TaskLock::Held held = co_await lock_.Take();
  Status set = CheckUsable();
  if (set && stream_) set = stream_->SetUserAttributes(attributes);
  if (set) attributes_ = std::move(attributes);
  co_return std::move(set);
}

Task<Status> ObjectEdit::SetSettings(Settings settings) {
  const TaskLock::Held held = co_await lock_.Take();
  Status set = CheckUsable();
  if (set && !changed_) set = co_await store_.SetSettings(path_, settings, call_);
  if (set) {
    Settings& told = changed_ ? settings_ : standing_settings_;
    told = told.With(settings);
  }
  co_return std::move(set);
}

Task<std::optional<Version>> ObjectEdit::BaseVersion() {
  const TaskLock::Held held = co_await lock_.Share();
  co_return standing_;
}

Task<Settings> ObjectEdit::SettingsToTell() {
  const TaskLock::Held held = co_await lock_.Share();
  Settings told = standing_ ? standing_settings_ : options_.upload.write.settings;
  if (changed_) told.mtime_ns.reset();
  co_return told.With(settings_);
}

}  // namespace xec

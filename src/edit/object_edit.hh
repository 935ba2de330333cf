// SPDX-License-Identifier: LGPL-3.0-or-later
// ObjectEdit: an object that is open to be changed anywhere. Its changes lie in scratch, over the version
// that was opened, and Flush makes a new version of both: readers see the old version or the new one, whole.
// What is written from start to end goes straight into an upload, and scratch is not touched.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "api/store.hh"
#include "edit/edit_bytes.hh"
#include "edit/scratch.hh"
#include "runtime/task_lock.hh"

namespace xec {

constexpr uint64_t kTailInScratchMax = uint64_t{64} << 20;

struct EditOptions {
  // Of each version that is committed. Its condition is left alone: the edit has its own. A version that
  // follows another one takes over that one's attributes and settings as they are when it is committed, but
  // for the time, in place of those here.
  CreateOptions upload = {};
  bool truncate = false;  // starts empty and replaces whatever is there, as an upload does
  bool create = false;  // a missing name is an empty object, which the first Flush makes
  bool exclusive = false;  // nothing may be there, now and when it is first committed
  // What others have committed meanwhile is replaced; if they did so after a Flush, and before anything was
  // changed or read since, the edit goes on from what they committed. Else it stands, and Flush tells of it.
  bool last_writer_wins = false;
  // A tail that was appended to a version goes into an upload when it is longer, in bytes, so that scratch
  // does not have to have it.
  uint64_t tail_in_scratch_max = kTailInScratchMax;
};

// Thread-safe: reads run at once, everything else one after another, in the order of the calls. What a crash
// of the process leaves is as after Drop. The last call is awaited before the edit goes, which is as Drop.
//
// Calls may wait for memory as uploads do (promise P7). Each may also answer kNoSpace when scratch is full:
// nothing is lost then, and Flush makes room. While an upload takes the bytes and that fails, they are gone:
// that and every later call answer so. An edit whose bytes lie in an upload (streamed, larger than a stripe,
// not flushed) has to be flushed or written to within EngineOptions::upload_grace, as any upload.
class ObjectEdit {
 public:
  // `store` and `scratch` outlive the edit. Deadline and stop of `call` are those of this call; its caller is
  // who changes the object, also later. Errors: those of Store::Open and Store::Create; kNotFound, unless
  // `create` or `truncate`; kAlreadyExists if `exclusive`.
  static Task<Result<std::unique_ptr<ObjectEdit>>> Open(Store& store, Scratch& scratch, std::string path,
                                                        EditOptions options, CallOptions call = {});
  // One that starts empty and whose upload was created with `options.upload`, whose condition is that of the
  // first version. Only Open begins one without an upload.
  ObjectEdit(Store& store, Scratch& scratch, std::string path, EditOptions options,
             std::unique_ptr<WriteHandle> upload, CallOptions call = {});
  ObjectEdit(const ObjectEdit&) = delete;
  ObjectEdit& operator=(const ObjectEdit&) = delete;
  ~ObjectEdit() = default;

  // Of the object with its changes, in bytes. At any time.
  uint64_t size() const { return size_; }
  // Is there anything that Flush would commit? At any time.
  bool changed() const { return changed_; }

  // As ReadHandle::Read, but short only at the end of what was written: others' versions are not seen. The
  // first read of an upload under way ends its stream. Errors: those of ReadHandle::Read, and of Store::Open
  // after a Flush, whose version is opened when it is needed.
  Task<Result<uint64_t>> Read(uint64_t offset, MutableByteSpan into);

  // Anywhere: what lies between the end and `offset` is zeros. The bytes are read before the task ends. After
  // an error nothing of them is there, or some (kNoSpace: none). Errors: kInvalidArgument (beyond the largest
  // size); those of WriteHandle::Append; kNotCurrent when an upload has to begin and the version was
  // replaced.
  Task<Status> Write(uint64_t offset, ByteSpan bytes);
  // At the end, wherever that is when its turn has come. Errors: as Write.
  Task<Status> Append(ByteSpan bytes);

  // What is added is zeros. Errors: as Write.
  Task<Status> Truncate(uint64_t size);

  // Commits what was changed, if anything was: then others see it, and the edit goes on from there. The
  // condition is that the name stands as it stood: kNotCurrent or kAlreadyExists if it does not, and nothing
  // is overwritten; kConflict while another upload of the name is under way; kNoSpace. After an error the
  // changes are kept, may be read and flushed again, unless an upload has had them; on kUnknown, and errors
  // of CallOptions, the outcome is open.
  Task<Result<std::optional<Committed>>> Flush();
  // Gives the memory and the place of an upload under way back, as the first read does, since the owner may
  // be waiting for the memory of other uploads. False: it had none. Errors: as Read.
  Task<Result<bool>> Rest();

  // What of Flush takes long, in advance: if bytes have to be copied, they are in an upload then. Nothing is
  // committed. Errors: as Flush, and changes are kept.
  Task<Status> Prepare();
  // Flush for the last time. After it only Drop and the destructor.
  Task<Result<std::optional<Committed>>> Close();

  // Forgets all changes, and ends the edit.
  Task<void> Drop();

  // The name was renamed by the owner of the edit: the next version is committed there. Errors: those of
  // Store::Stat; the edit stays at the old name then.
  Task<Status> Moved(std::string path);

  // For an object whose name is about to go and that is to be used further: opens the version that the
  // changes are made to. Errors: as Read.
  Task<Status> Hold();
  // Its name has gone, or is another object's: nothing is committed any more (Flush answers kNotFound), and
  // no upload begins. What an upload has goes to scratch, since the upload would be in the way of those who
  // use the name; it stays if there is no room. After Hold.
  Task<void> LoseName();

  // The user attributes of the versions to come, in place of all others. Error: kInvalidArgument.
  Task<Status> SetUserAttributes(std::map<std::string, std::string> attributes);

  // Mode and time: of the next version if there are changes, else of the one that stands, at once. They stay
  // with the versions that follow, but for the time, which holds until the bytes change. Errors: those of
  // Store::SetSettings.
  Task<Status> SetSettings(Settings settings);

  // The version that the changes are made to; none: there is none yet.
  Task<std::optional<Version>> BaseVersion();
  // Mode and time as they would be if the changes were committed now, as far as they are known: another
  // client may have changed those of the version since it was opened.
  Task<Settings> SettingsToTell();

 private:
  // What the next version has beside its bytes.
  struct Beside {
    std::map<std::string, std::string> attributes;
    Settings settings;
  };

  OnlyIf Condition() const;
  Task<Status> Begin(CallOptions call);
  Task<Status> OpenBase();
  Task<Result<Beside>> BesideBytes();
  void TakeBase(std::shared_ptr<ReadHandle> version);
  Task<Result<std::unique_ptr<WriteHandle>>> StartUpload(std::optional<uint64_t> size, CallOptions call);
  Status CheckUsable() const;
  Task<Status> MakeReadable();
  Task<Status> EndStream();
  Task<Status> ToScratch();
  Task<Status> WriteHeld(uint64_t offset, ByteSpan bytes);
  Task<Status> AppendToStream(ByteSpan bytes);
  bool HasLongTail() const;
  Task<Status> BecomeStream();
  bool IsUpload() const;
  Task<Status> CheckRoom();
  Task<Result<std::unique_ptr<WriteHandle>>> Copy(std::optional<uint64_t> size);
  Status Give(WriteHandle& upload, Beside beside);
  Task<Result<Committed>> CommitUpload(std::unique_ptr<WriteHandle> upload, Beside beside);
  Task<Result<Committed>> CommitCopy(Beside beside);
  void BytesChange();
  Task<Status> CopyToStream(std::optional<uint64_t> size);
  Task<Result<std::optional<Committed>>> FlushHeld();

  Store& store_;
  const EditOptions options_;
  const CallOptions call_;  // of the caller, unlimited
  TaskLock lock_;  // what follows is changed under it alone
  std::string path_;
  std::optional<std::map<std::string, std::string>> attributes_;  // as they were set
  Settings settings_;  // that were set since the last version
  Settings standing_settings_;  // of the version that stands, as they are known
  // What is known to stand at the name: nothing, a version; neither: the edit does not care.
  bool nothing_stands_ = false;
  std::optional<Version> standing_;
  std::unique_ptr<WriteHandle> stream_;  // has all bytes; null: bytes_ has them
  EditBytes bytes_;
  bool base_is_due_ = false;  // the version that was committed is still to be opened
  bool stream_is_whole_ = false;  // nothing may be appended to it
  bool stream_is_admitted_ = true;  // else it waits for its memory before the first byte
  bool stream_is_ours_ = true;  // false: the upload, if there is one, is for a name that the object had
  uint64_t tail_max_;  // a longer one goes into an upload
  std::optional<Error> lost_;  // the changes are gone with an upload that failed
  bool nameless_ = false;
  bool closed_ = false;
  std::atomic<uint64_t> size_ = 0;
  std::atomic<bool> changed_ = false;
};

}  // namespace xec

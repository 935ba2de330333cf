// SPDX-License-Identifier: LGPL-3.0-or-later
// ObjectEdit: an object that is open to be changed anywhere. Its changes lie in scratch, over the version that
// was opened, and Flush makes a new version of both: readers see the old version or the new one, whole. What
// is written from start to end goes straight into an upload, and scratch is not touched.
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

struct EditOptions {
  // Of each version that is committed. Its condition is left alone: the edit has its own. A version that
  // follows another one takes over its attributes and mode, in place of those here.
  CreateOptions upload = {};
  bool truncate = false;   // starts empty and replaces whatever is there, as an upload does
  bool create = false;     // a missing name is an empty object, which the first Flush makes
  bool exclusive = false;  // nothing may be there, now and when it is first committed
  // What others have committed meanwhile is replaced. Else it stands, and Flush tells of it.
  bool last_writer_wins = false;
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
  // One that starts empty and has an upload already, which was created with `options.upload`: its condition
  // is that of the first version.
  ObjectEdit(Store& store, Scratch& scratch, std::string path, EditOptions options,
             std::unique_ptr<WriteHandle> upload, CallOptions call = {});
  ~ObjectEdit();

  // Of the object with its changes, in bytes. At any time.
  uint64_t size() const { return size_; }
  // Is there anything that Flush would commit? At any time.
  bool changed() const { return changed_; }

  // As ReadHandle::Read, but short only at the end of what was written: others' versions are not seen. The
  // first read of an upload under way ends its stream. Errors: those of ReadHandle::Read.
  Task<Result<uint64_t>> Read(uint64_t offset, MutableByteSpan into);

  // Anywhere: what lies between the end and `offset` is zeros. The bytes are read before the task ends. After
  // an error nothing of them is there, or some (kNoSpace: none). Errors: kInvalidArgument (beyond the largest
  // size); those of WriteHandle::Append; kNotCurrent when an upload has to begin and the version was replaced.
  Task<Status> Write(uint64_t offset, ByteSpan bytes);

  // What is added is zeros. Errors: as Write.
  Task<Status> Truncate(uint64_t size);

  // Commits what was changed, if anything was: then others see it, and the edit goes on from there. The
  // condition is that the name stands as it stood: kNotCurrent or kAlreadyExists if it does not, and nothing
  // is overwritten. After an error the changes are kept, may be read and flushed again, unless an upload had
  // them; on kUnknown, and errors of CallOptions, the outcome is open.
  Task<Result<std::optional<Committed>>> Flush();
  // The same for the last time. After it only Drop and the destructor.
  Task<Result<std::optional<Committed>>> Close();

  // Forgets all changes, and ends the edit.
  Task<void> Drop();

  // The name was renamed by the owner of the edit: from now on it is committed there. Errors: those of
  // Store::Stat, kNotCurrent (what stands there has another size); changes are kept.
  Task<Status> Moved(std::string path);

  // The user attributes of the versions to come, in place of all others. Error: kInvalidArgument.
  Task<Status> SetUserAttributes(std::map<std::string, std::string> attributes);

  // The version that the changes are made to; none: there is none yet.
  Task<std::optional<Version>> BaseVersion();

 private:
  ObjectEdit(Store& store, Scratch& scratch, std::string path, EditOptions options, CallOptions call);

  OnlyIf Condition() const;
  Task<Status> OpenBase(CallOptions call);
  Task<Result<std::unique_ptr<WriteHandle>>> StartUpload(std::optional<uint64_t> size, CallOptions call);
  Task<Status> KeepAttributes(CreateOptions& options, CallOptions call);
  Task<Status> WriteNow(uint64_t offset, ByteSpan bytes);
  Task<Status> AppendToStream(ByteSpan bytes);
  Task<Status> EndStream();
  Task<Status> BecomeStream();
  Task<Result<Committed>> CommitNow();
  Task<Result<Committed>> CommitUpload(std::unique_ptr<WriteHandle> upload);
  Task<Result<Committed>> CommitCopy();
  Task<Result<std::optional<Committed>>> FlushNow(bool last);
  Error Lost(const Error& error);
  Error Explained(Error error) const;

  Store& store_;
  std::string path_;
  const EditOptions options_;
  CallOptions call_;  // of the caller, unlimited
  TaskLock lock_;     // what follows is changed under it
  std::optional<std::map<std::string, std::string>> attributes_;  // as they were set
  // The version that stands at the name, for all that the edit knows; none: it knows of none.
  std::optional<Version> standing_;
  bool must_be_absent_ = false;
  std::unique_ptr<WriteHandle> stream_;  // has all bytes; null: bytes_ has them
  EditBytes bytes_;
  std::optional<Error> lost_;  // the changes are gone with an upload that failed
  bool closed_ = false;
  std::atomic<uint64_t> size_ = 0;
  std::atomic<bool> changed_ = false;
};

}  // namespace xec

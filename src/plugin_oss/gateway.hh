// SPDX-License-Identifier: LGPL-3.0-or-later
// Gateway: the store that the entry points of one xrootd daemon share, and how errors leave it.
#pragma once

#include <cerrno>
#include <map>
#include <memory>
#include <string>

#include "api/gated_store.hh"
#include "assembly/open_store.hh"
#include "edit/scratch.hh"
#include "plugin_oss/checksum_jobs.hh"
#include "plugin_oss/copy_receiver.hh"
#include "plugin_oss/handle_sharing.hh"
#include "plugin_oss/interrupted_changes.hh"
#include "plugin_oss/last_stats.hh"
#include "plugin_oss/upload_attributes.hh"
#include "plugin_oss/upload_line.hh"
#include "runtime/task.hh"
#include "xrdcompat/version.hh"

namespace xec {

// "Cannot tell, retry" (promise P6). EBUSY and ETIMEDOUT, and EUSERS in an open, would make XRootD tell the
// client to wait and ask again, for up to an hour over HTTP, without a word; so it is an error that a client
// sees at once. XRootD 6: ENOMEM is the one number that its XrdHttp turns into status 503; the sentence comes
// from getErrMsg. XRootD 5: no number gives 503 (all are 500); of EAGAIN it makes the words "resource
// temporarily unavailable".
#if XrdVNUMBER >= 60000
constexpr int kRetryErrno = ENOMEM;
#else
constexpr int kRetryErrno = EAGAIN;
#endif

// What XRootD gets for each of our codes.
constexpr int ErrnoOf(Code code) {
  switch (code) {
    case Code::kNotFound: return ENOENT;
    case Code::kAlreadyExists: return EEXIST;
    case Code::kInvalidArgument: return EINVAL;
    case Code::kPermissionDenied: return EACCES;
    case Code::kIsDirectory: return EISDIR;
    case Code::kNotDirectory: return ENOTDIR;
    case Code::kNotCurrent: return EEXIST;  // XrdHttp says 409; it has no 412
    case Code::kNotEmpty: return ENOTEMPTY;
    case Code::kUnavailable: return kRetryErrno;
    case Code::kDeadlineExceeded: return kRetryErrno;
    case Code::kCancelled: return ECANCELED;
    case Code::kConflict: return kRetryErrno;
    case Code::kUnknown: return kRetryErrno;
    case Code::kCorruption: return EIO;
    case Code::kUnreadable: return EIO;
    case Code::kDataLoss: return EIO;
    case Code::kNoQuorum: return kRetryErrno;
    case Code::kNoSpace: return ENOSPC;
    case Code::kOverQuota: return EDQUOT;
    case Code::kUnsupported: return ENOTSUP;
    case Code::kInternal: return EIO;
  }
  return EIO;
}

class Gateway {
 public:
  // For tests: a store of the caller's.
  Gateway(Store& store, UploadLine::Patience patience, ChecksumJobs::Limits limits = {},
          std::string offered = "/")
      : store_(&store),
        offered_(std::move(offered)),
        upload_line_(patience),
        checksum_jobs_(gate_, limits),
        scratch_(Configuration().ScratchDirectory(), Configuration().scratch_bytes),
        interrupted_(scratch_.directory() + "/interrupted") {}
  explicit Gateway(std::unique_ptr<OpenedStore> opened)
      : opened_(std::move(opened)),
        store_(&opened_->store()),
        offered_(opened_->configuration().export_path),
        checksum_jobs_(gate_, {}),
        scratch_(opened_->configuration().ScratchDirectory(), opened_->configuration().scratch_bytes),
        interrupted_(scratch_.directory() + "/interrupted") {}

  // What is offered of it: for XRootD's own export of /store the name /storeX begins alike.
  Store& store() { return gate_; }
  // "" while the store could not be opened yet, and of a test's.
  std::string StoreId();
  LastStats& last_stats() { return last_stats_; }
  UploadLine& upload_line() { return upload_line_; }
  UploadsOfClients& uploads_of_clients() { return uploads_of_clients_; }
  // Objects that are changed in place and have changes. Their attributes are those of what lives there.
  UploadsOfClients& edits_of_clients() { return edits_of_clients_; }
  ChecksumJobs& checksum_jobs() { return checksum_jobs_; }
  CopyReceiver& copies() { return copies_; }
  Scratch& scratch() { return scratch_; }
  InterruptedChanges& interrupted() { return interrupted_; }
  // Where to tell what was refused before it came to the store; null: nowhere.
  AuditLog* audit() { return opened_ ? opened_->audit() : nullptr; }

  // The group of the path, and what it uses. Null: of a test's.
  std::optional<GroupUse> UseOf(std::string_view path) {
    if (!opened_) return std::nullopt;
    return opened_->UseOf(path);
  }

  // WriteOptions for an object at `path` by the configuration's rules.
  CreateOptions CreateOptionsFor(std::string_view path);

  // The gateway of this daemon's configuration file; opened at the first call, the same for all entry points.
  // Error: what is wrong with the configuration or the data servers.
  static Result<Gateway*> ForConfiguration(const char* file);

 private:
  Result<Store*> Offers(std::string_view path);
  void ListenForCopies();

  std::unique_ptr<OpenedStore> opened_;
  Store* store_;
  const std::string offered_;  // the directory of it with all below
  GatedStore gate_{[this](std::string_view path, const CallOptions&) { return Offers(path); }};
  LastStats last_stats_;
  UploadLine upload_line_;
  UploadsOfClients uploads_of_clients_, edits_of_clients_;
  ChecksumJobs checksum_jobs_;
  CopyReceiver copies_;
  Scratch scratch_;
  InterruptedChanges interrupted_;
};

// True if a configuration file has xrootd tell an upload that ended from one whose client died (ofs.persist
// auto).
bool PersistsOnClose(std::string_view configuration_text);

// What is being done, for messages. The texts outlive it.
struct Attempt {
  const char* name;
  std::string_view path;
  std::string_view client;  // XRootD's trace identity, "user.pid:fd@host"; "" if unknown
};

// Logs the failure of an operation once, remembers its sentence for TakeErrorText, and returns -errno.
int Failed(const Attempt& operation, const Error& error);

// As Failed, or 0.
int Answer(const Attempt& operation, const Status& status);

// The sentence of this thread's last failure, once; false if there is none. For getErrMsg of XRootD 6.
bool TakeErrorText(std::string& text);

// Sets it; "" forgets the one that nobody asked for.
void RememberErrorText(std::string text);

// Runs `body`, whose failure alone TakeErrorText tells of then; an exception (out of memory, above all)
// becomes -EIO instead of ending the daemon.
template <typename F>
auto Guarded(const char* operation, F body) noexcept -> decltype(body()) {
  RememberErrorText("");
  try {
    return body();
  } catch (...) {
    return static_cast<decltype(body())>(
        Failed({operation, "", ""}, Error{Code::kInternal, "unexpected exception"}));
  }
}

}  // namespace xec

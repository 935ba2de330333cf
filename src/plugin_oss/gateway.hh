// SPDX-License-Identifier: LGPL-3.0-or-later
// Gateway: the store that the entry points of one xrootd daemon share, and how errors leave it.
#pragma once

#include <cerrno>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "assembly/open_store.hh"
#include "runtime/task.hh"

namespace xec {

// What XRootD gets for each of our codes. EUSERS is kXR_Overloaded: an error that says "try again later" and, unlike
// EBUSY, does not make the client wait for ever without a word. Stock XrdHttp turns it into status 500.
constexpr int ErrnoOf(Code code) {
  switch (code) {
    case Code::kNotFound: return ENOENT;
    case Code::kAlreadyExists: return EEXIST;
    case Code::kInvalidArgument: return EINVAL;
    case Code::kPermissionDenied: return EACCES;
    case Code::kIsDirectory: return EISDIR;
    case Code::kNotDirectory: return ENOTDIR;
    case Code::kNotEmpty: return ENOTEMPTY;
    case Code::kUnavailable: return EUSERS;
    case Code::kDeadlineExceeded: return EUSERS;
    case Code::kCancelled: return ECANCELED;
    case Code::kConflict: return EUSERS;
    case Code::kUnknown: return EUSERS;
    case Code::kCorruption: return EIO;
    case Code::kDataLoss: return EIO;
    case Code::kNoQuorum: return EUSERS;
    case Code::kNoSpace: return ENOSPC;
    case Code::kUnsupported: return ENOTSUP;
    case Code::kInternal: return EIO;
  }
  return EIO;
}

class Gateway {
 public:
  // For tests: a store of the caller's.
  explicit Gateway(Store& store) : store_(&store) {}
  explicit Gateway(std::unique_ptr<OpenedStore> opened) : opened_(std::move(opened)), store_(&opened_->store()) {}

  Store& store() { return *store_; }

  // WriteOptions for an object at `path` by the configuration's rules.
  WriteOptions WriteOptionsFor(std::string_view path);

  // The gateway of this daemon's configuration file; opened at the first call, the same for all entry points.
  // Error: what is wrong with the configuration or the data servers.
  static Result<Gateway*> ForConfiguration(const char* file);

 private:
  std::unique_ptr<OpenedStore> opened_;
  Store* store_;
};

// Logs the failure of an operation once, and returns -errno.
int Failed(const char* operation, const char* path, const Error& error);

// As Failed, or 0.
int Answer(const char* operation, const char* path, const Status& status);

// Runs `body`; an exception (out of memory, above all) becomes -EIO instead of ending the daemon.
template <typename F>
auto Guarded(const char* operation, F body) noexcept -> decltype(body()) {
  try {
    return body();
  } catch (...) {
    return static_cast<decltype(body())>(Failed(operation, "", Error{Code::kInternal, "unexpected exception"}));
  }
}

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// What a program that uses a mount gets for each of our codes. The gateway has a table of its own, whose
// numbers are those that XRootD makes the right answers to its clients from.
#pragma once

#include <cerrno>

#include "base/result.hh"

namespace xec {

// Where the answer is "retry" there is no EAGAIN: programs take it for a file that does not block, and spin.
constexpr int MountErrnoOf(Code code) {
  switch (code) {
    case Code::kNotFound: return ENOENT;
    case Code::kAlreadyExists: return EEXIST;
    case Code::kInvalidArgument: return EINVAL;
    case Code::kPermissionDenied: return EACCES;
    case Code::kIsDirectory: return EISDIR;
    case Code::kNotDirectory: return ENOTDIR;
    case Code::kNotCurrent: return ESTALE;
    case Code::kNotEmpty: return ENOTEMPTY;
    case Code::kUnavailable: return ETIMEDOUT;
    case Code::kDeadlineExceeded: return ETIMEDOUT;
    case Code::kCancelled: return EINTR;
    case Code::kConflict: return EBUSY;
    case Code::kUnknown: return ETIMEDOUT;
    case Code::kCorruption: return EIO;
    case Code::kUnreadable: return EIO;
    case Code::kDataLoss: return EIO;
    case Code::kNoQuorum: return ETIMEDOUT;
    case Code::kNoSpace: return ENOSPC;
    case Code::kOverQuota: return EDQUOT;
    case Code::kUnsupported: return EOPNOTSUPP;
    case Code::kInternal: return EIO;
  }
  return EIO;
}

}  // namespace xec

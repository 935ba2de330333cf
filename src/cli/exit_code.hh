// SPDX-License-Identifier: LGPL-3.0-or-later
// The exit codes of `xec`, one table over all error codes; `xec --help` and the man page repeat it.
#pragma once

#include <array>

#include "base/result.hh"

namespace xec {

constexpr int kExitOk = 0;
constexpr int kExitError = 1;
constexpr int kExitUsage = 2;
constexpr int kExitNotFound = 3;
constexpr int kExitExists = 4;
constexpr int kExitRetry = 5;
constexpr int kExitDamage = 6;
constexpr int kExitNoSpace = 7;
constexpr int kExitConflict = 8;
constexpr int kExitDenied = 9;
constexpr int kExitKind = 10;
constexpr int kExitInterrupted = 130;  // as shells report SIGINT

struct ExitCodeMeaning {
  int code;
  const char* meaning;
};
inline constexpr std::array<ExitCodeMeaning, 12> kExitCodes = {{
    {kExitOk, "done"},
    {kExitError, "an error that no other code covers"},
    {kExitUsage, "wrong use: unknown flag, bad value, bad configuration"},
    {kExitNotFound, "the object, directory or store does not exist"},
    {kExitExists, "there is something under the name already"},
    {kExitRetry, "cannot tell: servers do not answer, or the outcome is unknown; try again"},
    {kExitDamage, "damage: bad chunks were found, or too few are left to read"},
    {kExitNoSpace, "no space left, or a quota is used up"},
    {kExitConflict, "another writer was in the way, or the data servers do not belong together"},
    {kExitDenied, "permission denied"},
    {kExitKind, "an object where a directory is needed, or the reverse; a directory that is not empty"},
    {kExitInterrupted, "interrupted"},
}};

constexpr int ExitCodeOf(Code code) {
  switch (code) {
    case Code::kNotFound: return kExitNotFound;
    case Code::kAlreadyExists: return kExitExists;
    case Code::kInvalidArgument: return kExitUsage;
    case Code::kPermissionDenied: return kExitDenied;
    case Code::kIsDirectory:
    case Code::kNotDirectory:
    case Code::kNotEmpty: return kExitKind;
    case Code::kUnavailable:
    case Code::kDeadlineExceeded:
    case Code::kUnknown:
    case Code::kNoQuorum: return kExitRetry;
    case Code::kCorruption:
    case Code::kUnreadable:
    case Code::kDataLoss: return kExitDamage;
    case Code::kNoSpace:
    case Code::kOverQuota: return kExitNoSpace;
    case Code::kNotCurrent:
    case Code::kConflict: return kExitConflict;
    case Code::kCancelled:
    case Code::kUnsupported:
    case Code::kInternal: return kExitError;
  }
  return 0;  // no such code: the test of the table notices
}

}  // namespace xec

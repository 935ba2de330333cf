// SPDX-License-Identifier: LGPL-3.0-or-later
#include "base/result.hh"

namespace xec {

const char* CodeName(Code code) {
  switch (code) {
    case Code::kNotFound: return "not_found";
    case Code::kAlreadyExists: return "already_exists";
    case Code::kInvalidArgument: return "invalid_argument";
    case Code::kPermissionDenied: return "permission_denied";
    case Code::kIsDirectory: return "is_directory";
    case Code::kNotDirectory: return "not_directory";
    case Code::kNotCurrent: return "not_current";
    case Code::kNotEmpty: return "not_empty";
    case Code::kUnavailable: return "unavailable";
    case Code::kDeadlineExceeded: return "deadline_exceeded";
    case Code::kCancelled: return "cancelled";
    case Code::kConflict: return "conflict";
    case Code::kUnknown: return "unknown_outcome";
    case Code::kCorruption: return "corruption";
    case Code::kUnreadable: return "unreadable";
    case Code::kDataLoss: return "data_loss";
    case Code::kNoQuorum: return "cannot_tell";
    case Code::kNoSpace: return "no_space";
    case Code::kOverQuota: return "over_quota";
    case Code::kUnsupported: return "unsupported";
    case Code::kInternal: return "internal";
  }
  return "internal";
}

bool IsRetryable(Code code) {
  switch (code) {
    case Code::kUnavailable:
    case Code::kDeadlineExceeded:
    case Code::kConflict:
    case Code::kUnknown:
    case Code::kNoQuorum: return true;
    default: return false;
  }
}

std::string Error::ToString() const { return fmt::format("{}: {}", CodeName(code), message); }

Error FailWith(Code code, fmt::string_view format, fmt::format_args args) {
  return Error{code, fmt::vformat(format, args)};
}

namespace internal {
void ValueOfError(const Error& error) { XEC_CHECK(false, "value() of an error: {}", error.message); }
void ErrorOfValue() { XEC_CHECK(false, "error() of an OK"); }
}  // namespace internal

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "xrdcompat/status.hh"

#include <algorithm>
#include <array>
#include <string>

#include "XProtocol/XProtocol.hh"
#include "XrdCl/XrdClXRootDResponses.hh"

namespace xec {
namespace {

struct Row {
  uint32_t number;
  Code code;
};

// Error numbers a server answers with. Those not listed are kUnavailable: such an operation may succeed on
// another server or later, and claiming less than the server said is safe.
constexpr std::array kServerErrors = {
    Row{kXR_ArgInvalid, Code::kInvalidArgument},
    Row{kXR_ArgMissing, Code::kInvalidArgument},
    Row{kXR_ArgTooLong, Code::kInvalidArgument},
    Row{kXR_BadPayload, Code::kInvalidArgument},
    Row{kXR_InvalidRequest, Code::kUnsupported},
    Row{kXR_Unsupported, Code::kUnsupported},
    Row{kXR_NotFound, Code::kNotFound},
    Row{kXR_ItExists, Code::kAlreadyExists},
    Row{kXR_isDirectory, Code::kIsDirectory},
    Row{kXR_NotFile, Code::kIsDirectory},
    Row{kXR_NotAuthorized, Code::kPermissionDenied},
    Row{kXR_AuthFailed, Code::kPermissionDenied},
    Row{kXR_TLSRequired, Code::kPermissionDenied},
    Row{kXR_fsReadOnly, Code::kPermissionDenied},
    Row{kXR_NoSpace, Code::kNoSpace},
    Row{kXR_overQuota, Code::kNoSpace},
    Row{kXR_ChkSumErr, Code::kCorruption},
    Row{kXR_Conflict, Code::kConflict},
    // Another handle has the file open; it may be the one we gave up on.
    Row{kXR_FileLocked, Code::kConflict},
    Row{kXR_inProgress, Code::kUnavailable},
    Row{kXR_AttrNotFound, Code::kNotFound},
    Row{kXR_Cancelled, Code::kUnavailable},
    Row{kXR_ReqTimedOut, Code::kDeadlineExceeded},
};

// What the client library decides by itself before anything reaches a server. All other codes of the library
// are kUnavailable.
constexpr std::array kClientErrors = {
    Row{XrdCl::errOperationExpired, Code::kDeadlineExceeded},
    Row{XrdCl::errOperationInterrupted, Code::kDeadlineExceeded},
    Row{XrdCl::errInvalidArgs, Code::kInvalidArgument},
    Row{XrdCl::errNotSupported, Code::kUnsupported},
    Row{XrdCl::errNotImplemented, Code::kUnsupported},
    Row{XrdCl::errQueryNotSupported, Code::kUnsupported},
    Row{XrdCl::errAuthFailed, Code::kPermissionDenied},
    Row{XrdCl::errLoginFailed, Code::kPermissionDenied},
    Row{XrdCl::errCheckSumError, Code::kCorruption},
    Row{XrdCl::errDataError, Code::kCorruption},
};

template <size_t N>
Code Find(const std::array<Row, N>& rows, uint32_t number) {
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.number == number; });
  return row == rows.end() ? Code::kUnavailable : row->code;
}

bool Contains(const std::string& text, std::string_view words) {
  return text.find(words) != std::string::npos;
}

}  // namespace

Code CodeOf(const XrdCl::XRootDStatus& status) {
  if (status.code != XrdCl::errErrorResponse) return Find(kClientErrors, status.code);
  const std::string& message = status.GetErrorMessage();
  if (status.errNo == kXR_FSError || status.errNo == kXR_ItExists || status.errNo == kXR_NotFile) {
    if (Contains(message, "not empty")) return Code::kNotEmpty;
    if (Contains(message, "not a directory")) return Code::kNotDirectory;
  }
  return Find(kServerErrors, status.errNo);
}

Error ToError(const XrdCl::XRootDStatus& status, std::string_view what) {
  std::string reason = status.code == XrdCl::errErrorResponse && !status.GetErrorMessage().empty()
                           ? status.GetErrorMessage()
                           : status.ToStr();
  while (!reason.empty() && (reason.back() == '\n' || reason.back() == '\0')) reason.pop_back();
  return Fail(CodeOf(status), "{} failed: {}", what, reason);
}

Error ToReadError(const XrdCl::XRootDStatus& status, std::string_view what) {
  Error error = ToError(status, what);
  if (status.code == XrdCl::errErrorResponse && status.errNo == kXR_IOError) error.code = Code::kUnreadable;
  return error;
}

Error ToCloseError(const XrdCl::XRootDStatus& status, std::string_view what) {
  Error error = ToError(status, what);
  const bool silence = error.code == Code::kUnavailable || error.code == Code::kDeadlineExceeded;
  if (silence && status.code == XrdCl::errErrorResponse) error.code = Code::kUnreadable;
  return error;
}

}  // namespace xec

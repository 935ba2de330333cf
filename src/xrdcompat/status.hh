// SPDX-License-Identifier: LGPL-3.0-or-later
// The one table from what XRootD says to what XEC says.
#pragma once

#include <string_view>

#include "base/result.hh"

namespace XrdCl {
class XRootDStatus;
}

namespace xec {

// The code for an XRootDStatus that is not OK.
//
// Only a server's own answer becomes a code that means "did not happen": whatever was decided by the client
// library (broken connections, timeouts, redirects refused) is kUnavailable or kDeadlineExceeded, since the
// request may have reached the server (contract of DataServer, "lost reply").
//
// The protocol has one error number for ENOTDIR, ENOTEMPTY and many others (kXR_FSError); those two are told
// apart by strerror's English words in the message, which servers always append in the C locale.
Code CodeOf(const XrdCl::XRootDStatus& status);

// "open /a/b on root://host:1094 failed: Unable to open /a/b; no such file or directory". `what` names the
// operation, the path and the server.
Error ToError(const XrdCl::XRootDStatus& status, std::string_view what);

// The same for reading from an open file: kUnreadable when the server's disk could not give the bytes.
Error ToReadError(const XrdCl::XRootDStatus& status, std::string_view what);

// The same for closing a file: kUnreadable in place of kUnavailable and kDeadlineExceeded when the server
// said so.
Error ToCloseError(const XrdCl::XRootDStatus& status, std::string_view what);

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// How the gateway's own checks of clients get in front of those that the operator's file asks of XRootD.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hh"

namespace xec {

struct DirectiveLine {
  size_t number;  // of its first line in the file
  std::string text;
};

// The lines of a file of XRootD's as XRootD reads them: what ends with a backslash goes on in the next line
// that is neither empty nor a comment.
std::vector<DirectiveLine> DirectiveLines(std::string_view file);

// The directive `ofs.authlib` that belongs behind the operator's lines: "" if these do not have XRootD
// authorize clients. `banned`: the file of `xec.banned` or "", which is an error without authorization.
Result<std::string> AccessLine(const std::string& users_lines, const std::string& plug_in,
                               const std::string& banned);

// The operator's lines, so that the logins they configure refuse certificates that were revoked: https gets
// our extractor in front of theirs, gsi ours as its -authzfun, unless it has one.
std::string WithRevocations(const std::string& users_lines, const std::string& plug_in);

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// The directory at which something is mounted.
#pragma once

#include <string>

#include "base/result.hh"

namespace xec {

// Its whole path. What an earlier mount of ours left there whose process has died is ended first, as no
// program can use it any more. Errors: kNotFound, kNotDirectory, kPermissionDenied.
Result<std::string> FreeMountPoint(const std::string& path);

}  // namespace xec

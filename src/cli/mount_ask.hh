// SPDX-License-Identifier: LGPL-3.0-or-later
// Questions to a mount of this machine about itself.
#pragma once

#include <string>

#include "base/result.hh"
#include "cli/mount_list.hh"
#include "runtime/executor.hh"

namespace xec {

// The value of an attribute of the mounted directory, asked by a process of its own, which is given up after
// `at_most`: a mount whose process is stopped keeps nobody waiting. To be called before threads are started.
// Errors: kDeadlineExceeded, kUnavailable (its process has died), kPermissionDenied (this user may not enter,
// or not ask), kUnsupported (an earlier version, which does not know the question).
Result<std::string> AskMount(const ListedMount& mount, const std::string& attribute, Duration at_most);

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// mount.xec: this program as mount(8) and autofs run it for `mount -t xec SOURCE DIRECTORY`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hh"

namespace xec {

// Was it started by that name?
bool IsMountHelper(std::string_view program);

// `words`: what the helper was given. Answers the words of a command line of `xec`, without the name of the
// program; none: nothing is to be done. Error: kInvalidArgument.
Result<std::vector<std::string>> WordsOfMountHelper(const std::vector<std::string>& words);

// What mount(8) expects of its helpers for an exit code of ours.
int MountHelperExitCode(int code);

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// The mounts of this kind that this machine has.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace xec {

struct ListedMount {
  std::string directory;
  std::string source;  // as df shows it
  uid_t user = 0;      // who mounted it
  gid_t group = 0;
};

// Of what /proc/self/mountinfo says. Lines that say nothing sensible are left out.
std::vector<ListedMount> MountsIn(std::string_view mountinfo);

// Those that this process sees, in the order in which they were made.
std::vector<ListedMount> MountsOfMachine();

// The one at this directory, of several the last one, which hides the others. The directory itself is asked
// for nothing: it may hang.
std::optional<ListedMount> MountAt(const std::string& path);

}  // namespace xec

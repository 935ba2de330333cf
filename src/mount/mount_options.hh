// SPDX-License-Identifier: LGPL-3.0-or-later
// How a mount behaves: what `-o` of `xec mount` says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

#include "base/result.hh"

namespace xec {

struct MountOptions {
  static constexpr unsigned kThreadsMax = 256;
  // Requests of the kernel that are carried out at once.
  unsigned threads = 256;
  // For how long the kernel believes what it was told of a file, of a name, and of a name that there is not,
  // in seconds.
  double attributes_s = 1, names_s = 1, missing_names_s = 0;
  // For how long a listing is told again, in seconds; longer if it took longer to read. None: as
  // attributes_s.
  std::optional<double> listings_s = {};
  // Of everything.
  uid_t uid = 0;
  gid_t gid = 0;
  // Of what nobody has given a mode.
  uint32_t file_mode = 0644, directory_mode = 0755;
  // A commit replaces what others have made of the file since it was opened. Of stores only.
  bool last_writer_wins = false;
  std::vector<std::string> of_fuse;  // for the FUSE library and the kernel
  // Variables for the process of the mount, e.g. those that name keys: fstab has no other place for them.
  std::vector<std::pair<std::string, std::string>> environment;
};

// `texts`: options separated by commas, as of mount(8). Owner and group are those of this process unless they
// are given. Error: kInvalidArgument.
Result<MountOptions> ParseMountOptions(const std::vector<std::string>& texts);

}  // namespace xec

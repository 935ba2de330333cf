// SPDX-License-Identifier: LGPL-3.0-or-later
// What a data server of XRootD's with data spaces (`oss.space`) lost with a disk: its name space, on another
// disk, has a symbolic link for each file, and those into the lost space dangle. Reads that name space and
// nothing else.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "protocol/object_path.hh"
#include "protocol/state_name.hh"

namespace xec {

// A file of an object directory.
struct LostFile {
  std::string path;  // of the object
  State state;       // of its name; of kPromoted an archive with chunks
};

struct LostLinks {
  uint64_t links = 0;     // all of the name space
  uint64_t into_disk = 0;  // those that lead into the disk
  uint64_t dangling = 0;   // of these: what they lead to cannot be reached
  uint64_t archives = 0;  // of these: promoted archives, which `found` heard of
  uint64_t uploads = 0;   // sealed archives of uploads, under way or given up
  uint64_t others = 0;    // witnesses, user attributes, drafts: XEC makes them anew, or does without
  uint64_t foreign = 0;   // files that are no states of an object
  bool identity = false;  // the file that says which member the server is
};

// Looks at every name below the directory `name_space` (`oss.localroot` of the server). `disk`: the space, as
// absolute path; "": wherever a link leads. `found` hears of each promoted archive. Blocking. Errors:
// kNotFound, kPermissionDenied (also of what a link leads to: nobody knows then whether it is there),
// kUnavailable.
Result<LostLinks> FindLostLinks(const std::string& name_space, const std::string& disk,
                                const std::function<void(LostFile)>& found);

}  // namespace xec

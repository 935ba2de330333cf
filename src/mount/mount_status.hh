// SPDX-License-Identifier: LGPL-3.0-or-later
// What a mount tells of itself by extended attributes of its directory, in JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mount/tree.hh"

namespace xec {

// For root and the user that mounted. To read the second one is to ask for it: what programs have written is
// committed, and what the kernel knows of names is dropped.
inline constexpr const char* kStatusAttribute = "xec.status";
inline constexpr const char* kFlushAttribute = "xec.flush";
// The kernel gives no more room to the value of an attribute.
constexpr size_t kAttributeBytesMax = 65536;

struct MountIdentity {
  std::string source;     // a file, a URL, or "xec"
  std::string directory;
  std::string version;    // of this program
};

struct ChangedFile {
  std::string path;
  uint64_t size = 0;  // bytes of the file with its changes
};

struct MountStatus {
  MountIdentity identity;
  int64_t since_ms = 0;  // since 1970
  unsigned threads = 0;
  size_t requests = 0;    // of the kernel, under way
  size_t open_files = 0;
  std::vector<ChangedFile> changed = {};  // with changes that are not committed
  TreeState tree = {};
};

// At most kAttributeBytesMax; changed files that have no place are counted all the same.
std::string FormatMountStatus(const MountStatus& status);

struct UncommittedFile {
  std::string path;
  Error error;
};

struct MountFlushed {
  size_t committed = 0;  // files
  std::vector<UncommittedFile> failed;
};

// As FormatMountStatus.
std::string FormatMountFlushed(const MountFlushed& flushed);

}  // namespace xec

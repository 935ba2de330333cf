// SPDX-License-Identifier: LGPL-3.0-or-later
// Names of the requests of DataServer and ArchiveFile, for counting, faults and messages.
#pragma once

#include <cstddef>

namespace xec {

enum class Operation {
  kOpen,    // of an existing file, for reading
  kCreate,  // exclusive open for writing
  kList,
  kListMany,
  kRename,
  kRemove,
  kMakeDirectory,
  kRemoveDirectory,
  kSetAttributes,
  kGetAttributes,
  kGetSpace,
  kRead,
  kWrite,
  kSync,
  kClose,
};

constexpr size_t kOperationCount = static_cast<size_t>(Operation::kClose) + 1;

// Stable lower-case word, e.g. "make_directory".
const char* OperationName(Operation operation);

// True where the request changes what the server holds (kSync and kClose do not).
bool IsMutating(Operation operation);

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// Removing much. A removal is two rounds of requests to servers, and waits for nothing of another one, so
// kRemovalsAtOnce are under way at a time, in no order. After a failure no more are begun.
#pragma once

#include <string>
#include <vector>

#include "api/store.hh"

namespace xec {

constexpr size_t kRemovalsAtOnce = 32;

// Removes objects; answers which of the names are directories, and leaves these. Errors: those of
// Store::Remove. Blocks, as SyncWait.
Result<std::vector<std::string>> RemoveObjects(Store& store, const std::vector<std::string>& paths,
                                               const CallOptions& call = {});

// Removes a directory with all in it; of the root what is in it. Others may remove from it meanwhile. Errors:
// those of Store::List, Remove and RemoveDirectory; kNotEmpty if others put something in. Blocks, as
// SyncWait.
Status RemoveTree(Store& store, const std::string& directory, const CallOptions& call = {});

}  // namespace xec

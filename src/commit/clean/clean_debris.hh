// SPDX-License-Identifier: LGPL-3.0-or-later
// What the cleaner removes from a name without open renames: lower versions, old attributes, given-up
// uploads, marks.
#pragma once

#include "commit/clean/clean_pass.hh"

namespace xec {

// What is below the decided version goes, where it or something higher is accepted.
Task<void> Sweep(CleanPass& pass);
Task<void> RemoveOldAttributes(CleanPass& pass);
Task<void> RemoveOldMarks(CleanPass& pass);

// Uploads that are promoted nowhere and silent for so long are given up.
Task<void> AbortSilentUploads(CleanPass& pass, Duration silence);
// So are those whose process has died: these, by their ids.
Task<void> AbortDeadUploads(CleanPass& pass, const std::set<std::string>& dead);

// So are directories whose makers are silent; they stand in the way of uploads.
Task<void> AbortSilentDirectories(CleanPass& pass);

}  // namespace xec

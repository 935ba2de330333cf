// SPDX-License-Identifier: LGPL-3.0-or-later
// Whether the store has room for another upload.
#pragma once

#include "codec/geometry.hh"
#include "commit/engine/engine.hh"

namespace xec {

// Of as many members as the upload must have archives on (`archives_min`, as of WriteOptions) more than the
// reserve must be free, as far as is known; a process that has just begun waits a moment to know it. Error:
// kNoSpace, which names members without room.
Task<Status> NeedRoom(Engine& engine, Geometry geometry, size_t archives_min);

}  // namespace xec

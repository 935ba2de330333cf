// SPDX-License-Identifier: LGPL-3.0-or-later
// Checks and lists all chunks of a version (docs of ObjectReader::Verify and Locate).
#pragma once

#include <functional>

#include "object/read/chunk_reader.hh"

namespace xec {

// One stripe at a time; needs budget for all chunks of one. OK when every chunk was asked for and reported,
// whatever it turned out to be. An archive whose end is damaged while its chunks are good is reported last,
// under its last chunk. Error: kInvalidArgument when a stripe exceeds the budget.
Task<Status> VerifyObject(ReadContext context, std::function<void(const ChunkReport&)> report);

Task<Status> LocateObject(ReadContext context, std::function<void(const ChunkReport&)> report);

}  // namespace xec

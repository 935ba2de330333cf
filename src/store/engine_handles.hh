// SPDX-License-Identifier: LGPL-3.0-or-later
// The handles that front ends get, on the readers and writers of the engine.
#pragma once

#include "object/read/object_reader.hh"
#include "object/write/object_writer.hh"
#include "store/client_requests.hh"

namespace xec {

// `engine` outlives the handle and what a limited call leaves under way. Calls count among `clients`.
std::shared_ptr<ReadHandle> MakeReadHandle(Engine& engine, std::shared_ptr<ObjectReader> reader,
                                           std::shared_ptr<ClientRequests> clients);
std::unique_ptr<WriteHandle> MakeWriteHandle(Engine& engine, std::unique_ptr<ObjectWriter> writer,
                                             std::shared_ptr<ClientRequests> clients);

}  // namespace xec

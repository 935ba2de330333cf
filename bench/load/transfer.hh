// SPDX-License-Identifier: LGPL-3.0-or-later
// Moves whole files as xrdcp does: pieces in order, a window of requests in flight, always waiting for the
// oldest.
#pragma once

#include "load/session.hh"

namespace xec::load {

struct Transfer {
  std::string source;  // path to read; empty: the bytes of the pattern of `target`
  std::string target;  // path to create; empty: the bytes are only looked at
  uint64_t size = 0;   // of the file; a source of another size is an error
};

// Both files are closed at the end, after an error too. `options` must outlive the task.
Task<Status> RunTransfer(Session& session, Connection& connection, Transfer transfer,
                         const TransferOptions& options);

}  // namespace xec::load

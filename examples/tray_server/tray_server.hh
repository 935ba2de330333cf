// SPDX-License-Identifier: LGPL-3.0-or-later
// An example of a new kind of data server, written from server/data_server.hh: the files lie in a tray, in
// the memory of this process, under an address mem://NAME. "Stable storage" is a big word here; for all else
// it is a data server. README.md has the row that would bring it into the table of kinds.
#pragma once

#include "server/data_server.hh"

namespace xec {

// All servers with one address share one tray. `executor` runs requests and their answers, and outlives them.
DataServerPtr MakeTrayServer(std::string address, Executor& executor);

// While a tray is away, everything is answered kUnavailable.
void SetTrayAway(const std::string& address, bool away);

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once

#include <string>

#include "runtime/task.hh"
#include "server/data_server.hh"

namespace xec {

// A stock server whose disk is full may make an empty file where it should have made a directory on the way
// to a new archive (XRootD 5.5.3), and refuses everything below from then on (kNotDirectory). Removes such a
// file from the way to `directory`, which the caller knows to be no file of its own. True: it was there and
// is gone, so nothing is below. A file with content stays. Each request is waited for as long as `each`.
Task<bool> RemoveStrayFile(Executor& executor, DataServerPtr server, std::string directory, Duration each);

}  // namespace xec

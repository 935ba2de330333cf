// SPDX-License-Identifier: LGPL-3.0-or-later
// Objects that are changed in place, as clients see it: opened to be written, neither made nor cut to nothing
// by the open. Close commits what was changed, and so does sync; but a client that has died changes nothing.
#pragma once

#include "plugin_oss/gateway.hh"
#include "plugin_oss/open_handle.hh"

namespace xec {

// Errors: as ObjectEdit::Open; kUnsupported without OpenOfThread.
Result<std::shared_ptr<OpenHandle>> OpenEdit(Gateway& gateway, std::string path, std::string client,
                                             const CallOptions& call);

// Reads pieces one by one, as OpenHandle::ReadV. -ESPIPE: one is beyond the end.
ssize_t ReadPieces(OpenHandle& handle, XrdOucIOVec* pieces, int count);

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// Root among the files of a gateway: what root made in a data directory the gateway, which runs as somebody
// else, could not change. So a command that root runs works as the owner of the data directories, and is root
// again only for the user's own files.
#pragma once

#include "assembly/configuration/configuration.hh"

namespace xec {

// Takes on the effective identity of the owner of most data directories that are there and not root's, if
// this is root. Call before threads are started. Errors: kPermissionDenied, no owner can reach its own
// directory; kUnavailable, only directories that do not answer could tell the owner.
Status WorkAsOwner(const Configuration& configuration);

// While it lives, the user's own rights count, on this thread alone.
class AsCaller {
 public:
  AsCaller();
  ~AsCaller();
  AsCaller(const AsCaller&) = delete;
  AsCaller& operator=(const AsCaller&) = delete;
};

// The same for good and for this thread only, for a signal handler that is about to end the process.
void BecomeCallerInSignalHandler();

}  // namespace xec

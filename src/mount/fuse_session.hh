// SPDX-License-Identifier: LGPL-3.0-or-later
// FuseSession: a tree mounted at a directory of this machine.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "mount/mount_options.hh"
#include "mount/mount_status.hh"
#include "mount/tree.hh"

namespace xec {

// One thread's. `tree` outlives it.
class FuseSession {
 public:
  virtual ~FuseSession() = default;

  // Needs the rights of the user that mounts. Error: kPermissionDenied, kUnavailable; the FUSE library has
  // said more on standard error.
  virtual Status Mount(const std::string& directory) = 0;

  // Answers the kernel until the mount is ended from outside or this process gets SIGTERM, SIGINT or SIGHUP,
  // which all other threads have to block. Then all that was written and not committed is committed. `ready`
  // is called once, when the mount answers. Error: kUnavailable.
  virtual Status Serve(std::function<void()> ready) = 0;

  // After Mount, with the same rights. Programs that are still in there get errors.
  virtual void Unmount() = 0;
};

// Error: kInvalidArgument, options that the FUSE library refuses.
Result<std::unique_ptr<FuseSession>> MakeFuseSession(MountedTree& tree, const MountOptions& options,
                                                     MountIdentity identity);

}  // namespace xec

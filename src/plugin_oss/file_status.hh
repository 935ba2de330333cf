// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once

#include <string>
#include <string_view>
#include <sys/stat.h>

#include "plugin_oss/gateway.hh"

namespace xec {

// How a client wants to be told of names; it says so with the name (opaque.hh).
enum class TellAs {
  kStock,
  // As mounts want it, by the word xec.tell=settings: a symbolic link is one, which stock clients would take
  // for nothing that has bytes; and a name in a listing whose mode and time may be others by now is told
  // without device and inode.
  kMount,
};
TellAs TellAsOf(std::string_view opaque);

// What is known of a name as XRootD tells its clients.
// Device and inode are two halves of one number for each version of each name, the same on all gateways of
// the store and never 0: XRootD makes ETags of them, and caches compare them.
void FillStat(Gateway& gateway, std::string_view path, const ObjectInfo& info, struct stat* out,
              TellAs as = TellAs::kStock);

// The number that XRootD's clients see of device and inode, in decimal: XrdHttp 6 makes the ETag of it, and
// `xrdfs stat` tells it as Id.
std::string EntityTag(Gateway& gateway, std::string_view path, const Version& version);

}  // namespace xec

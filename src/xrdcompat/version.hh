// SPDX-License-Identifier: LGPL-3.0-or-later
// What differs between the XRootD versions we build with (5.5.3 and 6.1).
#pragma once

#include <cstdint>
#include <ctime>

#include "XrdVersion.hh"

namespace xec {

// The type of every timeout argument of XrdCl and of its plug-in interfaces. Overrides must use it, or they
// silently override nothing in the other version.
#if XrdVNUMBER >= 60000
using XrdTimeout = time_t;
#else
using XrdTimeout = uint16_t;
#endif

}  // namespace xec

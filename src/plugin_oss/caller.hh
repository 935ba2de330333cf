// SPDX-License-Identifier: LGPL-3.0-or-later
// The client that asks, as XRootD has found out.
#pragma once

#include <XrdOuc/XrdOucEnv.hh>

#include "api/call_options.hh"

namespace xec {

// Null: XRootD does not say.
std::shared_ptr<const Caller> CallerOf(XrdOucEnv* env);

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// The client that asks, as XRootD has found out.
#pragma once

#include <XrdOuc/XrdOucEnv.hh>
#include <XrdSec/XrdSecEntity.hh>

#include "api/call_options.hh"

namespace xec {

Caller CallerOf(const XrdSecEntity& client);

// Null: XRootD does not say. Of a client with a token its subject is that of the token.
std::shared_ptr<const Caller> CallerOf(XrdOucEnv* env);

}  // namespace xec

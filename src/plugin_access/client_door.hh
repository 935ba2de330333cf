// SPDX-License-Identifier: LGPL-3.0-or-later
// By which protocol a client came.
#pragma once

#include <XrdSec/XrdSecEntity.hh>

namespace xec {

// http or https, rather than root://.
bool IsHttp(const XrdSecEntity& client);

// Whether nobody on the way could see what the client showed: by TLS.
bool CameSecretly(const XrdSecEntity& client);

// Whether the client logged in by a token (ztn). Its name is then no more than the subject of that token.
bool LoggedInByToken(const XrdSecEntity& client);

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_access/client_door.hh"

#include <string_view>

#include <XrdNet/XrdNetAddrInfo.hh>

#include "base/text.hh"

namespace xec {
namespace {

// What XRootD's http plug-in for VOMS says of a client whose certificate, shown by TLS, has attributes.
constexpr std::string_view kOfVoms = "gsi";

// In the trace identity NAME.NUMBER:FD@HOST, XRootD's HTTP has for a number that of the session, since there
// is no client that tells its process, as one of root:// does.
bool HasNumberOfSession(const XrdSecEntity& client) {
  const std::string_view identity = client.tident == nullptr ? "" : client.tident;
  const size_t colon = identity.rfind(':', identity.rfind('@'));
  const size_t dot = identity.rfind('.', colon);
  if (colon == std::string_view::npos || dot == std::string_view::npos) return false;
  return ParseUint(identity.substr(dot + 1, colon - dot - 1)) == client.ueid;
}

}  // namespace

bool IsHttp(const XrdSecEntity& client) {
  // "http": what XRootD's HTTP has for an identity before its first request to the file system, and for the
  // plug-ins that it hands requests to, third-party copy among them.
  constexpr std::string_view kIdentity = "http";
  const bool has_its_identity = client.tident != nullptr && client.tident == kIdentity;
  const std::string_view protocol = client.prot;
  // A client of root:// chooses its number, and so could pass for one of HTTP.
  return protocol.starts_with("http") || has_its_identity ||
         (protocol == kOfVoms && HasNumberOfSession(client));
}

bool LoggedInByToken(const XrdSecEntity& client) { return std::string_view(client.prot) == "ztn"; }

bool CameSecretly(const XrdSecEntity& client) {
  const std::string_view protocol = client.prot;
  if (protocol == "https" || (protocol == kOfVoms && IsHttp(client))) return true;
  return protocol != "http" && client.addrInfo != nullptr && client.addrInfo->isUsingTLS();
}

}  // namespace xec

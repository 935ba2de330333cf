// SPDX-License-Identifier: LGPL-3.0-or-later
// The files that `xec config` prints: ready-made configurations of gateways, data servers and redirectors,
// and what belongs beside them. Pure. The component tests run them as they are printed.
#pragma once

#include <string>

#include "assembly/configuration/configuration.hh"

namespace xec {

struct SiteOptions {
  bool tls = false;        // brought by each of the next three
  bool voms = false;       // certificates of users, and attributes of virtual organisations in them
  bool tokens = false;
  bool third_party = false;  // copies between sites, with macaroons
  bool shared_secrets = false;  // of clients for a gateway, of gateways for a data server
  bool kerberos = false;        // of a gateway
  std::string redirector = {};  // of a gateway: HOST:PORT of the cmsd that it joins; "" = none
  std::string higher = {};      // of a redirector: the same of the one above it

  bool Tls() const { return tls || voms || tokens || third_party; }
  // Whether clients have to show who they are.
  bool Authorizes() const { return voms || tokens || third_party || shared_secrets || kerberos; }
};

// `kind` is what the user typed: gateway, dataserver, redirector, rules, scitokens or unit. Of
// `configuration` a gateway's file has what is given, and example data servers where none are. Error:
// kInvalidArgument.
Result<std::string> SiteFile(const std::string& kind, const SiteOptions& options,
                             const Configuration& configuration);

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// In front of XRootD's own authorization, from which it only takes away: `ofs.authlib ++ libXrdOssXec.so`
// behind all other lines of that kind.
//
//   client -> ClientAccess -> tokens -> macaroons -> rules (the last three are XRootD's)
//
// A client that shows a token or a macaroon may do what that admits, by whole components of paths, and what
// anybody may do; neither its login nor a name or a group that it claims counts. XRootD 5.5.3 compares paths
// as text and lets the rules for the claimed name decide where the token admits nothing.
#pragma once

#include <memory>
#include <string>

#include <XrdAcc/XrdAccAuthorize.hh>

#include "base/result.hh"
#include "plugin_access/bans.hh"
#include "plugin_access/bearer.hh"
#include "plugin_access/followed_file.hh"
#include "plugin_access/issuers.hh"

namespace xec {

// Said in the environment of a rename whose client may not replace anything: the target has to be absent when the rename
// is carried out. XRootD looks only before.
inline constexpr const char* kTargetAbsent = "xec.absent";

class ClientAccess final : public XrdAccAuthorize {
 public:
  // `parameters`: words "tokens=FILE", the file of XRootD's plug-in for tokens, and "banned=FILE". Without
  // the first no token admits anything. `next` is borrowed for ever, as XRootD never destroys it.
  static Result<std::unique_ptr<ClientAccess>> Make(std::string_view parameters, XrdAccAuthorize& next);

  // For Make, and where there are neither tokens nor bans.
  explicit ClientAccess(XrdAccAuthorize& next) : next_(next) {}

  XrdAccPrivs Access(const XrdSecEntity* client, const char* path, Access_Operation operation,
                     XrdOucEnv* env) override;
  int Audit(int granted, const XrdSecEntity* client, const char* path, Access_Operation operation,
            XrdOucEnv* env) override {
    return next_.Audit(granted, client, path, operation, env);
  }
  int Test(XrdAccPrivs privileges, Access_Operation operation) override {
    return next_.Test(privileges, operation);
  }

 private:
  // A request of a bearer: of what it is, and to whom XRootD's plug-ins are asked about.
  struct Request {
    const XrdSecEntity& client;
    const char* given_path;
    std::string path;  // canonical
    Access_Operation operation;
    XrdOucEnv* env;
  };

  XrdAccPrivs OfBearer(const Request& request, std::string_view bearer);
  bool TokenAdmits(const Request& request, const TokenClaims& claims);
  bool MacaroonAdmits(const Request& request, const std::vector<std::string>& paths);
  // Whether XRootD's plug-ins grant this to somebody who has the token and nothing else.
  bool Vouched(const Request& request, Access_Operation operation, const char* path);

  XrdAccAuthorize& next_;
  std::unique_ptr<FollowedFile<Issuers>> issuers_;
  std::unique_ptr<FollowedFile<Bans>> bans_;
};

}  // namespace xec

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

#include <functional>
#include <memory>
#include <string>

#include <XrdAcc/XrdAccAuthorize.hh>

#include "base/result.hh"
#include "plugin_access/bans.hh"
#include "plugin_access/bearer.hh"
#include "plugin_access/followed_file.hh"
#include "plugin_access/issuers.hh"

namespace xec {

// Said in the environment of a rename whose client may not replace anything: the target has to be absent when
// the rename is carried out. XRootD looks only before.
inline constexpr const char* kTargetAbsent = "xec.absent";

// Under which name the environment of a request has the subject of its token, once XRootD's plug-ins have
// vouched for it. Another one in each process, so that no client can say it.
const char* SubjectKey();

// What a client was refused.
struct Refusal {
  const XrdSecEntity& client;
  std::string_view path;
  std::string_view operation;  // in a word: "read"
  std::string_view claimed;  // the subject of the token that it showed, which may be forged; "" without
};

class ClientAccess final : public XrdAccAuthorize {
 public:
  using Tell = std::function<void(const Refusal& refusal)>;

  // `parameters`: words "tokens=FILE", the file of XRootD's plug-in for tokens, and "banned=FILE". Without
  // the first no token admits anything. `next` is borrowed for ever, as XRootD never destroys it.
  // `tell` hears of refusals, on the thread that asks.
  static Result<std::unique_ptr<ClientAccess>> Make(std::string_view parameters, XrdAccAuthorize& next,
                                                    Tell tell);

  // For Make, and where there are neither tokens nor bans.
  ClientAccess(XrdAccAuthorize& next, Tell tell) : next_(next), tell_(std::move(tell)) {}

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

  XrdAccPrivs Decide(const XrdSecEntity& client, const char* path, Access_Operation operation, XrdOucEnv* env,
                     std::string_view bearer);
  XrdAccPrivs OfBearer(const Request& request, std::string_view bearer);
  bool TokenAdmits(const Request& request, const TokenClaims& claims);
  bool MacaroonAdmits(const Request& request, const MacaroonClaims& claims);
  // Whether XRootD's plug-ins grant this to somebody who has the token and nothing else.
  bool Vouched(const Request& request, Access_Operation operation, const char* path);

  XrdAccAuthorize& next_;
  const Tell tell_;
  std::unique_ptr<FollowedFile<Issuers>> issuers_;
  std::unique_ptr<FollowedFile<Bans>> bans_;
};

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_access/client_access.hh"

#include <algorithm>
#include <cstring>
#include <random>

#include <XrdOuc/XrdOucEnv.hh>
#include <XrdSec/XrdSecEntityAttr.hh>

#include "base/text.hh"
#include "plugin_access/client_door.hh"

namespace xec {
namespace {

// The subject of a token has 255 characters at most. A forged one must not fill the audit log.
constexpr size_t kToldSubjectMax = 255;

// What grants exactly this operation.
XrdAccPrivs PrivilegeFor(Access_Operation operation) {
  switch (operation) {
    case AOP_Chmod: return XrdAccPriv_Chmod;
    case AOP_Create:
    case AOP_Excl_Create: return XrdAccPriv_Create;
    case AOP_Delete: return XrdAccPriv_Delete;
    case AOP_Insert:
    case AOP_Excl_Insert: return XrdAccPriv_Insert;
    case AOP_Mkdir: return XrdAccPriv_Mkdir;
    case AOP_Read: return XrdAccPriv_Read;
    case AOP_Readdir: return XrdAccPriv_Readdir;
    case AOP_Rename: return XrdAccPriv_Rename;
    case AOP_Stat: return XrdAccPriv_Lookup;
    case AOP_Update: return XrdAccPriv_Update;
    default: return XrdAccPriv_None;
  }
}

// "" where a refusal says nothing yet: XRootD asks next for the same on an absent name, or for privileges.
std::string_view WordFor(Access_Operation operation) {
  switch (operation) {
    case AOP_Chmod: return "chmod";
    case AOP_Excl_Create: return "create";
    case AOP_Delete: return "remove";
    case AOP_Excl_Insert: return "rename to";
    case AOP_Mkdir: return "mkdir";
    case AOP_Read: return "read";
    case AOP_Readdir: return "list";
    case AOP_Rename: return "rename";
    case AOP_Stat: return "stat";
    case AOP_Update: return "change";
    default: return "";
  }
}

// What XRootD's plug-in grants to tokens with this ability, and to none without it.
Access_Operation Mark(Ability ability) {
  switch (ability) {
    case Ability::kRead: return AOP_Read;
    case Ability::kCreate: return AOP_Excl_Create;
    case Ability::kModify: return AOP_Update;
  }
  return AOP_Any;
}

// Where XRootD's plug-ins look for it as well: in the request, or in the login.
std::string_view BearerOf(const XrdSecEntity& client, XrdOucEnv* env) {
  constexpr std::string_view kScheme = "Bearer%20";
  const char* const authz = env == nullptr ? nullptr : env->Get("authz");
  if (authz != nullptr) {
    std::string_view text = authz;
    if (text.starts_with(kScheme)) text.remove_prefix(kScheme.size());
    // Other schemes show no token.
    return text.find('%') == text.npos ? text : std::string_view();
  }
  const bool has_it = LoggedInByToken(client) && client.creds != nullptr && client.credslen > 0 &&
                      client.creds[client.credslen] == '\0';
  return has_it ? std::string_view(client.creds) : std::string_view();
}

// The client without what its login made of it; all it points to is borrowed. Its attributes are its own, so
// that a name that XRootD's plug-ins give to one request is none of another request of the connection.
struct Stranger : XrdSecEntity {
  explicit Stranger(const XrdSecEntity& client) : XrdSecEntity(client.prot) {
    host = client.host;
    addrInfo = client.addrInfo;
    tident = client.tident;
    pident = client.pident;
    ueid = client.ueid;
  }
};

// The holder of a shared secret (sss) as its key says. XRootD believes it whatever else it claims: a VO, a
// role, and by an attribute the name of anybody.
struct SecretHolder : Stranger {
  explicit SecretHolder(const XrdSecEntity& client) : Stranger(client) {
    name = client.name;
    grps = client.grps;
    uid = client.uid;
    gid = client.gid;
  }
};

ShownNames NamesIn(std::string_view bearer) {
  if (const std::optional<TokenClaims> claims = ReadToken(bearer)) return {claims->subject, ""};
  if (const std::optional<MacaroonClaims> claims = ReadMacaroon(bearer)) return {"", claims->name};
  return {};
}

const char* PathFor(const std::string& canonical) { return canonical.empty() ? "/" : canonical.c_str(); }

}  // namespace

const char* SubjectKey() {
  static const std::string key = fmt::format("xec.subject.{}", Hex(std::random_device{}(), 16));
  return key.c_str();
}

Result<std::unique_ptr<ClientAccess>> ClientAccess::Make(std::string_view parameters, XrdAccAuthorize& next,
                                                         Tell tell) {
  auto access = std::make_unique<ClientAccess>(next, std::move(tell));
  for (const std::string_view word : Split(parameters, ' ')) {
    if (word.empty()) continue;
    const size_t sign = word.find('=');
    const std::string file(word.substr(sign == word.npos ? word.size() : sign + 1));
    if (word.starts_with("tokens=")) {
      XEC_ASSIGN_OR_RETURN(access->issuers_, FollowedFile<Issuers>::Open(file, ParseIssuers));
    } else if (word.starts_with("banned=")) {
      XEC_ASSIGN_OR_RETURN(access->bans_, FollowedFile<Bans>::Open(file, ParseBans));
    } else {
      return Fail(Code::kInvalidArgument, "ofs.authlib: \"{}\" is neither tokens=FILE nor banned=FILE", word);
    }
  }
  return access;
}

XrdAccPrivs ClientAccess::Access(const XrdSecEntity* client, const char* path, Access_Operation operation,
                                 XrdOucEnv* env) {
  if (client == nullptr || path == nullptr) return next_.Access(client, path, operation, env);
  const std::string_view bearer = BearerOf(*client, env);
  const XrdAccPrivs granted = Decide(*client, path, operation, env, bearer);
  const std::string_view word = WordFor(operation);
  if (granted == XrdAccPriv_None && !word.empty()) {
    const ShownNames shown = NamesIn(bearer);
    tell_({*client, path, word, std::string_view(shown.subject).substr(0, kToldSubjectMax)});
  }
  return granted;
}

XrdAccPrivs ClientAccess::Decide(const XrdSecEntity& client, const char* path, Access_Operation operation,
                                 XrdOucEnv* env, std::string_view bearer) {
  if (bans_ != nullptr) {
    const std::string ban = BanOf(*bans_->Current(), client, NamesIn(bearer));
    if (!ban.empty()) {
      Log(LogLevel::kWarning, "access", "{} is refused to {}: {} is banned", path,
          client.tident == nullptr ? "a client" : client.tident, ban);
      return XrdAccPriv_None;
    }
  }
  if (bearer.empty() && std::strcmp(client.prot, "sss") == 0) {
    const SecretHolder holder(client);
    return next_.Access(&holder, path, operation, env);
  }
  if (bearer.empty() && !LoggedInByToken(client)) return next_.Access(&client, path, operation, env);
  std::optional<std::string> canonical = Canonical(path);
  if (!canonical) return XrdAccPriv_None;
  return OfBearer({client, path, std::move(*canonical), operation, env}, bearer);
}

XrdAccPrivs ClientAccess::OfBearer(const Request& request, std::string_view bearer) {
  bool admitted = false;
  if (request.operation != AOP_Any && CameSecretly(request.client)) {
    if (const std::optional<TokenClaims> claims = ReadToken(bearer)) {
      admitted = TokenAdmits(request, *claims);
    } else if (const std::optional<MacaroonClaims> macaroon = ReadMacaroon(bearer)) {
      admitted = MacaroonAdmits(request, *macaroon);
    }
  }
  if (admitted && request.operation == AOP_Excl_Insert && request.env != nullptr)
    request.env->Put(kTargetAbsent, "1");
  if (admitted) return PrivilegeFor(request.operation);
  const Stranger stranger(request.client);
  return next_.Access(&stranger, request.given_path, request.operation, nullptr);
}

bool ClientAccess::TokenAdmits(const Request& request, const TokenClaims& claims) {
  if (!claims.scopes) return Vouched(request, request.operation, request.given_path);
  const std::shared_ptr<const Issuers> issuers = issuers_ == nullptr ? nullptr : issuers_->Current();
  if (!issuers) return false;
  const auto issuer = issuers->find(claims.issuer);
  if (issuer == issuers->end()) return false;
  const auto& [base_paths, restricted] = issuer->second;
  for (const Scope& scope : *claims.scopes) {
    const auto covers = [&scope](const std::string& top) { return Covers(top, scope.path); };
    if (!restricted.empty() && std::ranges::none_of(restricted, covers)) continue;
    for (const std::string& base : base_paths) {
      const Scope here = {scope.ability, base + scope.path};
      if (!Admits(here, request.operation, request.path)) continue;
      // Of a folder above the scope nobody but we know that it can be seen.
      const std::string& asked = Covers(here.path, request.path) ? request.path : here.path;
      if (Vouched(request, Mark(scope.ability), PathFor(asked))) return true;
    }
  }
  return false;
}

bool ClientAccess::MacaroonAdmits(const Request& request, const MacaroonClaims& claims) {
  const bool confined_elsewhere = std::ranges::any_of(claims.paths, [&](const std::string& top) {
    const bool on_the_way = request.operation == AOP_Stat && Covers(request.path, top);
    return !Covers(top, request.path) && !on_the_way;
  });
  // XRootD 5 does not take "/a" for what "/a/" stands for, so it is asked with what it gave itself.
  if (confined_elsewhere || !Vouched(request, request.operation, request.given_path)) return false;
  if (request.env != nullptr) request.env->Put(SubjectKey(), claims.name.c_str());
  return true;
}

bool ClientAccess::Vouched(const Request& request, Access_Operation operation, const char* path) {
  Stranger stranger(request.client);
  // The token may be that of its login.
  stranger.creds = request.client.creds;
  stranger.credslen = request.client.credslen;
  if (next_.Access(&stranger, path, operation, request.env) == XrdAccPriv_None) return false;
  std::string subject;
  // Without a subject, the name that the site has for such tokens.
  if (!stranger.eaAPI->Get("token.subject", subject)) stranger.eaAPI->Get("request.name", subject);
  if (request.env != nullptr) request.env->Put(SubjectKey(), subject.c_str());
  return true;
}

}  // namespace xec

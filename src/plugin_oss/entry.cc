// SPDX-License-Identifier: LGPL-3.0-or-later
// What xrootd loads: `ofs.osslib`, `ofs.ckslib *`, `ofs.xattrlib`, `xrootd.fslib ++`, `ofs.authlib ++`,
// `http.secxtractor` and gsi's `-authzfun` all name this module.
#include <cstdio>
#include <cstring>

#include <XrdSys/XrdSysError.hh>
#include <XrdSys/XrdSysLogger.hh>
#include <XrdVersion.hh>

#include "base/log.hh"
#include "plugin_access/certificate_checks.hh"
#include "plugin_access/client_access.hh"
#include "plugin_oss/attributes.hh"
#include "plugin_oss/caller.hh"
#include "plugin_oss/checksums.hh"
#include "plugin_oss/file_system.hh"
#include "plugin_oss/storage.hh"
#include "runtime/allocator.hh"

namespace {

// The store of the configuration file, or nullptr after saying on the daemon's log what is wrong.
xec::Gateway* OpenGateway(const char* file) noexcept {
  try {
    const xec::Result<xec::Gateway*> gateway = xec::Gateway::ForConfiguration(file);
    if (gateway) return *gateway;
    xec::Log(xec::LogLevel::kError, "gateway", "cannot start: {}", gateway.error().message);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "xec: cannot start: %s\n", problem.what());
  }
  return nullptr;
}

// Set once, before clients come.
std::string lists_of_revoked;

void Tell(xec::Gateway& gateway, const xec::Refusal& refusal) {
  if (gateway.audit() == nullptr) return;
  const xec::Caller caller = xec::CallerOf(refusal.client);
  gateway.audit()->Write({.event = "refused",
                          .path = refusal.path,
                          .what = refusal.operation,
                          .claimed = refusal.claimed,
                          .result = "refused"},
                         &caller);
}

}  // namespace

extern "C" {

XrdOss* XrdOssGetStorageSystem2(XrdOss*, XrdSysLogger* logger, const char* file, const char*, XrdOucEnv*) {
  xec::MapLargeBlocks();
  // Our lines go where the daemon's go.
  auto* route = new XrdSysError(logger, "");
  xec::SetLogSink(
      [route](xec::LogLevel, std::string_view line) { route->Emsg("xec", std::string(line).c_str()); });
  xec::Gateway* gateway = OpenGateway(file);
  return gateway == nullptr ? nullptr : new xec::Storage(*gateway);
}

XrdCks* XrdCksInit(XrdSysError* error, const char* file, const char*) {
  xec::Gateway* gateway = OpenGateway(file);
  return gateway == nullptr ? nullptr : new xec::Checksums(*gateway, error);
}

XrdSfsFileSystem* XrdSfsGetFileSystem2(XrdSfsFileSystem* next, XrdSysLogger*, const char*, XrdOucEnv*) {
  return next == nullptr ? nullptr : new xec::ClientFileSystem(*next);
}

XrdAccAuthorize* XrdAccAuthorizeObjAdd(XrdSysLogger*, const char* file, const char* parameters, XrdOucEnv*,
                                       XrdAccAuthorize* next) {
  xec::Gateway* gateway = next == nullptr ? nullptr : OpenGateway(file);
  if (gateway == nullptr) return nullptr;
  auto access = xec::ClientAccess::Make(parameters == nullptr ? "" : parameters, *next,
                                        [gateway](const xec::Refusal& refusal) { Tell(*gateway, refusal); });
  if (access) return access->release();
  xec::Log(xec::LogLevel::kError, "access", "cannot start: {}", access.error().message);
  return nullptr;
}

XrdHttpSecXtractor* XrdHttpGetSecXtractor(XrdSysError* error, const char* file, const char* parameters) {
  const auto next = xec::NextExtractor(error, file, parameters == nullptr ? "" : parameters);
  if (next) return new xec::RevocationExtractor(*next);
  xec::Log(xec::LogLevel::kError, "access", "cannot start: {}", next.error().message);
  return nullptr;
}

// Of gsi (XrdSecgsi, -authzfun): the parameters, the folder of the lists; 1: certificates are wanted in PEM.
int XrdSecgsiAuthzInit(const char* parameters) {
  lists_of_revoked = parameters == nullptr ? "" : parameters;
  return 1;
}

// What a verdict is kept for: the certificates themselves. XRootD destroys the array.
int XrdSecgsiAuthzKey(XrdSecEntity& client, char** key) {
  if (client.creds == nullptr || client.credslen <= 0) return -1;
  const size_t size = static_cast<size_t>(client.credslen);
  *key = new char[size + 1];
  std::memcpy(*key, client.creds, size);
  (*key)[size] = '\0';
  return client.credslen;
}

// 0: the client may log in.
int XrdSecgsiAuthzFun(XrdSecEntity& client) {
  const std::string revoked = xec::RevokedOf(client, lists_of_revoked);
  if (revoked.empty()) return 0;
  xec::Log(xec::LogLevel::kWarning, "access", "{} is refused: the certificate {} is revoked",
           client.host == nullptr ? "a client" : client.host, revoked);
  return -1;
}

XrdSysXAttr* XrdSysGetXAttrObject(XrdSysError*, const char* file, const char*) {
  xec::Gateway* gateway = OpenGateway(file);
  return gateway == nullptr ? nullptr : new xec::UserAttributesPlugin(*gateway);
}
}

XrdVERSIONINFO(XrdOssGetStorageSystem2, Xec) XrdVERSIONINFO(XrdCksInit, Xec)
    XrdVERSIONINFO(XrdSysGetXAttrObject, Xec) XrdVERSIONINFO(XrdSfsGetFileSystem2, Xec)
        XrdVERSIONINFO(XrdAccAuthorizeObjAdd, Xec) XrdVERSIONINFO(XrdHttpGetSecXtractor, Xec)
            XrdVERSIONINFO(XrdSecgsiAuthzFun, Xec)

// SPDX-License-Identifier: LGPL-3.0-or-later
// What xrootd loads: `ofs.osslib`, `ofs.ckslib *`, `ofs.xattrlib`, `xrootd.fslib ++` and `ofs.authlib ++` all
// name this module.
#include <cstdio>
#include <malloc.h>

#include <XrdSys/XrdSysError.hh>
#include <XrdSys/XrdSysLogger.hh>
#include <XrdVersion.hh>

#include "base/log.hh"
#include "plugin_access/client_access.hh"
#include "plugin_oss/attributes.hh"
#include "plugin_oss/caller.hh"
#include "plugin_oss/checksums.hh"
#include "plugin_oss/file_system.hh"
#include "plugin_oss/storage.hh"

namespace {

// Blocks of this size, in bytes, and larger ones are mapped on their own and go back to the system when they
// are freed. glibc raises its limit to 32 MiB by itself as soon as large blocks are freed; the daemon's
// buffers of up to 2 MiB a stream then lie scattered over its arenas, which keep a third more than is in use
// (test_memory.py).
constexpr int kMappedBlockBytes = 512 << 10;

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
  mallopt(M_MMAP_THRESHOLD, kMappedBlockBytes);
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

XrdSysXAttr* XrdSysGetXAttrObject(XrdSysError*, const char* file, const char*) {
  xec::Gateway* gateway = OpenGateway(file);
  return gateway == nullptr ? nullptr : new xec::UserAttributesPlugin(*gateway);
}
}

XrdVERSIONINFO(XrdOssGetStorageSystem2, Xec) XrdVERSIONINFO(XrdCksInit, Xec)
    XrdVERSIONINFO(XrdSysGetXAttrObject, Xec) XrdVERSIONINFO(XrdSfsGetFileSystem2, Xec)
        XrdVERSIONINFO(XrdAccAuthorizeObjAdd, Xec)

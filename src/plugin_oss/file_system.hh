// SPDX-License-Identifier: LGPL-3.0-or-later
// ClientFileSystem: stands in front of XRootD's own file system (`xrootd.fslib ++`) and passes everything on
// to it. It does what XRootD's interfaces below that have no way to: says for which client attributes are
// asked (ClientOfThread), that a removal comes from HTTP (HttpRemovalOfThread), which checksums HTTP may
// choose from, what the target of an HTTP MOVE is called, and why a file cannot be opened or closed
// (ExplainedFile).
#pragma once

#include <string>
#include <string_view>

#include <XrdSfs/XrdSfsInterface.hh>

#include "base/result.hh"
#include "plugin_oss/explained_file.hh"

namespace xec {

class ClientFileSystem final : public XrdSfsFileSystem {
 public:
  // `next` outlives it.
  explicit ClientFileSystem(XrdSfsFileSystem& next) : next_(next) { FeatureSet = next.Features(); }

  // With a null request, which comes once before clients do, it is asked whether there are attributes.
  int FAttr(XrdSfsFACtl* request, XrdOucErrInfo& info, const XrdSecEntity* client) override;

  // An HTTP client's target comes as it was sent: percent-encoded.
  int rename(const char* from, const char* to, XrdOucErrInfo& info, const XrdSecEntity* client,
             const char* opaque_from, const char* opaque_to) override;

  // XRootD says yes to requests for a tape that is not there, and a client waits for it.
  int prepare(XrdSfsPrep& request, XrdOucErrInfo& info, const XrdSecEntity* client) override;

  XrdSfsDirectory* newDir(char* user, int monitor) override { return next_.newDir(user, monitor); }
  XrdSfsDirectory* newDir(XrdOucErrInfo& info) override { return next_.newDir(info); }
  // Owned by XRootD.
  XrdSfsFile* newFile(char* user, int monitor) override {
    return Explained(std::unique_ptr<XrdSfsFile>(next_.newFile(user, monitor))).release();
  }
  XrdSfsFile* newFile(XrdOucErrInfo& info) override {
    return Explained(std::unique_ptr<XrdSfsFile>(next_.newFile(info))).release();
  }
  int chksum(csFunc what, const char* name, const char* path, XrdOucErrInfo& info, const XrdSecEntity* client,
             const char* opaque) override {
    return next_.chksum(what, name, path, info, client, opaque);
  }
  int chmod(const char* path, XrdSfsMode mode, XrdOucErrInfo& info, const XrdSecEntity* client,
            const char* opaque) override {
    return next_.chmod(path, mode, info, client, opaque);
  }
  void Connect(const XrdSecEntity* client) override { next_.Connect(client); }
  void Disc(const XrdSecEntity* client) override { next_.Disc(client); }
  void EnvInfo(XrdOucEnv* env) override { next_.EnvInfo(env); }
  int exists(const char* path, XrdSfsFileExistence& kind, XrdOucErrInfo& info, const XrdSecEntity* client,
             const char* opaque) override {
    return next_.exists(path, kind, info, client, opaque);
  }
  int FSctl(const int command, XrdSfsFSctl& arguments, XrdOucErrInfo& info,
            const XrdSecEntity* client) override {
    return next_.FSctl(command, arguments, info, client);
  }
  int fsctl(const int command, const char* arguments, XrdOucErrInfo& info,
            const XrdSecEntity* client) override {
    return next_.fsctl(command, arguments, info, client);
  }
  int getChkPSize() override { return next_.getChkPSize(); }
  int getStats(char* buffer, int size) override { return next_.getStats(buffer, size); }
  const char* getVersion() override { return next_.getVersion(); }
  int gpFile(gpfFunc& action, XrdSfsGPFile& request, XrdOucErrInfo& info,
             const XrdSecEntity* client) override {
    return next_.gpFile(action, request, info, client);
  }
  int mkdir(const char* path, XrdSfsMode mode, XrdOucErrInfo& info, const XrdSecEntity* client,
            const char* opaque) override {
    return next_.mkdir(path, mode, info, client, opaque);
  }
  int rem(const char* path, XrdOucErrInfo& info, const XrdSecEntity* client, const char* opaque) override;
  int remdir(const char* path, XrdOucErrInfo& info, const XrdSecEntity* client, const char* opaque) override {
    return next_.remdir(path, info, client, opaque);
  }
  int stat(const char* path, struct stat* out, XrdOucErrInfo& info, const XrdSecEntity* client,
           const char* opaque) override {
    return next_.stat(path, out, info, client, opaque);
  }
  int stat(const char* path, mode_t& mode, XrdOucErrInfo& info, const XrdSecEntity* client,
           const char* opaque) override {
    return next_.stat(path, mode, info, client, opaque);
  }
  int truncate(const char* path, XrdSfsFileOffset size, XrdOucErrInfo& info, const XrdSecEntity* client,
               const char* opaque) override {
    return next_.truncate(path, size, info, client, opaque);
  }

 private:
  XrdSfsFileSystem& next_;
};

// The name that the path of an HTTP "Destination" means. Error: kInvalidArgument where it is no encoding, or
// one that would make another path of it than the one that was judged as it came: '/', '?', a zero.
Result<std::string> DecodeDestination(std::string_view path);

// A list of checksums as XRootD announces it ("0:adler32,1:sha256"), without those of the SHA family.
std::string WithoutSha(const std::string& announced);

}  // namespace xec

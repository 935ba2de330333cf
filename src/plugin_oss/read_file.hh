// SPDX-License-Identifier: LGPL-3.0-or-later
// File: what XRootD opens. After Open it is either a Reading or an Upload and passes every call on.
#pragma once

#include <XrdOss/XrdOss.hh>

#include "plugin_oss/gateway.hh"

namespace xec {

// An open handle. XRootD shares one among all clients that read the same name, so it is thread-safe.
class OpenHandle {
 public:
  virtual ~OpenHandle() = default;
  virtual ssize_t Read(void* buffer, off_t offset, size_t size) = 0;
  virtual ssize_t Write(const void* buffer, off_t offset, size_t size) = 0;
  virtual int Fstat(struct stat* out) = 0;
  virtual int Fchmod(mode_t mode) = 0;
  virtual int Ftruncate(unsigned long long size) = 0;
  virtual int Close() = 0;
};

std::unique_ptr<OpenHandle> MakeReading(std::string path, std::shared_ptr<ObjectReader> reader);

class File final : public XrdOssDF {
 public:
  File(Gateway& gateway, const char* client) : XrdOssDF(client, DF_isFile), gateway_(gateway) {}

  int Open(const char* path, int flags, mode_t mode, XrdOucEnv& env) override;
  ssize_t Read(off_t, size_t) override { return 0; }  // a hint to read ahead; the engine has its own
  ssize_t Read(void* buffer, off_t offset, size_t size) override;
  ssize_t ReadRaw(void* buffer, off_t offset, size_t size) override { return Read(buffer, offset, size); }
  int Read(XrdSfsAio* aio) override;
  ssize_t Write(const void* buffer, off_t offset, size_t size) override;
  int Write(XrdSfsAio* aio) override;
  int Fsync() override { return handle_ ? 0 : -EBADF; }  // durable at Close, by the sync policy
  int Fsync(XrdSfsAio* aio) override;
  int Fstat(struct stat* out) override;
  int Fchmod(mode_t mode) override;
  int Ftruncate(unsigned long long size) override;
  int Close(long long* size) override;
  int getFD() override { return -1; }

 private:
  Gateway& gateway_;
  std::unique_ptr<OpenHandle> handle_;
};

}  // namespace xec

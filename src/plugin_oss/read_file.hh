// SPDX-License-Identifier: LGPL-3.0-or-later
// File: what XRootD opens. After Open it is a Reading, an Upload or an EditFile and passes every call on.
#pragma once

#include <XrdOss/XrdOss.hh>

#include "plugin_oss/gateway.hh"
#include "plugin_oss/open_handle.hh"

namespace xec {

class File final : public XrdOssDF {
 public:
  File(Gateway& gateway, const char* client)
      : XrdOssDF(client, DF_isFile), gateway_(gateway), client_(client == nullptr ? "" : client) {}

  int Open(const char* path, int flags, mode_t mode, XrdOucEnv& env) override;
  ssize_t Read(off_t, size_t) override { return 0; }  // a hint to read ahead; the engine has its own
  ssize_t Read(void* buffer, off_t offset, size_t size) override;
  ssize_t ReadRaw(void* buffer, off_t offset, size_t size) override { return Read(buffer, offset, size); }
  int Read(XrdSfsAio* aio) override;
  ssize_t ReadV(XrdOucIOVec* pieces, int count) override;
  // Reads with one crc32c for each page of 4 KiB of the object, as xrdcp asks for. XRootD's own loop would
  // take longer to compute them than all the rest of a read.
  ssize_t pgRead(void* buffer, off_t offset, size_t size, uint32_t* checksums, uint64_t options) override;
  using XrdOssDF::pgRead;
  ssize_t Write(const void* buffer, off_t offset, size_t size) override;
  int Write(XrdSfsAio* aio) override;
  // An upload is durable, and visible, at Close only, by the sync policy; until then there is nothing to
  // keep.
  int Fsync() override;
  int Fsync(XrdSfsAio* aio) override;
  int Fstat(struct stat* out) override;
  int Fchmod(mode_t mode) override;
  int Ftruncate(unsigned long long size) override;
  int Close(long long* size) override;
  int getFD() override { return -1; }
#if XrdVNUMBER >= 60000
  // What a cache asks of what it opens (cache_questions.hh).
  int Fctl(int command, int size, const char* question, char** answer) override;
  bool getErrMsg(std::string& text) override { return TakeErrorText(text); }
#endif

 private:
  void Opened(std::shared_ptr<OpenHandle> handle);

  Gateway& gateway_;
  const std::string client_;
  std::shared_ptr<OpenHandle> handle_;
};

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// Checksums: XRootD's checksum manager, answering with what was stored when the object was written, or kept
// since. What neither has is computed (ChecksumJobs), and the client told to ask again until it is there.
#pragma once

#include <XrdCks/XrdCks.hh>

#include "plugin_oss/gateway.hh"

namespace xec {

class Checksums final : public XrdCks {
 public:
  Checksums(Gateway& gateway, XrdSysError* error) : XrdCks(error), gateway_(gateway) {}

  int Calc(const char* path, XrdCksData& checksum, int set) override;
  int Del(const char*, XrdCksData&) override { return -ENOTSUP; }
  int Get(const char* path, XrdCksData& checksum) override;
  int Config(const char*, char*) override { return 1; }
  int Init(const char*, const char* default_algorithm) override;
  char* List(const char* path, char* buffer, int length, char separator) override;
  const char* Name(int sequence) override;
  int Size(const char* name) override;
  int Set(const char*, XrdCksData&, int) override { return -ENOTSUP; }
  int Ver(const char* path, XrdCksData& checksum) override;

 private:
  Task<Result<ObjectDescription>> DescribeObject(std::string path);
  Result<std::optional<std::string>> Find(const char* path, const std::string& algorithm);

  Gateway& gateway_;
};

}  // namespace xec

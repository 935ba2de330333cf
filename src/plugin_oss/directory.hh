// SPDX-License-Identifier: LGPL-3.0-or-later
// Directory: an open listing.
#pragma once

#include <XrdOss/XrdOss.hh>

#include "plugin_oss/gateway.hh"

namespace xec {

class Directory final : public XrdOssDF {
 public:
  explicit Directory(Gateway& gateway) : XrdOssDF("", DF_isDir), gateway_(gateway) {}

  int Opendir(const char* path, XrdOucEnv& env) override;
  // One name a call; an empty one at the end.
  int Readdir(char* buffer, int length) override;
  // From now on Readdir fills `out` too, so that XRootD need not ask for each name.
  int StatRet(struct stat* out) override;
  int Close(long long* size) override;

 private:
  Gateway& gateway_;
  bool open_ = false;
  std::vector<ListedName> names_;
  size_t next_ = 0;
  struct stat* stat_ = nullptr;  // owned by XRootD
};

}  // namespace xec

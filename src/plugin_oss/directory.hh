// SPDX-License-Identifier: LGPL-3.0-or-later
// Directory: an open listing.
#pragma once

#include <XrdOss/XrdOss.hh>

#include "plugin_oss/file_status.hh"

namespace xec {

class Directory final : public XrdOssDF {
 public:
  Directory(Gateway& gateway, const char* client)
      : XrdOssDF(client, DF_isDir), gateway_(gateway), client_(client == nullptr ? "" : client) {}

  int Opendir(const char* path, XrdOucEnv& env) override;
  // One name a call; an empty one at the end.
  int Readdir(char* buffer, int length) override;
  // From now on Readdir fills `out` too, so that XRootD need not ask for each name.
  int StatRet(struct stat* out) override;
  int Close(long long* size) override;
#if XrdVNUMBER >= 60000
  bool getErrMsg(std::string& text) override { return TakeErrorText(text); }
#endif

 private:
  Gateway& gateway_;
  const std::string client_;
  bool open_ = false;
  std::string path_;  // as it was opened
  TellAs tell_as_ = TellAs::kStock;
  std::vector<ListedName> names_;
  size_t next_ = 0;
  struct stat* stat_ = nullptr;  // owned by XRootD
};

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// UserAttributesPlugin: XRootD's extended attributes of objects. XRootD calls the attributes of
// users "U.<name>"; the store has them as "<name>". There are no others: XRootD's own attributes are refused.
// A client that uploads the name has those of its upload. One that is never listed stands for the settings
// (kSettingsAttribute): by it clients set times, which the root protocol has no request for, and tell a
// gateway from a plain server.
#pragma once

#include <XrdSys/XrdSysXAttr.hh>

#include "plugin_oss/gateway.hh"

namespace xec {

class UserAttributesPlugin final : public XrdSysXAttr {
 public:
  explicit UserAttributesPlugin(Gateway& gateway) : gateway_(gateway) {}

  int Del(const char* name, const char* path, int fd) override;
  void Free(AList* list) override;
  int Get(const char* name, void* value, int size, const char* path, int fd) override;
  int List(AList** list, const char* path, int fd, int with_sizes) override;
  int Set(const char* name, const void* value, int size, const char* path, int fd, int is_new) override;

 private:
  // Of the client for whom it is asked; null: it does not upload that name.
  Result<UploadsOfClients::Upload> OwnUpload(const char* path);
  Result<UserAttributes> Read(const char* path);
  Status Change(const char* path, const std::string& name, std::optional<std::string> value, bool only_new);
  // Always one that is not empty: with a time, and of an object under way with what was set so far.
  Result<std::string> ReadSettings(const char* path);
  Status SetSettings(const char* path, const std::string& text);
  // nullopt: none.
  Result<std::optional<std::string>> Value(const char* path, const std::string& name);

  Gateway& gateway_;
};

}  // namespace xec

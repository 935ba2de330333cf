// SPDX-License-Identifier: LGPL-3.0-or-later
// Conditions of HTTP (RFC 9110, 13.1) by entity tags. The tag of a version is the number that XRootD makes of
// device and inode (file_status.hh): XrdHttp 6 tells it as ETag, `xrdfs stat` as Id. The headers come as
// opaque information, so clients of root:// may say the same.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugin_oss/gateway.hh"

namespace xec {

class Conditions {
 public:
  // Of a change: If-Match and If-None-Match. Error: kUnsupported, an If-None-Match that names tags, since the
  // engine knows no such condition.
  static Result<Conditions> OfChange(std::string_view opaque);
  // Of a download: If-Match, and If-Range, since XrdHttp sends a part of whatever is there. What does not
  // hold is an error then, where HTTP would have the whole object sent, which is nothing that can be asked
  // for here. If-None-Match only saves bytes, and is passed over, as is an If-Range with a date.
  static Conditions OfReading(std::string_view opaque);

  // Does a version fulfil them? Error: kNotCurrent, kAlreadyExists.
  Status Hold(Gateway& gateway, std::string_view path, const Version& version) const;

  // What the engine decides at the commit: what fulfils the conditions at this moment must still be there.
  // Errors: as Hold, as Store::Stat.
  Result<OnlyIf> OfUpload(Gateway& gateway, const std::string& path, const CallOptions& call) const;
  Result<OnlyIf> OfRemoval(Gateway& gateway, const std::string& path, const CallOptions& call) const;

 private:
  void Want(std::vector<std::string> tags);

  bool absent_ = false;  // nothing may be there
  bool present_ = false;  // one with one of the tags has to be there
  std::vector<std::string> tags_;  // without quotes; "*" for any
};

}  // namespace xec

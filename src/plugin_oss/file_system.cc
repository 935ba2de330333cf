// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/file_system.hh"

#include <cerrno>
#include <cstdlib>
#include <optional>

#include <XrdOuc/XrdOucErrInfo.hh>
#include <XrdVersion.hh>

#include "base/text.hh"
#include "plugin_oss/caller.hh"
#include "plugin_oss/last_stats.hh"
#include "plugin_oss/upload_attributes.hh"

namespace xec {
namespace {

// XRootD tells its HTTP front end by this variable which checksums there are, before it asks for attributes.
constexpr const char* kAnnounced = "XRD_CSLIST";

// Up to 6.1 at least; what later ones do has to be looked at before they are allowed.
constexpr bool kDestinationComesEncoded = XrdVNUMBER < 60200;

// What comes from HTTP has no version of the root protocol.
bool IsFromHttp(XrdOucErrInfo& info) { return (info.getUCap() & XrdOucEI::uVMask) == 0; }

// A HEAD that wants "sha,adler32" gets, from XRootD 5, the first announced name that has "sha" in it, and
// then an error, since it knows no name with "sha" in it afterwards. What is not announced it passes over,
// and it is there all the same for a client that asks for it by its name.
void AnnounceWithoutSha() {
  if (XrdVNUMBER >= 60000) return;
  const char* announced = std::getenv(kAnnounced);
  if (announced != nullptr) setenv(kAnnounced, WithoutSha(announced).c_str(), 1);
}

}  // namespace

std::string WithoutSha(const std::string& announced) {
  std::string rest;
  for (const std::string_view checksum : Split(announced, ',')) {
    if (checksum.find("sha") != std::string_view::npos) continue;
    if (!rest.empty()) rest += ',';
    rest += checksum;
  }
  return rest;
}

Result<std::string> DecodeDestination(std::string_view path) {
  std::string name;
  for (const std::string_view part : Split(path, '/')) {
    const std::optional<std::string> decoded = PercentDecode(part);
    const bool other = !decoded || decoded->find_first_of(std::string_view("/?\0", 3)) != std::string::npos;
    if (other)
      return Fail(Code::kInvalidArgument, "{} is not the percent-encoding of a name that HTTP can say", path);
    if (part.data() != path.data()) name += '/';
    name += *decoded;
  }
  return name;
}

int ClientFileSystem::rename(const char* from, const char* to, XrdOucErrInfo& info,
                             const XrdSecEntity* client, const char* opaque_from, const char* opaque_to) {
  if (!kDestinationComesEncoded || to == nullptr || !IsFromHttp(info))
    return next_.rename(from, to, info, client, opaque_from, opaque_to);
  const Result<std::string> name = DecodeDestination(to);
  if (name) return next_.rename(from, name->c_str(), info, client, opaque_from, opaque_to);
  info.setErrInfo(EINVAL, name.error().message.c_str());
  return SFS_ERROR;
}

int ClientFileSystem::rem(const char* path, XrdOucErrInfo& info, const XrdSecEntity* client,
                          const char* opaque) {
  const HttpRemovalOfThread of_thread(IsFromHttp(info));
  return next_.rem(path, info, client, opaque);
}

int ClientFileSystem::prepare(XrdSfsPrep& request, XrdOucErrInfo& info, const XrdSecEntity* client) {
  if ((request.opts & (Prep_STAGE | Prep_QUERY)) == 0) return next_.prepare(request, info, client);
  info.setErrInfo(ENOTSUP, "there is no tape behind this store; what it holds can be read at once");
  return SFS_ERROR;
}

int ClientFileSystem::FAttr(XrdSfsFACtl* request, XrdOucErrInfo& info, const XrdSecEntity* client) {
  if (request == nullptr) AnnounceWithoutSha();
  const ClientOfThread of_thread(
      info.getErrUser(), client == nullptr ? nullptr : std::make_shared<const Caller>(CallerOf(*client)));
  return next_.FAttr(request, info, client);
}

}  // namespace xec

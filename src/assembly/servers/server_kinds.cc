// SPDX-License-Identifier: LGPL-3.0-or-later
#include "assembly/servers/server_kinds.hh"

#include <algorithm>
#include <array>

#include "base/text.hh"
#include "placement/store_descriptor.hh"
#include "server/kinds/local_server.hh"
#include "server_xrootd/xrootd_server.hh"

namespace xec {
namespace {

constexpr std::string_view kSchemeEnd = "://";

// Directories.

Result<std::string> NormalizeDirectory(std::string_view text) {
  std::string path(text);
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  if (path.empty()) return Fail(Code::kInvalidArgument, "'{}' names no directory", text);
  if (Trim(path) != path) {
    return Fail(Code::kInvalidArgument, "'{}': a directory's name may not begin or end with a blank", text);
  }
  return path;
}

Result<DataServerPtr> ConnectDirectory(const std::string& address, ServerSetUp set_up) {
  LocalServerOptions options;
  if (!set_up.identity.empty())
    options.identity = LocalIdentity{std::string(kIdentityPath), std::move(set_up.identity)};
  options.sync_directories = set_up.sync_names;
  auto server = std::make_shared<LocalServer>(address, std::move(options));
  return DataServerPtr(std::make_shared<GatedServer>(std::move(server), std::move(set_up.gate)));
}

// Vanilla XRootD servers.

constexpr std::string_view kXrootdScheme = "root://";

// With the port (that of xrootd, 1094, when absent) and without a trailing slash.
Result<std::string> NormalizeXrootd(std::string_view text) {
  std::string_view host = text.substr(kXrootdScheme.size());
  while (host.ends_with('/')) host.remove_suffix(1);
  if (host.empty() || host.find_first_of("/@?# ,") != std::string_view::npos)
    return Fail(Code::kInvalidArgument, "'{}' is no server (root://HOST:PORT)", text);
  const size_t colon = host.rfind(':');
  const size_t bracket = host.rfind(']');
  const bool has_port =
      colon != std::string_view::npos && (bracket == std::string_view::npos || bracket < colon);
  if (!has_port) return fmt::format("{}{}:1094", kXrootdScheme, host);
  const auto port = ParseUint(host.substr(colon + 1));
  if (colon == 0 || !port || *port == 0 || *port > 65535) {
    return Fail(Code::kInvalidArgument, "'{}': the port must be a number from 1 to 65535", text);
  }
  return fmt::format("{}{}", kXrootdScheme, host);
}

// Its requests let go of the executor by AbandonXrootdRequests, and need no gate.
Result<DataServerPtr> ConnectXrootd(const std::string& address, ServerSetUp set_up) {
  return MakeXrootdServer({.url = address, .executor = &set_up.executor, .sync_names = set_up.sync_names});
}

Task<Result<std::vector<std::string>>> DiscoverXrootd(std::string origin, Executor& executor,
                                                      TimePoint deadline) {
  Result<std::vector<std::string>> found = co_await DiscoverServers(std::move(origin), executor, deadline);
  if (!found) co_return found.error();
  for (std::string& address : *found) address.insert(0, kXrootdScheme);
  co_return std::move(found);
}

// What has no row. Its address may come from a descriptor that a later version wrote.

Error NoServer(std::string_view text);

Result<std::string> RefuseAddress(std::string_view text) { return NoServer(text); }
Result<DataServerPtr> RefuseToConnect(const std::string& address, ServerSetUp) { return NoServer(address); }

constexpr ServerKind kDirectories = {
    .scheme = "",
    .form = "DIR",
    .noun = "directory",
    .local = true,
    .has_several_names = false,
    .knows_its_disk = true,
    .normalize = NormalizeDirectory,
    .connect = ConnectDirectory,
    .discover = nullptr,
};

constexpr std::array kWithScheme = {
    ServerKind{
        .scheme = kXrootdScheme,
        .form = "root://HOST:PORT",
        .noun = "data server",
        .local = false,
        .has_several_names = true,
        .knows_its_disk = false,
        .normalize = NormalizeXrootd,
        .connect = ConnectXrootd,
        .discover = DiscoverXrootd,
    },
};

constexpr ServerKind kUnknown = {
    .scheme = "",
    .form = "",
    .noun = "data server",
    .local = false,
    .has_several_names = true,
    .knows_its_disk = false,
    .normalize = RefuseAddress,
    .connect = RefuseToConnect,
    .discover = nullptr,
};

Error NoServer(std::string_view text) {
  std::string forms;
  for (const ServerKind& kind : kWithScheme) {
    forms += forms.empty() ? "" : ", ";
    forms += kind.form;
  }
  return Fail(Code::kInvalidArgument, "'{}' is no server ({})", text, forms);
}

}  // namespace

const ServerKind& KindOf(std::string_view address) {
  if (address.find(kSchemeEnd) == std::string_view::npos) return kDirectories;
  const auto* kind = std::find_if(kWithScheme.begin(), kWithScheme.end(),
                                  [&](const ServerKind& k) { return address.starts_with(k.scheme); });
  return kind == kWithScheme.end() ? kUnknown : *kind;
}

Result<std::string> NormalizeServerAddress(std::string_view text) {
  const ServerKind& kind = KindOf(text);
  if (kind.local) return NoServer(text);
  return kind.normalize(text);
}

Result<std::string> NormalizeOrigin(std::string_view text) {
  const ServerKind& kind = KindOf(text);
  if (kind.discover == nullptr) return NoServer(text);
  return kind.normalize(text);
}

std::string_view WithoutScheme(std::string_view address) {
  return address.substr(KindOf(address).scheme.size());
}

}  // namespace xec

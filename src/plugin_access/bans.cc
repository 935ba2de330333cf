// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_access/bans.hh"

#include <algorithm>
#include <arpa/inet.h>
#include <cctype>

#include <XrdNet/XrdNetAddrInfo.hh>

#include "base/text.hh"
#include "plugin_access/client_door.hh"

namespace xec {
namespace {

constexpr std::string_view kKinds[] = {"dn", "name", "vo", "host", "subject"};

// XRootD puts addresses into brackets, and those of IPv4 into the form of IPv6.
std::string HostText(std::string_view host) {
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  std::string text(host);
  in6_addr address = {};
  if (inet_pton(AF_INET6, text.c_str(), &address) == 1) {
    char form[INET6_ADDRSTRLEN];
    const bool of_four = IN6_IS_ADDR_V4MAPPED(&address);
    inet_ntop(of_four ? AF_INET : AF_INET6, &address.s6_addr[of_four ? 12 : 0], form, sizeof form);
    return form;
  }
  for (char& letter : text) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return text;
}

std::string AddressOf(const XrdSecEntity& client) {
  char text[INET6_ADDRSTRLEN + 2] = "";
  if (client.addrInfo == nullptr ||
      client.addrInfo->Format(text, sizeof text, XrdNetAddrInfo::fmtAddr, XrdNetAddrInfo::noPort) == 0)
    return "";
  return HostText(text);
}

}  // namespace

Result<Bans> ParseBans(std::string_view text) {
  Bans bans;
  size_t number = 0;
  for (const std::string_view raw : Split(text, '\n')) {
    ++number;
    const std::string_view line = Trim(raw);
    if (line.empty() || line.front() == '#') continue;
    const size_t blank = line.find_first_of(" \t");
    const std::string_view kind = line.substr(0, blank);
    if (blank == line.npos || std::ranges::find(kKinds, kind) == std::end(kKinds)) {
      return Fail(Code::kInvalidArgument, "line {}: say dn, name, vo, host or subject, and which", number);
    }
    const std::string_view value = Trim(line.substr(blank));
    bans.emplace(kind, kind == "host" ? HostText(value) : std::string(value));
  }
  return bans;
}

std::string BanOf(const Bans& bans, const XrdSecEntity& client, const ShownNames& shown) {
  const auto banned = [&bans](const char* kind, std::string_view value) {
    return value.empty() || !bans.contains({kind, std::string(value)}) ? std::string()
                                                                       : fmt::format("{} {}", kind, value);
  };
  const auto text = [](const char* word) { return std::string_view(word == nullptr ? "" : word); };
  const std::string host = HostText(text(client.host)), address = AddressOf(client);
  const std::string_view name = text(client.name);
  for (const auto& [kind, value] : {std::pair("name", name),
                                    {"name", shown.name},
                                    {"subject", LoggedInByToken(client) ? name : ""},
                                    {"subject", shown.subject},
                                    {"host", host},
                                    {"host", address}}) {
    if (std::string ban = banned(kind, value); !ban.empty()) return ban;
  }
  // One word for each attribute of a proxy.
  for (const std::string_view vo : Split(text(client.vorg), ' ')) {
    if (std::string ban = banned("vo", vo); !ban.empty()) return ban;
  }
  // Each proxy adds a component to the name of what it was made from.
  for (std::string_view dn = text(client.moninfo); !dn.empty();) {
    if (std::string ban = banned("dn", dn); !ban.empty()) return ban;
    const size_t last = dn.rfind("/CN=");
    dn = dn.substr(0, last == dn.npos ? 0 : last);
  }
  return "";
}

}  // namespace xec

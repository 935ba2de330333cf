// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_access/bans.hh"

#include <algorithm>

#include "base/text.hh"

namespace xec {
namespace {

constexpr std::string_view kKinds[] = {"dn", "name", "vo", "host", "subject"};

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
    bans.emplace(kind, Trim(line.substr(blank)));
  }
  return bans;
}

std::string BanOf(const Bans& bans, const XrdSecEntity& client, std::string_view subject) {
  const auto banned = [&bans](const char* kind, std::string_view value) {
    return value.empty() || !bans.contains({kind, std::string(value)}) ? std::string()
                                                                       : fmt::format("{} {}", kind, value);
  };
  const auto text = [](const char* word) { return std::string_view(word == nullptr ? "" : word); };
  for (const auto& [kind, value] :
       {std::pair("name", text(client.name)), {"host", text(client.host)}, {"subject", subject}}) {
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

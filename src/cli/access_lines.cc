// SPDX-License-Identifier: LGPL-3.0-or-later
#include "cli/access_lines.hh"

#include <sstream>

namespace xec {
namespace {

// Where XRootD's plug-in for tokens looks unless told otherwise.
constexpr std::string_view kTokensFile = "/etc/xrootd/scitokens.cfg";

}  // namespace

Result<std::string> AccessLine(const std::string& users_lines, const std::string& plug_in,
                               const std::string& banned) {
  bool authorizes = false;
  std::string tokens;
  std::istringstream lines(users_lines);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    authorizes = authorizes || word == "ofs.authorize";
    if (word != "ofs.authlib") continue;
    constexpr std::string_view kFile = "config=";
    for (bool of_tokens = false; words >> word;) {
      if (word.find("libXrdAccSciTokens") != word.npos) {
        of_tokens = true;
        tokens = kTokensFile;
      } else if (of_tokens && word.starts_with(kFile)) {
        tokens = word.substr(kFile.size());
      }
    }
  }
  if (!authorizes && banned.empty()) return std::string();
  if (!authorizes) {
    return Fail(
        Code::kInvalidArgument,
        "xec.banned needs a file with XRootD's lines for authorization, `ofs.authorize` and more (see "
        "docs/credentials.md)");
  }
  return fmt::format("ofs.authlib ++ {}{}{}\n", plug_in, tokens.empty() ? "" : " tokens=" + tokens,
                     banned.empty() ? "" : " banned=" + banned);
}

}  // namespace xec

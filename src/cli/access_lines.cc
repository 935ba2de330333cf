// SPDX-License-Identifier: LGPL-3.0-or-later
#include "cli/access_lines.hh"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <sstream>

#include "base/text.hh"

namespace xec {
namespace {

// Where XRootD's plug-in for tokens looks unless told otherwise.
constexpr std::string_view kTokensFile = "/etc/xrootd/scitokens.cfg";

// Where gsi looks for lists of revoked certificates unless told otherwise.
constexpr std::string_view kCertificates = "/etc/grid-security/certificates";
// So long gsi keeps a verdict, in seconds; its own default is half a day.
constexpr int kVerdictSeconds = 600;

std::vector<std::string> WordsOf(const std::string& line) {
  std::istringstream stream(line);
  return {std::istream_iterator<std::string>(stream), {}};
}

bool IsGsi(const std::vector<std::string>& words) {
  const auto end = words.begin() + static_cast<std::ptrdiff_t>(std::min<size_t>(words.size(), 3));
  return !words.empty() && words[0] == "sec.protocol" && std::find(words.begin(), end, "gsi") != end;
}

// XRootD puts these behind the words of the line sec.protocol.
std::vector<std::string> MoreWordsOfGsi(const std::vector<DirectiveLine>& lines) {
  std::vector<std::string> more;
  for (const auto& [number, line] : lines) {
    const std::vector<std::string> words = WordsOf(line);
    if (words.size() > 1 && words[0] == "sec.protparm" && words[1] == "gsi")
      more.insert(more.end(), words.begin() + 2, words.end());
  }
  return more;
}

// `words`: all that gsi is told, in this line or elsewhere.
std::string GsiWithRevocations(const std::string& line, const std::vector<std::string>& words,
                               const std::string& plug_in) {
  std::string folder(kCertificates);
  for (const char* option : {"-authzfun:", "-certdir:", "-crldir:"}) {
    for (const std::string& word : words) {
      if (!word.starts_with(option)) continue;
      if (word.starts_with("-authzfun:")) return line;
      folder = word.substr(std::strlen(option));
    }
  }
  return fmt::format("{} -authzfun:{} -authzfunparms:{} -authzto:{}", line, plug_in, folder, kVerdictSeconds);
}

}  // namespace

std::vector<DirectiveLine> DirectiveLines(std::string_view file) {
  std::vector<DirectiveLine> lines;
  bool goes_on = false;
  size_t number = 0;
  if (file.ends_with('\n')) file.remove_suffix(1);
  for (const std::string_view raw : Split(file, '\n')) {
    ++number;
    const std::string_view words = Trim(raw);
    const bool says_nothing = words.empty() || words.front() == '#';
    if (says_nothing && goes_on) continue;
    std::string text(raw);
    const bool joins = goes_on;
    goes_on = !says_nothing && words.ends_with('\\');
    if (goes_on) text[text.rfind('\\')] = ' ';
    if (joins) {
      lines.back().text += text;
    } else {
      lines.push_back({number, std::move(text)});
    }
  }
  return lines;
}

std::string WithRevocations(const std::string& users_lines, const std::string& plug_in) {
  std::string result;
  bool has_extractor = false, knows_authorities = false;
  std::vector<DirectiveLine> lines = DirectiveLines(users_lines);
  const std::vector<std::string> more_of_gsi = MoreWordsOfGsi(lines);
  for (auto& [number, line] : lines) {
    std::vector<std::string> words = WordsOf(line);
    const auto is = [&](const char* directive) { return !words.empty() && words[0] == directive; };
    if (IsGsi(words)) {
      words.insert(words.end(), more_of_gsi.begin(), more_of_gsi.end());
      line = GsiWithRevocations(line, words, plug_in);
    }
    knows_authorities = knows_authorities || (is("xrd.tlsca") && words.size() > 1 && words[1] == "certdir");
    if (is("http.secxtractor")) {
      has_extractor = true;
      const size_t library = words.size() > 2 && words[1] == "required" ? 2 : 1;
      line = words[0];
      for (size_t i = 1; i < words.size(); ++i) {
        if (i == library) line += " " + plug_in;
        line += " " + words[i];
      }
    }
    result += line + "\n";
  }
  if (knows_authorities && !has_extractor) result += "http.secxtractor " + plug_in + "\n";
  return result;
}

Result<std::string> AccessLine(const std::string& users_lines, const std::string& plug_in,
                               const std::string& banned) {
  bool authorizes = false;
  std::string tokens;
  for (const auto& [number, line] : DirectiveLines(users_lines)) {
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

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_access/issuers.hh"

#include "base/text.hh"
#include "plugin_access/scopes.hh"

namespace xec {
namespace {

struct Section {
  std::string url;
  IssuerPaths paths;
};

// Paths separated by commas or blanks.
Result<std::vector<std::string>> ParsePaths(std::string_view text) {
  std::vector<std::string> paths;
  for (const std::string_view comma_separated : Split(text, ',')) {
    for (const std::string_view path : Split(comma_separated, ' ')) {
      if (path.empty()) continue;
      std::optional<std::string> canonical = Canonical(path);
      if (!canonical)
        return Fail(Code::kInvalidArgument, "\"{}\" is no absolute path without . and ..", path);
      paths.push_back(std::move(*canonical));
    }
  }
  return paths;
}

Status ReadLine(std::string_view line, Section& section) {
  const size_t sign = line.find_first_of("=:");
  if (sign == line.npos) return OkStatus();
  const std::string_view key = Trim(line.substr(0, sign));
  std::string_view value = line.substr(sign + 1);
  // A comment begins with a blank and one of these, as in XRootD's parser.
  for (const std::string_view comment : {" ;", "\t;"}) value = value.substr(0, value.find(comment));
  value = Trim(value);
  if (key == "issuer") section.url = value;
  if (key == "base_path") {
    XEC_ASSIGN_OR_RETURN(section.paths.base, ParsePaths(value));
  }
  if (key == "restricted_path") {
    XEC_ASSIGN_OR_RETURN(section.paths.restricted, ParsePaths(value));
  }
  return OkStatus();
}

}  // namespace

Result<Issuers> ParseIssuers(std::string_view text) {
  std::vector<Section> sections;
  bool of_issuer = false;
  for (const std::string_view raw : Split(text, '\n')) {
    const std::string_view line = Trim(raw.substr(0, raw.find('\r')));
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    if (line.front() == '[') {
      of_issuer = line.starts_with("[Issuer");
      if (of_issuer) sections.emplace_back();
    } else if (of_issuer) {
      XEC_TRY(ReadLine(line, sections.back()));
    }
  }
  Issuers issuers;
  for (Section& section : sections) issuers[std::move(section.url)] = std::move(section.paths);
  return issuers;
}

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "archive/xrdec_attributes.hh"

#include <algorithm>

#include "base/text.hh"

namespace xec {
namespace {

Result<uint64_t> ParseNumber(const char* name, const std::string& text) {
  const std::optional<uint64_t> value = ParseUint(text);
  if (!value) return Fail(Code::kCorruption, "attribute {} is no number: \"{:.40}\"", name, text);
  return *value;
}

// The site script writes what xrdadler32 prints; some tools print capitals or drop leading zeros.
std::optional<uint32_t> ParseAdler32(std::string text) {
  if (text.size() > 8) return std::nullopt;
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c; });
  const std::optional<uint64_t> value = ParseHex(text);
  if (!value) return std::nullopt;
  return static_cast<uint32_t>(*value);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> XrdecAttributes::Format() const {
  std::vector<std::pair<std::string, std::string>> pairs = {{kXrdecFileSize, std::to_string(file_size)},
                                                            {kXrdecVersion, std::to_string(version)}};
  if (adler32) pairs.emplace_back(kXrdecAdler32, Hex(*adler32, 8));
  return pairs;
}

Result<XrdecAttributes> XrdecAttributes::Parse(const std::map<std::string, std::string>& attributes) {
  const auto size = attributes.find(kXrdecFileSize);
  const auto version = attributes.find(kXrdecVersion);
  if (size == attributes.end() && version == attributes.end()) {
    return Fail(Code::kNotFound, "no attributes {} and {}", kXrdecFileSize, kXrdecVersion);
  }
  if (size == attributes.end() || version == attributes.end()) {
    return Fail(Code::kCorruption, "attribute {} is missing",
                size == attributes.end() ? kXrdecFileSize : kXrdecVersion);
  }
  XrdecAttributes parsed;
  XEC_ASSIGN_OR_RETURN(parsed.file_size, ParseNumber(kXrdecFileSize, size->second));
  XEC_ASSIGN_OR_RETURN(parsed.version, ParseNumber(kXrdecVersion, version->second));
  if (const auto adler32 = attributes.find(kXrdecAdler32); adler32 != attributes.end()) {
    parsed.adler32 = ParseAdler32(adler32->second);
    if (!parsed.adler32) {
      return Fail(Code::kCorruption, "attribute {} is no checksum: \"{:.40}\"", kXrdecAdler32,
                  adler32->second);
    }
  }
  return parsed;
}

}  // namespace xec

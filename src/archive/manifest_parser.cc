// SPDX-License-Identifier: LGPL-3.0-or-later
// The parser half of Manifest: one table from key to reader of a line.
#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <set>
#include <system_error>

#include "archive/manifest.hh"
#include "archive/manifest_fields.hh"
#include "base/bytes.hh"
#include "base/text.hh"
#include "codec/checksum.hh"

namespace xec {
namespace {

using manifest_internal::DecodeField;

using Words = std::vector<std::string_view>;  // what follows the key

// Readers of one line each. They answer whether the words have the right form; rules about values that also
// bind the writer are in Manifest::Problem().

template <typename T>
bool ReadNumber(const Words& words, T& value) {
  const std::optional<uint64_t> parsed = words.size() == 1 ? ParseUint(words[0]) : std::nullopt;
  if (!parsed || *parsed > std::numeric_limits<T>::max()) return false;
  value = static_cast<T>(*parsed);
  return true;
}

bool ReadKind(const Words& words, Manifest& manifest) {
  if (words.size() != 1 || (words[0] != "object" && words[0] != "witness")) return false;
  manifest.kind = words[0] == "object" ? ManifestKind::kObject : ManifestKind::kWitness;
  return true;
}

bool ReadObject(const Words& words, Manifest& manifest) {
  if (words.size() != 1) return false;
  manifest.object_id = words[0];
  return true;
}

bool ReadGeometry(const Words& words, Manifest& manifest) {
  if (words.size() != 1) return false;
  // Its chunk size comes with a line of its own.
  const Result<Geometry> geometry = Geometry::Parse(words[0]);
  if (!geometry) return false;
  manifest.geometry.data_chunks = geometry->data_chunks;
  manifest.geometry.parity_chunks = geometry->parity_chunks;
  return true;
}

bool ReadParts(const Words& words, Manifest& manifest) {
  std::array<uint64_t, 4> values;
  if (words.size() != values.size() || manifest.parts.size() >= kPartsMax) return false;
  for (size_t i = 0; i < values.size(); ++i) {
    const std::optional<uint64_t> value = ParseUint(words[i]);
    if (!value) return false;
    values[i] = *value;
  }
  manifest.parts.push_back({values[0], values[1], values[2], values[3]});
  return true;
}

bool ReadFrom(const Words& words, Manifest& manifest) {
  if (words.size() != 2) return false;
  std::optional<std::string> path = DecodeField(words[0]);
  if (!path) return false;
  manifest.from = ManifestFrom{std::move(*path), std::string(words[1])};
  return true;
}

bool ReadPath(const Words& words, Manifest& manifest) {
  std::optional<std::string> path = words.size() == 1 ? DecodeField(words[0]) : std::nullopt;
  if (!path) return false;
  manifest.path = std::move(*path);
  return true;
}

bool ReadMtime(const Words& words, Manifest& manifest) {
  if (words.size() != 1) return false;
  const char* end = words[0].data() + words[0].size();
  const auto [rest, error] = std::from_chars(words[0].data(), end, manifest.mtime_ns);
  return error == std::errc() && rest == end;
}

bool ReadMode(const Words& words, Manifest& manifest) {
  if (words.size() != 1 || words[0].size() != 4) return false;
  uint32_t mode = 0;
  for (const char c : words[0]) {
    if (c < '0' || c > '7') return false;
    mode = mode * 8 + static_cast<uint32_t>(c - '0');
  }
  manifest.mode = mode;
  return true;
}

bool ReadChecksum(const Words& words, Manifest& manifest) {
  if (words.size() != 2 || manifest.checksums.size() >= kChecksumsMax) return false;
  return manifest.checksums.emplace(words[0], words[1]).second;
}

bool ReadServers(const Words& words, Manifest& manifest) {
  if (words.empty() || words.size() > kChunksMax) return false;
  for (const std::string_view word : words) {
    std::optional<std::string> id = DecodeField(word);
    if (!id) return false;
    manifest.servers.push_back(std::move(*id));
  }
  return true;
}

bool ReadLane(const Words& words, Manifest& manifest) {
  uint32_t lane = 0;
  if (!ReadNumber(words, lane)) return false;
  manifest.lane = lane;
  return true;
}

bool ReadDebt(const Words& words, Manifest& manifest) {
  uint32_t debt = 0;
  if (!ReadNumber(words, debt) || manifest.debts.size() >= kChunksMax) return false;
  manifest.debts.push_back(debt);
  return true;
}

bool ReadAttribute(const Words& words, Manifest& manifest) {
  if (words.size() != 2 || manifest.attributes.size() >= kUserAttributesMax) return false;
  std::optional<std::string> name = DecodeField(words[0]);
  std::optional<std::string> value = DecodeField(words[1]);
  if (!name || !value) return false;
  return manifest.attributes.emplace(std::move(*name), std::move(*value)).second;
}

struct FieldRule {
  std::string_view key;
  bool required;
  bool repeats;
  bool (*read)(const Words&, Manifest&);
};

// docs/format.md, "Fields". A key with '!' is critical: a reader that does not know it must refuse.
constexpr std::array kFields = {
    FieldRule{"!kind", true, false, ReadKind},
    FieldRule{"!object", true, false, ReadObject},
    FieldRule{"!size", true, false, [](const Words& w, Manifest& m) { return ReadNumber(w, m.size_bytes); }},
    FieldRule{"!geometry", true, false, ReadGeometry},
    FieldRule{"!chunk-size", true, false,
              [](const Words& w, Manifest& m) { return ReadNumber(w, m.geometry.chunk_size_bytes); }},
    FieldRule{"!page-size", true, false,
              [](const Words& w, Manifest& m) { return ReadNumber(w, m.page_size_bytes); }},
    FieldRule{"!parts", false, true, ReadParts},
    FieldRule{"!from", false, false, ReadFrom},
    FieldRule{"path", true, false, ReadPath},
    FieldRule{"mtime", true, false, ReadMtime},
    FieldRule{"mode", false, false, ReadMode},
    FieldRule{"checksum", false, true, ReadChecksum},
    FieldRule{"servers", false, false, ReadServers},
    FieldRule{"lane", false, false, ReadLane},
    FieldRule{"debt", false, true, ReadDebt},
    FieldRule{"attribute", false, true, ReadAttribute},
};
constexpr std::string_view kFormatKey = "!xec";
constexpr std::string_view kChecksumKey = "crc32c";

const FieldRule* FindRule(std::string_view key) {
  const auto rule =
      std::find_if(kFields.begin(), kFields.end(), [&](const FieldRule& r) { return r.key == key; });
  return rule == kFields.end() ? nullptr : &*rule;
}

bool IsPrintable(std::string_view line) {
  return std::all_of(line.begin(), line.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

Error Corrupt(std::string_view what) { return Fail(Code::kCorruption, "the manifest is damaged: {}", what); }

// Takes off the checksum line and the line feed that ArchiveWriter may have added; yields the lines before
// it.
Result<std::string_view> CheckedBody(std::string_view text) {
  if (text.ends_with("\n\n")) text.remove_suffix(1);
  if (text.empty()) return Corrupt("it is empty");
  constexpr size_t kChecksumLineSize = kChecksumKey.size() + 1 + 8 + 1;
  if (text.size() > kManifestSizeMax || text.size() < kChecksumLineSize)
    return Corrupt("its length is impossible");
  const std::string_view body = text.substr(0, text.size() - kChecksumLineSize);
  if (text.substr(body.size()) != std::string(kChecksumKey) + ' ' + Hex(Crc32c(AsBytes(body)), 8) + '\n') {
    return Corrupt("its checksum does not match");
  }
  if (!body.ends_with('\n')) return Corrupt("its last line is cut");
  return body.substr(0, body.size() - 1);
}

Status CheckFormat(std::string_view line) {
  const Words words = Split(line, ' ');
  const std::optional<uint64_t> format = words.size() == 2 ? ParseUint(words[1]) : std::nullopt;
  if (words[0] != kFormatKey || !format || *format == 0)
    return Corrupt("it does not begin with its format number");
  if (*format > kManifestFormat) {
    return Fail(Code::kUnsupported,
                "the archive was written by a newer XEC: its format is {}, and {} is known here", *format,
                kManifestFormat);
  }
  return OkStatus();
}

Status ReadLine(std::string_view line, Manifest& manifest, std::set<std::string_view>& seen) {
  if (!IsPrintable(line)) return Corrupt("it has bytes that are no text");
  Words words = Split(line, ' ');
  const std::string_view key = words[0];
  if (const FieldRule* rule = FindRule(key)) {
    if (!seen.insert(rule->key).second && !rule->repeats) {
      return Fail(Code::kCorruption, "the manifest is damaged: it has the field {} twice", key);
    }
    words.erase(words.begin());
    if (!rule->read(words, manifest)) {
      return Fail(Code::kCorruption, "the manifest is damaged: its field {} is invalid", key);
    }
    return OkStatus();
  }
  if (key.starts_with('!')) {
    return Fail(Code::kUnsupported,
                "the archive was written by a newer XEC: its field {:.40} is unknown here", key);
  }
  if (!Manifest::IsUnknownField(line)) return Corrupt("a line is no field");
  manifest.unknown_fields.emplace_back(line);
  return OkStatus();
}

}  // namespace

bool Manifest::IsUnknownField(std::string_view line) {
  const std::string_view key = line.substr(0, line.find(' '));
  return !key.empty() && key[0] >= 'a' && key[0] <= 'z' && key != kChecksumKey && FindRule(key) == nullptr &&
         IsPrintable(line);
}

Result<Manifest> Manifest::Parse(std::string_view text) {
  XEC_ASSIGN_OR_RETURN(const std::string_view body, CheckedBody(text));
  const Words lines = Split(body, '\n');
  XEC_TRY(CheckFormat(lines[0]));
  Manifest manifest;
  std::set<std::string_view> seen;
  for (size_t i = 1; i < lines.size(); ++i) XEC_TRY(ReadLine(lines[i], manifest, seen));
  for (const FieldRule& rule : kFields) {
    if (rule.required && !seen.contains(rule.key)) {
      return Fail(Code::kCorruption, "the manifest is damaged: it lacks the field {}", rule.key);
    }
  }
  if (const char* problem = manifest.Problem()) return Corrupt(problem);
  return manifest;
}

}  // namespace xec

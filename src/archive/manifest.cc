// SPDX-License-Identifier: LGPL-3.0-or-later
#include "archive/manifest.hh"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "archive/manifest_fields.hh"
#include "base/bytes.hh"
#include "base/text.hh"
#include "codec/checksum.hh"

namespace xec {

using manifest_internal::EncodeField;
using manifest_internal::IsLowerHex;
using manifest_internal::IsToken;

namespace {

std::string AttributeLine(const std::string& name, const std::string& value) {
  return fmt::format("attribute {} {}\n", EncodeField(name), EncodeField(value));
}

bool IsPath(std::string_view path) {
  return !path.empty() && path.size() <= kObjectPathSizeMax && path.find('\0') == std::string_view::npos;
}

const char* BadLanes(const Manifest& manifest) {
  if (manifest.servers.size() > kChunksMax) return "it lists too many servers";
  const auto valid_id = [](const std::string& id) { return id.empty() || IsToken(id, kServerIdSizeMax); };
  if (!std::all_of(manifest.servers.begin(), manifest.servers.end(), valid_id))
    return "a server's id is invalid";
  const uint32_t total = manifest.geometry.Total();
  if (manifest.lane && *manifest.lane >= total) return "its lane is not one of the geometry";
  const std::vector<uint32_t>& debts = manifest.debts;
  if (!debts.empty() && debts.back() >= total) return "a debt is not a lane of the geometry";
  if (std::adjacent_find(debts.begin(), debts.end(), std::greater_equal<>()) != debts.end()) {
    return "its debts are not in ascending order";
  }
  return nullptr;
}

}  // namespace

Status CheckUserAttributes(const std::map<std::string, std::string>& attributes) {
  if (attributes.size() > kUserAttributesMax) {
    return Fail(Code::kInvalidArgument, "an object has at most {} user attributes", kUserAttributesMax);
  }
  size_t size = 0;
  for (const auto& [name, value] : attributes) {
    if (name.empty()) return Fail(Code::kInvalidArgument, "a user attribute needs a name");
    size += AttributeLine(name, value).size();
  }
  if (size > kUserAttributesSizeMax) {
    return Fail(Code::kInvalidArgument, "the user attributes need {} bytes, and {} is the limit", size,
                kUserAttributesSizeMax);
  }
  return OkStatus();
}

const char* Manifest::Problem() const {
  if (object_id.size() != kObjectIdSize || !IsLowerHex(object_id)) return "its object id is invalid";
  if (!geometry.Validate()) return "its geometry is invalid";
  if (page_size_bytes != 0 && page_size_bytes != geometry.PageSize())
    return "its page size does not fit the chunk size";
  if (const char* problem = CheckParts(geometry, size_bytes, parts)) return problem;
  if (!IsPath(path)) return "its path is invalid";
  if (mode && *mode > 07777) return "its mode is invalid";
  if (checksums.size() > kChecksumsMax) return "it has too many checksums";
  for (const auto& [name, value] : checksums) {
    if (!IsToken(name, 32) || value.size() > 128 || !IsLowerHex(value)) return "a checksum is invalid";
  }
  if (!CheckUserAttributes(attributes)) return "its user attributes are too large";
  if (from && (!IsPath(from->path) || !IsToken(from->version, 64))) {
    return "its pointer to the former name is invalid";
  }
  return BadLanes(*this);
}

size_t Manifest::PaddingSize() const {
  size_t size = 0;
  for (const std::string& line : unknown_fields) {
    if (line.starts_with(kPaddingPrefix)) size += line.size() - kPaddingPrefix.size();
  }
  return size;
}

Result<std::string> Manifest::Serialize() const {
  XEC_TRY(CheckUserAttributes(attributes));
  if (const char* problem = Problem()) {
    return Fail(Code::kInvalidArgument, "the manifest of {} cannot be written: {}", path, problem);
  }
  std::string text;
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "!xec {}\n", kManifestFormat);
  fmt::format_to(out, "!kind {}\n", kind == ManifestKind::kObject ? "object" : "witness");
  fmt::format_to(out, "!object {}\n", object_id);
  fmt::format_to(out, "!size {}\n", size_bytes);
  fmt::format_to(out, "!geometry {}\n", geometry.ToString());
  fmt::format_to(out, "!chunk-size {}\n", geometry.chunk_size_bytes);
  fmt::format_to(out, "!page-size {}\n", page_size_bytes);
  for (const PartRun& run : parts)
    fmt::format_to(out, "!parts {} {} {} {}\n", run.first_stripe, run.part_bytes, run.count, run.step);
  if (from) fmt::format_to(out, "!from {} {}\n", EncodeField(from->path), from->version);
  fmt::format_to(out, "path {}\n", EncodeField(path));
  fmt::format_to(out, "mtime {}\n", mtime_ns);
  if (mode) fmt::format_to(out, "mode {:04o}\n", *mode);
  for (const auto& [name, value] : checksums) fmt::format_to(out, "checksum {} {}\n", name, value);
  if (!servers.empty()) {
    text += "servers";
    for (const std::string& id : servers) fmt::format_to(out, " {}", EncodeField(id));
    text += '\n';
  }
  if (lane) fmt::format_to(out, "lane {}\n", *lane);
  for (const uint32_t debt : debts) fmt::format_to(out, "debt {}\n", debt);
  for (const auto& [name, value] : attributes) text += AttributeLine(name, value);
  for (const std::string& line : unknown_fields) {
    if (!IsUnknownField(line)) {
      return Fail(Code::kInvalidArgument, "the manifest of {} cannot keep the line \"{:.40}\"", path, line);
    }
    text += line + '\n';
  }
  text += "crc32c " + Hex(Crc32c(AsBytes(text)), 8) + '\n';
  if (text.size() > kManifestSizeMax) {
    return Fail(Code::kInvalidArgument, "the manifest of {} needs {} bytes, and {} is the limit", path,
                text.size(), kManifestSizeMax);
  }
  return text;
}

}  // namespace xec

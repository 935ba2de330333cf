// SPDX-License-Identifier: LGPL-3.0-or-later
#include "protocol/object_path.hh"

#include <algorithm>
#include <map>

#include <openssl/sha.h>

#include "base/bytes.hh"
#include "base/text.hh"

namespace xec {
namespace {

// Of a shortened name: bytes kept in clear, bytes of SHA-256 added in hex, bytes of name in one n-entry.
constexpr size_t kClearBytes = 160;
constexpr size_t kHashBytes = 16;
constexpr size_t kPartBytes = 240;

bool KeepOnDisk(unsigned char c) { return c > 0x20 && c != 0x7f && c != '?' && c != '#' && c != '&'; }

std::string HashOf(std::string_view text) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest);
  return HexBytes(std::as_bytes(std::span(digest)).first(kHashBytes));
}

// The component on disk: encoded + suffix, or shortened + long_suffix. That of a folder may be as on disk
// already (ParseStored).
std::string OnDisk(std::string_view component, std::string_view suffix, std::string_view long_suffix) {
  if (suffix.empty() && component.ends_with(kLongFolderSuffix)) return std::string(component);
  const std::string encoded = PercentEncode(component, KeepOnDisk);
  if (encoded.size() + suffix.size() <= kComponentBytesMax) return encoded + std::string(suffix);
  return encoded.substr(0, kClearBytes) + "~" + HashOf(component) + std::string(long_suffix);
}

// The folder on disk of a directory of this name; empty for the root.
std::string FolderOf(std::string_view text) {
  std::string folder;
  for (const std::string_view component : Split(text, '/')) {
    if (component.empty()) continue;
    folder += '/';
    folder += OnDisk(component, "", kLongFolderSuffix);
  }
  return folder;
}

// `stored`: XEC itself has written it, or found it on a server.
Status CheckComponent(std::string_view component, std::string_view path, bool stored) {
  if (component == "." || component == "..") {
    return Fail(Code::kInvalidArgument, "the name '{}' contains a part '{}'", path, component);
  }
  if (component.size() > kComponentBytesMax) {
    return Fail(Code::kInvalidArgument, "a part of the name '{}' is longer than {} bytes", path,
                kComponentBytesMax);
  }
  if (component.find('\0') != std::string_view::npos || component.find('\n') != std::string_view::npos) {
    return Fail(Code::kInvalidArgument, "a name may contain neither zero bytes nor line ends");
  }
  for (const std::string_view suffix : {kObjectSuffix, kLongObjectSuffix, kLongFolderSuffix}) {
    if (stored && suffix == kLongFolderSuffix) continue;
    if (component.ends_with(suffix)) {
      return Fail(Code::kInvalidArgument, "the name '{}' is reserved: names ending in '{}' belong to XEC",
                  path, suffix);
    }
  }
  return OkStatus();
}

Result<std::string> Normalize(std::string_view text, bool stored) {
  if (text.empty() || text[0] != '/')
    return Fail(Code::kInvalidArgument, "the name '{}' must start with '/'", text);
  if (text.size() > kPathBytesMax) {
    return Fail(Code::kInvalidArgument, "a name of {} bytes is longer than {}", text.size(), kPathBytesMax);
  }
  std::string path;
  for (const std::string_view component : Split(text, '/')) {
    if (component.empty()) continue;
    XEC_TRY(CheckComponent(component, text, stored));
    if (path.empty() && component == ".xec") {
      return Fail(Code::kInvalidArgument, "'/.xec' is the reserved area of the store");
    }
    path += '/';
    path += component;
  }
  return path.empty() ? "/" : std::move(path);
}

std::string_view LastOf(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

ObjectPath::ObjectPath(std::string text) {
  auto places = std::make_shared<Places>();
  const std::string_view last = LastOf(text);
  const std::string above = FolderOf(std::string_view(text).substr(0, text.rfind('/')));
  places->folder = above + "/" + (last.empty() ? "" : OnDisk(last, "", kLongFolderSuffix));
  if (!last.empty()) places->object_directory = above + "/" + OnDisk(last, kObjectSuffix, kLongObjectSuffix);
  places->text = std::move(text);
  places_ = std::move(places);
}

Result<ObjectPath> ObjectPath::Parse(std::string_view text) {
  XEC_ASSIGN_OR_RETURN(std::string path, Normalize(text, false));
  return ObjectPath(std::move(path));
}

Result<ObjectPath> ObjectPath::ParseStored(std::string_view text) {
  const bool registered = text == kNamesDirectory || text.starts_with(std::string(kNamesDirectory) + "/");
  std::string_view name = registered ? text.substr(kNamesDirectory.size()) : text;
  if (registered && name.empty()) name = "/";
  XEC_ASSIGN_OR_RETURN(std::string normal, Normalize(name, true));
  ObjectPath path(std::move(normal));
  return registered ? path.Registered() : path;
}

ObjectPath ObjectPath::OfList(uint64_t epoch) {
  return ObjectPath(fmt::format("{}/{}", kListsDirectory, epoch));
}

bool ObjectPath::IsOfList() const { return text().starts_with(std::string(kListsDirectory) + "/"); }

ObjectPath ObjectPath::Registered() const {
  return ObjectPath(std::string(kNamesDirectory) + (IsRoot() ? "" : text()));
}

std::string_view ObjectPath::Last() const { return LastOf(text()); }

ObjectPath ObjectPath::Parent() const {
  const size_t at = text().rfind('/');
  return ObjectPath(at == 0 ? "/" : text().substr(0, at));
}

Result<ObjectPath> ObjectPath::Child(std::string_view component) const {
  if (component.empty() || component.find('/') != std::string_view::npos) {
    return Fail(Code::kInvalidArgument, "'{}' is not one part of a name", component);
  }
  return ParseStored((IsRoot() ? "" : text()) + "/" + std::string(component));
}

bool ObjectPath::IsBelow(const ObjectPath& directory) const {
  if (directory.IsRoot()) return !IsRoot();
  return text().size() > directory.text().size() && text().starts_with(directory.text()) &&
         text()[directory.text().size()] == '/';
}

const std::string& ObjectPath::ObjectDirectory() const {
  XEC_CHECK(!IsRoot(), "the root has no object directory");
  return places_->object_directory;
}

std::vector<std::string> ObjectPath::LongNameEntries() const {
  std::vector<std::string> entries;
  constexpr size_t kEncodedMax = 3;  // bytes for one
  if (IsRoot() || Last().size() * kEncodedMax + kObjectSuffix.size() <= kComponentBytesMax) return entries;
  std::string encoded = PercentEncode(Last(), KeepOnDisk);
  if (encoded.size() + kObjectSuffix.size() <= kComponentBytesMax) return entries;
  const size_t count = (encoded.size() + kPartBytes - 1) / kPartBytes;
  for (size_t i = 0; i < count; ++i) {
    entries.push_back(fmt::format("n.{}.{}.{}", i, count, encoded.substr(i * kPartBytes, kPartBytes)));
  }
  return entries;
}

FolderEntryName ParseFolderEntry(std::string_view entry) {
  if (entry.ends_with(kLongObjectSuffix)) return {FolderEntryName::kLongObject, {}};
  if (!entry.ends_with(kObjectSuffix)) return {};
  entry.remove_suffix(kObjectSuffix.size());
  auto component = PercentDecode(entry);
  if (!component || component->empty() || component->size() > kComponentBytesMax) return {};
  return {FolderEntryName::kObject, std::move(*component)};
}

bool IsLongNamePart(std::string_view entry) { return entry.starts_with("n."); }

Result<std::string> ReadLongName(const std::vector<std::string>& entries) {
  std::map<uint64_t, std::string> parts;
  uint64_t count = 0;
  for (const std::string& entry : entries) {
    if (!IsLongNamePart(entry)) continue;
    const size_t first = entry.find('.', 2);
    const size_t second = first == std::string::npos ? first : entry.find('.', first + 1);
    if (second == std::string::npos) continue;
    const auto index = ParseUint(std::string_view(entry).substr(2, first - 2));
    const auto total = ParseUint(std::string_view(entry).substr(first + 1, second - first - 1));
    if (!index || !total || *total > 8 || *index >= *total) continue;
    count = *total;
    parts[*index] = entry.substr(second + 1);
  }
  if (count == 0 || parts.size() != count) return Fail(Code::kCorruption, "parts of a long name are missing");
  std::string encoded;
  for (const auto& [index, part] : parts) encoded += part;
  auto name = PercentDecode(encoded);
  if (!name || name->size() > kComponentBytesMax) return Fail(Code::kCorruption, "a long name is damaged");
  return std::move(*name);
}

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "cli/mount_list.hh"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "base/text.hh"

namespace xec {
namespace {

constexpr std::string_view kType = "fuse.xec";
// Of a line: before the optional fields, whose end is a "-", and after it.
constexpr size_t kDirectoryField = 4, kFieldsBefore = 6;
constexpr size_t kTypeField = 1, kSourceField = 2, kOptionsField = 3;

// Blanks, line ends and backslashes stand there as backslash and three octal digits.
std::string Unescaped(std::string_view text) {
  constexpr size_t kDigits = 3;
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const std::string_view digits = text.substr(i + 1, kDigits);
    const bool escaped = text[i] == '\\' && digits.size() == kDigits &&
                         digits.find_first_not_of("01234567") == std::string_view::npos;
    if (!escaped) {
      out += text[i];
      continue;
    }
    unsigned value = 0;
    for (const char digit : digits) value = value * 8 + static_cast<unsigned>(digit - '0');
    out += static_cast<char>(value);
    i += kDigits;
  }
  return out;
}

uint32_t NumberOf(std::string_view options, std::string_view name) {
  for (const std::string_view option : Split(options, ',')) {
    if (option.starts_with(name)) {
      const std::optional<uint64_t> number = ParseUint(option.substr(name.size()));
      if (number && *number <= UINT32_MAX) return static_cast<uint32_t>(*number);
    }
  }
  return 0;
}

}  // namespace

std::vector<ListedMount> MountsIn(std::string_view mountinfo) {
  std::vector<ListedMount> found;
  for (const std::string_view line : Split(mountinfo, '\n')) {
    const std::vector<std::string_view> fields = Split(line, ' ');
    const auto end = std::find(fields.begin(), fields.end(), "-");
    if (end - fields.begin() < static_cast<ptrdiff_t>(kFieldsBefore) ||
        fields.end() - end <= static_cast<ptrdiff_t>(kOptionsField) || end[kTypeField] != kType)
      continue;
    found.push_back({.directory = Unescaped(fields[kDirectoryField]),
                     .source = Unescaped(end[kSourceField]),
                     .user = NumberOf(end[kOptionsField], "user_id="),
                     .group = NumberOf(end[kOptionsField], "group_id=")});
  }
  return found;
}

std::vector<ListedMount> MountsOfMachine() {
  std::ifstream file("/proc/self/mountinfo");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return MountsIn(text);
}

std::optional<ListedMount> MountAt(const std::string& path) {
  std::error_code error;
  std::filesystem::path whole = std::filesystem::absolute(path, error).lexically_normal();
  if (!whole.has_filename()) whole = whole.parent_path();
  const std::filesystem::path above = std::filesystem::canonical(whole.parent_path(), error);
  if (!error) whole = above / whole.filename();
  const std::vector<ListedMount> all = MountsOfMachine();
  const auto found = std::find_if(all.rbegin(), all.rend(),
                                  [&](const ListedMount& mount) { return mount.directory == whole; });
  if (found == all.rend()) return std::nullopt;
  return *found;
}

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "protocol/attribute_set.hh"

#include <fmt/format.h>

#include "base/text.hh"

namespace xec {
namespace {

constexpr std::string_view kFirstLine = "xec-attributes 1";
constexpr std::string_view kOver = "over ";
constexpr std::string_view kSet = "set ";
constexpr std::string_view kRemoved = "removed ";

bool Keep(unsigned char c) { return c > 0x20 && c < 0x7f && c != '='; }

// "REVISION NAME=VALUE" or, of a removed one, "REVISION NAME".
bool ReadEntry(std::string_view line, bool removed, AttributeSet* set) {
  const size_t blank = line.find(' ');
  if (blank == std::string_view::npos) return false;
  const auto revision = Version::Parse(line.substr(0, blank));
  line.remove_prefix(blank + 1);
  const size_t equal = line.find('=');
  if (!revision || (equal == std::string_view::npos) != removed) return false;
  auto name = PercentDecode(line.substr(0, equal));
  if (!name || name->empty()) return false;
  std::optional<std::string> value;
  if (!removed) {
    value = PercentDecode(line.substr(equal + 1));
    if (!value) return false;
  }
  return set->entries.emplace(std::move(*name), AttributeSet::Entry{*revision, std::move(value)}).second;
}

bool ReadLine(std::string_view line, AttributeSet* set) {
  if (line.starts_with(kSet)) return ReadEntry(line.substr(kSet.size()), false, set);
  if (line.starts_with(kRemoved)) return ReadEntry(line.substr(kRemoved.size()), true, set);
  if (!line.starts_with(kOver)) return false;
  const auto revision = Version::Parse(line.substr(kOver.size()));
  return revision && set->over.insert(*revision).second;
}

}  // namespace

AttributeSet AttributeSet::WrittenWith(const UserAttributes& attributes, const Version& version) {
  AttributeSet set;
  for (const auto& [name, value] : attributes) set.Set(name, value, version);
  return set;
}

UserAttributes AttributeSet::Values() const {
  UserAttributes values;
  for (const auto& [name, entry] : entries) {
    if (entry.value) values.emplace(name, *entry.value);
  }
  return values;
}

void AttributeSet::Set(const std::string& name, std::optional<std::string> value, const Version& revision) {
  entries.insert_or_assign(name, Entry{revision, std::move(value)});
}

bool AttributeSet::Merge(const AttributeSet& other) {
  bool changed = false;
  for (const auto& [name, entry] : other.entries) {
    const auto [mine, added] = entries.emplace(name, entry);
    const bool later = !added && mine->second.revision < entry.revision;
    if (later) mine->second = entry;
    changed = changed || added || later;
  }
  over.insert(other.over.begin(), other.over.end());
  return changed;
}

void AttributeSet::CutOver() {
  while (over.size() > kAttributeSetOverMax) over.erase(over.begin());
}

std::string AttributeSet::Format() const {
  std::string text = fmt::format("{}\n", kFirstLine);
  for (const Version& revision : over) text += fmt::format("{}{}\n", kOver, revision.ToString());
  for (const auto& [name, entry] : entries) {
    text += fmt::format("{}{} {}", entry.value ? kSet : kRemoved, entry.revision.ToString(),
                        PercentEncode(name, Keep));
    if (entry.value) text += "=" + PercentEncode(*entry.value, Keep);
    text += '\n';
  }
  return text + "end\n";
}

Result<AttributeSet> AttributeSet::Parse(std::string_view text) {
  const Error damaged = Fail(Code::kCorruption, "a file of user attributes is damaged");
  if (text.size() > kAttributeSetBytesMax || !text.ends_with("\nend\n")) return damaged;
  text.remove_suffix(5);
  const std::vector<std::string_view> lines = Split(text, '\n');
  if (lines[0] != kFirstLine) return damaged;
  AttributeSet set;
  for (size_t i = 1; i < lines.size(); ++i) {
    if (!ReadLine(lines[i], &set)) return damaged;
  }
  if (set.over.size() > kAttributeSetOverMax || set.entries.size() > kAttributeEntriesMax) return damaged;
  return set;
}

}  // namespace xec

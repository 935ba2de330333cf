// SPDX-License-Identifier: LGPL-3.0-or-later
#include "space/space_told.hh"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/text.hh"

namespace xec {
namespace {

// The sums of a process in the middle of the count.
const std::string kHad = "had ";

std::string Word(std::string_view text) {
  return PercentEncode(text, [](unsigned char c) { return c > ' ' && c < 0x7f && c != '%'; });
}

void FormatUsage(std::vector<std::string>& lines, const std::string& key, const UsageByPrefix& usage) {
  for (const auto& [prefix, of] : usage)
    lines.push_back(fmt::format("{} {} {} {}", key, Word(prefix), of.bytes, of.objects));
}

// So that differences fit, whatever a server gives.
constexpr int64_t kNumberMax = int64_t{1} << 60;

std::optional<int64_t> ParseNumber(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || number > kNumberMax || number < -kNumberMax) return std::nullopt;
  return number;
}

// "PREFIX BYTES OBJECTS", from that word on.
bool TakeUsage(const std::vector<std::string_view>& words, size_t first, UsageByPrefix& into) {
  if (words.size() != first + 3) return false;
  const std::optional<std::string> prefix = PercentDecode(words[first]);
  const std::optional<int64_t> bytes = ParseNumber(words[first + 1]), objects = ParseNumber(words[first + 2]);
  if (!prefix || !bytes || !objects) return false;
  into[*prefix] = {*bytes, *objects};
  return true;
}

bool TakeLine(const std::vector<std::string_view>& words, SpaceTold& told) {
  const std::string_view key = words.front();
  if (key == "id" && words.size() == 2) {
    const std::optional<std::string> id = PercentDecode(words[1]);
    if (id) told.id = *id;
    return id.has_value();
  }
  if (key == "moved" && words.size() == 2) {
    const std::optional<int64_t> moved = ParseNumber(words[1]);
    told.moved_ms = moved.value_or(0);
    return moved.has_value();
  }
  if (key == "sum") return TakeUsage(words, 1, told.sums);
  if (key == "counted" && words.size() == 3) {
    const std::optional<int64_t> began = ParseNumber(words[1]), ended = ParseNumber(words[2]);
    if (!began || !ended) return false;
    told.count.emplace();
    told.count->began_ms = *began;
    told.count->ended_ms = *ended;
    return true;
  }
  if (key == "found") return told.count && TakeUsage(words, 1, told.count->found);
  if (key == "had") {
    const std::optional<std::string> id = words.size() == 5 ? PercentDecode(words[1]) : std::nullopt;
    return id && told.count && TakeUsage(words, 2, told.count->sums[*id]);
  }
  return true;  // of a later version
}

}  // namespace

std::vector<std::string> FormatSpace(const SpaceTold& told) {
  std::vector<std::string> lines = {"id " + Word(told.id)};
  if (told.moved_ms > 0) lines.push_back(fmt::format("moved {}", told.moved_ms));
  FormatUsage(lines, "sum", told.sums);
  if (!told.count) return lines;
  lines.push_back(fmt::format("counted {} {}", told.count->began_ms, told.count->ended_ms));
  FormatUsage(lines, "found", told.count->found);
  const auto had = [&](const std::string& id, const UsageByPrefix& sums) {
    // One that had changed nothing is known as well.
    FormatUsage(lines, kHad + Word(id), sums.empty() ? UsageByPrefix{{"/", {}}} : sums);
  };
  const auto own = told.count->sums.find(told.id);
  if (own != told.count->sums.end()) had(told.id, own->second);
  for (const auto& [id, sums] : told.count->sums) {
    if (id != told.id) had(id, sums);
  }
  return lines;
}

size_t CutSpace(std::vector<std::string>& lines, size_t bytes_max,
                const std::function<size_t(std::string_view line)>& bytes_of) {
  size_t bytes = 0, first = 0;  // of those that do not fit
  for (; first < lines.size(); ++first) {
    bytes += bytes_of(lines[first]);
    if (bytes > bytes_max) break;
  }
  if (first == lines.size()) return 0;
  // "had ID": of one process all or nothing, else what is missing counts as nothing.
  const auto whose = [](const std::string& line) {
    return line.starts_with(kHad) ? line.substr(0, line.find(' ', kHad.size())) : "";
  };
  const std::string cut = whose(lines[first]);
  while (first > 0 && (cut.empty() || whose(lines[first - 1]) == cut)) --first;
  const size_t left_out = lines.size() - first;
  lines.resize(first);
  return left_out;
}

std::optional<SpaceTold> ParseSpace(const std::vector<std::string>& lines) {
  SpaceTold told;
  for (const std::string& line : lines) {
    const std::vector<std::string_view> words = Split(line, ' ');
    if (words.empty() || !TakeLine(words, told)) return std::nullopt;
  }
  if (told.id.empty()) return std::nullopt;
  return told;
}

const SpaceGroup* GroupOf(std::span<const SpaceGroup> groups, std::string_view path) {
  const SpaceGroup* best = nullptr;
  for (const SpaceGroup& group : groups) {
    const std::string& prefix = group.prefix;
    const bool covers = prefix == "/" || (path.starts_with(prefix) &&
                                          (path.size() == prefix.size() || path[prefix.size()] == '/'));
    if (covers && (best == nullptr || prefix.size() > best->prefix.size())) best = &group;
  }
  return best;
}

bool CountsGroups(const SpaceCount& count, std::span<const SpaceGroup> groups) {
  return count.found.size() == groups.size() &&
         std::all_of(groups.begin(), groups.end(),
                     [&](const SpaceGroup& group) { return count.found.contains(group.prefix); });
}

std::map<std::string, UsageByPrefix> MiddleOf(const std::map<std::string, UsageByPrefix>& before,
                                              const std::map<std::string, UsageByPrefix>& after) {
  std::map<std::string, UsageByPrefix> middle = after;
  for (auto& [id, sums] : middle) {
    const auto of = before.find(id);
    if (of == before.end()) continue;
    for (auto& [prefix, sum] : sums) {
      Usage first;
      if (of->second.contains(prefix)) first = of->second.at(prefix);
      sum = {first.bytes + (sum.bytes - first.bytes) / 2, first.objects + (sum.objects - first.objects) / 2};
    }
  }
  return middle;
}

UsageByPrefix UsedSpace(const SpaceCount& count, const std::map<std::string, UsageByPrefix>& sums) {
  UsageByPrefix used = count.found;
  for (const auto& [id, of] : sums) {
    const auto had = count.sums.find(id);
    for (auto& [prefix, usage] : used) {
      if (of.contains(prefix)) usage += of.at(prefix);
      if (had != count.sums.end() && had->second.contains(prefix)) usage += -had->second.at(prefix);
    }
  }
  return used;
}

}  // namespace xec

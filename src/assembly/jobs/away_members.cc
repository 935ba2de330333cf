// SPDX-License-Identifier: LGPL-3.0-or-later
#include "assembly/jobs/away_members.hh"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.hh"

namespace xec {
namespace {

constexpr std::string_view kAway = "away";
constexpr std::string_view kBegun = "begun";
constexpr std::string_view kReplaced = "replaced";
constexpr std::string_view kReturned = "returned";

}  // namespace

void AwayMembers::Note(const Ids& away, int64_t now_ms) {
  for (const std::string& id : away) away_.emplace(id, Away{.since_ms = now_ms});
  std::erase_if(away_, [&](const auto& member) {
    if (away.contains(member.first)) return false;
    if (member.second.begun || member.second.replaced) returned_.insert(member.first);
    return true;
  });
}

AwayMembers::Ids AwayMembers::For(Duration time, int64_t now_ms) const {
  const int64_t time_ms = std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
  Ids ids;
  for (const auto& [id, away] : away_) {
    if (now_ms - away.since_ms >= time_ms) ids.insert(id);
  }
  return ids;
}

void AwayMembers::NoteBegun(const Ids& ids) {
  for (const std::string& id : ids) {
    const auto away = away_.find(id);
    if (away != away_.end()) away->second.begun = true;
  }
}

void AwayMembers::NoteReplaced(const Ids& ids) {
  for (const std::string& id : ids) {
    const auto away = away_.find(id);
    if (away != away_.end()) away->second.replaced = true;
  }
}

bool AwayMembers::AreReplaced(const Ids& ids) const {
  return std::all_of(ids.begin(), ids.end(), [&](const std::string& id) {
    const auto away = away_.find(id);
    return away != away_.end() && away->second.replaced;
  });
}

void AwayMembers::Forget(const Ids& returned) {
  for (const std::string& id : returned) returned_.erase(id);
}

std::string AwayMembers::Text() const {
  std::string text;
  const auto add = [&](std::string_view what, const std::string& id, int64_t since_ms) {
    text += fmt::format("{}{} {} {}", text.empty() ? "" : " ", what, id, since_ms);
  };
  for (const auto& [id, away] : away_)
    add(away.replaced ? kReplaced : away.begun ? kBegun : kAway, id, away.since_ms);
  for (const std::string& id : returned_) add(kReturned, id, 0);
  return text;
}

AwayMembers AwayMembers::Parse(std::string_view text) {
  AwayMembers members;
  const std::vector<std::string_view> words = Split(text, ' ');
  for (size_t i = 0; i + 2 < words.size(); i += 3) {
    const std::string id(words[i + 1]);
    const auto since = ParseUint(words[i + 2]);
    if (!since || *since > INT64_MAX) continue;
    if (words[i] == kReturned) members.returned_.insert(id);
    if (words[i] == kAway || words[i] == kBegun || words[i] == kReplaced)
      members.away_[id] = {static_cast<int64_t>(*since), words[i] == kBegun, words[i] == kReplaced};
  }
  return members;
}

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "assembly/configuration/group_option.hh"

#include <algorithm>
#include <cctype>

#include "assembly/configuration/option_values.hh"

namespace xec {

Status SetGroup(Configuration& c, std::string_view value) {
  const std::vector<std::string_view> words = Words(value);
  if (words.size() < 2 || words.size() > 3)
    return Fail(Code::kInvalidArgument, "'{}' is no group: NAME PATH [QUOTA]", value);
  SpaceGroup group{.name = std::string(words[0]), .prefix = {}};
  const bool named = group.name.size() <= kGroupNameMax &&
                     std::all_of(group.name.begin(), group.name.end(), [](unsigned char letter) {
                       return std::isalnum(letter) != 0 || letter == '-' || letter == '_' || letter == '.';
                     });
  if (!named) {
    return Fail(Code::kInvalidArgument,
                "'{}' is no name of a group: up to {} of a-z, A-Z, 0-9, '-', '_', '.'", group.name,
                kGroupNameMax);
  }
  XEC_ASSIGN_OR_RETURN(group.prefix, ParsePrefix(words[1]));
  if (words.size() == 3) {
    XEC_ASSIGN_OR_RETURN(group.quota_bytes, ParseSize(words[2]));
  }
  for (const SpaceGroup& other : c.groups) {
    if (other.prefix == group.prefix || other.name == group.name)
      return Fail(Code::kInvalidArgument, "a second group {} or for {}", group.name, group.prefix);
  }
  if (c.groups.size() >= kSpaceGroupsMax)
    return Fail(Code::kInvalidArgument, "more than {} groups", kSpaceGroupsMax);
  c.groups.push_back(std::move(group));
  return OkStatus();
}

std::vector<std::string> GetGroups(const Configuration& c) {
  std::vector<std::string> values;
  for (const SpaceGroup& group : c.groups) {
    std::string text = fmt::format("{} {}", group.name, FormatPrefix(group.prefix));
    if (group.quota_bytes) text += " " + FormatBytes(*group.quota_bytes);
    values.push_back(std::move(text));
  }
  return values;
}

}  // namespace xec

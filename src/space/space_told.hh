// SPDX-License-Identifier: LGPL-3.0-or-later
// What processes tell each other of the space of groups, in lines of text, and what follows from it. Pure.
//
// Each process sums up what its own changes have added and taken away. Now and then one of them counts the
// whole store. What is used is what was counted, and what all sums have become since the middle of the count.
// What is lost on the way (a process that was killed, an outcome that nobody knows) is wrong until the next
// count ends.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/space_group.hh"

namespace xec {

using UsageByPrefix = std::map<std::string, Usage>;

// Of all objects that listings show.
struct SpaceCount {
  int64_t began_ms = 0, ended_ms = 0;  // since 1970, by the clock of the process that counted
  UsageByPrefix found;  // of every group
  // The sums of each process, by id, in the middle of the count; of those that were heard then. A change that
  // is made while the count goes on is seen by it or not; this way it is half right either way.
  std::map<std::string, UsageByPrefix> sums;
  bool operator==(const SpaceCount&) const = default;
};

struct SpaceTold {
  std::string id = {};  // of the sums: whose they are, and since when
  int64_t told_ms = 0;  // by the clock of the process; not in the lines
  UsageByPrefix sums = {};
  int64_t moved_ms =
      0;  // a directory was renamed from one group to another last; nobody knows what was in it
  std::optional<SpaceCount> count = {};  // the last one that it knows of
};

// What others have most need of comes first.
std::vector<std::string> FormatSpace(const SpaceTold& told);
// Leaves lines of FormatSpace out at the end, so that the others fit: all of those of some processes in the
// count, whose sums others then take from these processes themselves, or all there are. How many are left
// out. `bytes_of`: what a line takes of `bytes_max`.
size_t CutSpace(std::vector<std::string>& lines, size_t bytes_max,
                const std::function<size_t(std::string_view line)>& bytes_of);
// nullopt: the lines are damaged.
std::optional<SpaceTold> ParseSpace(const std::vector<std::string>& lines);

// The longest prefix that covers the path, which is as ObjectPath::text() gives it; null if none does.
const SpaceGroup* GroupOf(std::span<const SpaceGroup> groups, std::string_view path);

// Is it a count of just these groups?
bool CountsGroups(const SpaceCount& count, std::span<const SpaceGroup> groups);

// The sums in the middle between two looks at them. Those that were not known before count as they are: they
// may be of a process that is old, and was not heard.
std::map<std::string, UsageByPrefix> MiddleOf(const std::map<std::string, UsageByPrefix>& before,
                                              const std::map<std::string, UsageByPrefix>& after);

// What each group uses. `sums`: by id, what was told last. It may be below zero by what was lost on the way.
UsageByPrefix UsedSpace(const SpaceCount& count, const std::map<std::string, UsageByPrefix>& sums);

}  // namespace xec

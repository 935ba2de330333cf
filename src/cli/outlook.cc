// SPDX-License-Identifier: LGPL-3.0-or-later
#include "cli/outlook.hh"

#include <algorithm>

#include "placement/survival.hh"

namespace xec {
namespace {

Outlook::Puts PutsOf(const StoreRemains& left, const PlannedObjects& objects) {
  if (left.archives < objects.archives_min) return Outlook::kNone;
  if (!left.writable) return Outlook::kNotAll;
  return left.full ? Outlook::kInFull : Outlook::kThin;
}

Outlook Without(const StoreDescriptor& store, const std::vector<PlannedObjects>& kinds,
                const ServersAsTheyAre& servers, std::optional<MemberIndex> server) {
  std::set<MemberIndex> silent = servers.silent;
  if (server) silent.insert(*server);
  std::set<MemberIndex> unwritable = servers.unwritable;
  unwritable.insert(silent.begin(), silent.end());
  const std::vector<MemberIndex> to_read(silent.begin(), silent.end()),
      to_write(unwritable.begin(), unwritable.end());
  Outlook outlook{.server = server, .decidable = true, .puts = Outlook::kInFull, .unreadable = std::nullopt};
  for (const PlannedObjects& objects : kinds) {
    outlook.decidable = outlook.decidable && WhatIsLeft(store, objects, to_read).decidable;
    outlook.puts = std::max(outlook.puts, PutsOf(WhatIsLeft(store, objects, to_write), objects));
  }
  return outlook;
}

}  // namespace

std::vector<Outlook> LookAhead(const StoreDescriptor& store, const Configuration& configuration,
                               const ServersAsTheyAre& servers, const Census* census) {
  std::vector<PlannedObjects> kinds = {{store.geometry, configuration.ArchivesMin(store.geometry)}};
  for (const PathRule& rule : store.rules)
    kinds.push_back({rule.geometry, configuration.ArchivesMin(rule.geometry)});
  std::vector<Outlook> outlooks = {Without(store, kinds, servers, std::nullopt)};
  if (census) outlooks.front().unreadable = Census::Count();
  for (size_t i = 0; i < store.members.size(); ++i) {
    const auto member = static_cast<MemberIndex>(i);
    if (servers.silent.contains(member) || store.members[i].role == MemberRole::kEmptied) continue;
    outlooks.push_back(Without(store, kinds, servers, member));
    if (census) outlooks.back().unreadable = census->WithNextLoss(member);
  }
  return outlooks;
}

const char* PutsWords(Outlook::Puts puts) {
  switch (puts) {
    case Outlook::kInFull: return "in full";
    case Outlook::kThin: return "thin";
    case Outlook::kNotAll: return "not all";
    case Outlook::kNone: return "none";
  }
  return "";
}

}  // namespace xec

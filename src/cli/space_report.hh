// SPDX-License-Identifier: LGPL-3.0-or-later
// What `xec space` tells of the space of a store.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "api/object_info.hh"
#include "api/space_group.hh"
#include "cli/json_output.hh"

namespace xec {

struct SpaceReport {
  StoreSpace store;
  std::vector<GroupUse> groups;
  int64_t now_ms = 0;  // since 1970
};

Json SpaceJson(const SpaceReport& report);
void PrintSpace(const SpaceReport& report);

// What a site says of itself in a Storage Resource Reporting document.
struct SiteWords {
  std::string name;
  std::string id;
  std::vector<std::string> endpoints;      // URLs
  std::map<std::string, std::string> vos;  // group -> virtual organisation, where it has another name
};

// Error: kInvalidArgument, `vos` names a group that there is not.
Status NeedGroups(const std::map<std::string, std::string>& vos, const std::vector<GroupUse>& groups);

// The document that the WLCG collects. All groups are counted.
Json SrrJson(const SpaceReport& report, const SiteWords& site, const std::string& version);

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// Surplus archives: those of lanes that another server has as well. A lane was written anew while its server
// was away, and the server came back.
#pragma once

#include <optional>
#include <vector>

#include "object/repair/damage_survey.hh"

namespace xec {

struct SurplusArchive {
  uint32_t lane = 0;
  MemberIndex server = 0;
  std::optional<State> archive;  // as it was listed; nullopt: not now
};

// Of a version whose lanes were all found good by the survey, on the servers of RepairOptions::shown_on.
// Which of two archives of a lane is the surplus one does not depend on the manifest that was read, so that
// two repairs never take one of them each. Both archives have been opened, and are older than the tombstone
// horizon. What cannot be opened now is left alone.
Task<std::vector<SurplusArchive>> FindSurplus(const RepairedVersion& version, const DamageSurvey& survey);

}  // namespace xec

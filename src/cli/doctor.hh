// SPDX-License-Identifier: LGPL-3.0-or-later
// What `xec doctor` looks at before a gateway starts, or while it runs, and what it finds. Secrets are never
// part of what is found. All functions block.
#pragma once

#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "assembly/configuration/configuration.hh"

namespace xec {

enum class FindingLevel { kOk, kWarn, kFail };
const char* FindingLevelName(FindingLevel level);

// A line of the report: what was looked at, what was found, and what to do ("" where all is well).
struct Finding {
  FindingLevel level;
  std::string what, found, todo = {};
};
using Findings = std::vector<Finding>;

// The words of the lines of a gateway's file that are for xrootd, without comments.
using SiteLines = std::vector<std::vector<std::string>>;
SiteLines WordsOfLines(std::string_view text);

// On whose behalf, and when.
struct DoctorView {
  std::string host;       // full name of this host
  uid_t gateway_uid = 0;  // the user that the gateway is or becomes
  std::string gateway_user;
  int64_t now_s = 0;      // seconds since 1970
  std::string key_file;   // XrdSecSSSKT; "" = not set
};

// Certificates, keys, revocation lists and token audiences that the lines name, and the file of bans.
Findings CheckSite(const SiteLines& lines, const Configuration& configuration, const DoctorView& view);

// The clock, this host's name, versions, limits and ports. `xrootd` is the program, or "" if there is none;
// `running`: a gateway of this configuration runs.
Findings CheckHost(const SiteLines& lines, const Configuration& configuration, const DoctorView& view,
                   const std::string& xrootd, bool running);

}  // namespace xec

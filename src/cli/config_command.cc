// SPDX-License-Identifier: LGPL-3.0-or-later
// xec config: prints ready-made configurations.
#include "cli/commands.hh"
#include "cli/site_files.hh"

namespace xec {

Result<int> RunConfig(const CommandLine& line) {
  XEC_ASSIGN_OR_RETURN(const std::string text,
                       SiteFile(line.operands.front(), line.site, line.configuration));
  fmt::print("{}", text);
  return kExitOk;
}

}  // namespace xec

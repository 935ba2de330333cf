// SPDX-License-Identifier: LGPL-3.0-or-later
// What `xec serve` prepares before xrootd starts: programs, directories, the user, the configuration file.
#pragma once

#include <string>
#include <sys/types.h>

#include "cli/command_line.hh"

namespace xec {

struct ServePlan {
  Configuration configuration;  // paths absolute
  std::string program;          // xrootd
  std::string plug_in;          // .../libXrdOssXec.so, as XRootD wants it: without the major version
  std::string state;            // exists
  std::string short_state;      // the same by a path that sockets below it fit; perhaps a link
  std::string configuration_file, log_file;
  bool link_made = false;
};

// Finds programs and directories; makes the state directory and, for a new store, missing data directories.
// When started by root, gives them to the chosen user and becomes that user for good. Errors: kNotFound (no
// plug-in, no xrootd), kInvalidArgument, kPermissionDenied.
Result<ServePlan> PrepareServe(const CommandLine& line);

// Text of the configuration file for xrootd. `others` are lines of the user's own file, copied as they are.
std::string XrootdConfiguration(const ServePlan& plan, const std::string& others);

// Writes it; removes what a killed gateway left. Errors of the file system.
Status WriteServeFiles(const ServePlan& plan, const std::string& users_file);

}  // namespace xec

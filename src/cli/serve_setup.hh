// SPDX-License-Identifier: LGPL-3.0-or-later
// What `xec serve` prepares before xrootd starts: programs, directories, the user, the configuration file.
#pragma once

#include <pwd.h>
#include <string>
#include <sys/types.h>
#include <vector>

#include "cli/command_line.hh"
#include "server/kinds/local_root.hh"

namespace xec {

struct ServePlan {
  Configuration configuration;  // paths absolute
  std::string program;          // xrootd
  std::string cmsd;             // the same for a gateway behind a redirector; else empty
  std::string plug_in;          // .../libXrdOssXec.so, as XRootD wants it: without the major version
  std::string preload;          // .../libXecCrc32c.so, in LD_PRELOAD now; empty where there is none
  std::string state;            // exists
  UniqueFd lock;                // on it; child processes have it too
  std::string short_state;      // the same by a path that sockets below it fit; perhaps a link
  std::string configuration_file, log_file;
  // Data directories of a store that is there which the gateway's user cannot use as it should: sentences.
  std::vector<std::string> shut;
  std::string copy_line;    // how XRootD makes third-party copies by root://; "" without xrdcp
  std::string access_line;  // what of ours stands in front of XRootD's authorization; "" without it
  std::string users_lines;  // what is xrootd's in the user's file, copied as it is
  bool link_made = false;
};

// The stock xrootd to run: `wanted`, or that of the XRootD that XEC was built for. Error: kNotFound.
Result<std::string> FindXrootd(const std::string& wanted);
// The user that a gateway started by root becomes: `wanted`, or the first there is of some. The entry is
// getpwnam's, valid until its next call. Error: kInvalidArgument.
Result<const passwd*> GatewayUser(const std::string& wanted);

// Where a gateway of this configuration keeps its files.
std::string StateDirectory(const Configuration& configuration);
// Its inventory; "" if it keeps none.
std::string InventoryFile(const Configuration& configuration);

// Finds programs and directories; makes the state directory and, for a new store, missing data directories.
// When started by root, gives them to the chosen user and becomes that user for good. Errors: kNotFound (no
// plug-in, no xrootd), kInvalidArgument, kPermissionDenied, kConflict (another gateway uses the state
// directory).
Result<ServePlan> PrepareServe(const CommandLine& line);

// Whether a store that survives the loss of so many data directories can do without those that are shut.
// Error: kPermissionDenied, which names them.
Status CheckShut(const ServePlan& plan, size_t tolerance);

// Text of the configuration file for xrootd.
std::string XrootdConfiguration(const ServePlan& plan);

// Writes it; removes what a killed gateway left. Errors of the file system.
Status WriteServeFiles(const ServePlan& plan);

}  // namespace xec

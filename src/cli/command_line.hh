// SPDX-License-Identifier: LGPL-3.0-or-later
// What the user typed, as plain values. The only file that knows CLI11 is command_line.cc.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "assembly/configuration/configuration.hh"
#include "cli/site_files.hh"

namespace xec {

struct CommandLine {
  std::string command;               // "" when help or the version was printed
  std::vector<std::string> operands;
  Configuration configuration;
  std::string configuration_file;  // of -c; "" = none
  bool json = false;
  bool quiet = false;
  bool long_form = false;    // ls -l
  bool recursive = false;    // ls -R, rm -r
  bool parents = false;      // mkdir -p
  bool all = false;          // repair --all
  bool lost = false;         // repair --lost
  bool deep = false;         // health --deep
  bool servers_only = false;       // health --servers
  bool last = false;         // health --last, or what --watch means
  bool watch = false;        // health --watch
  std::vector<std::string> gone;   // repair --gone: members, by id or address
  std::string with;                // server replace --with
  std::string host;                // server label --host, server add --host
  std::chrono::seconds maintenance_time = std::chrono::hours(1);  // server maintenance --for
  bool force = false;              // server maintenance --force
  std::optional<std::chrono::seconds> by;  // server drain --by
  uint64_t bytes_due = 0;          // ... of archives that are written by then
  double within = 0;               // balance --within: 0.05 are 5 points
  bool dry_run = false;            // --dry-run: tell what would be done
  std::vector<std::string> lost_servers;  // lost --server: members, by id or address
  std::string disk;          // lost --disk
  std::string name_space;    // lost --namespace
  bool walk = false;         // lost --walk
  bool names_only = false;   // lost --names-only
  bool exclusive = false;    // put --exclusive
  // plan --servers, --hosts, --capacity
  std::optional<uint64_t> planned_servers, planned_hosts, capacity_bytes;
  SiteOptions site;          // of config
  bool srr = false;          // space --srr
  std::vector<std::string> endpoints, vos;  // space --endpoint, --vo
  bool foreground = false;   // mount -f
  std::vector<std::string> mount_options;  // mount -o
  std::string log_file;      // mount --log
  std::string output;        // recover -o
  std::string object;        // recover --object
  std::vector<std::string> names;  // recover --name: XrdEc archives to look for; space --name
  std::optional<uint64_t> size;    // recover --size
};

// Parses; prints help or version itself (to standard output), then `command` is empty. Error:
// kInvalidArgument with a message that needs no further explanation.
Result<CommandLine> ParseCommandLine(int argc, char** argv);

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// Configuration: everything a user can set, from the `xec.` directives of an xrootd configuration file and
// from flags of the program `xec`. Both are rows of one table (options.hh), which docs/configuration.md
// repeats. Plain values.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/engine_options.hh"
#include "api/space_group.hh"
#include "codec/object_digests.hh"
#include "placement/store_descriptor.hh"

namespace xec {

// A data server as the user names it.
struct Site {
  std::string address;  // a directory, or root://HOST:PORT
  std::string host;     // label of what fails together; "" = the address itself
  bool operator==(const Site&) const = default;
};

// A path rule as given: the chunk size is the store's where it is absent.
struct GeometryRule {
  std::string prefix;
  Geometry chunks;  // k and m
  std::optional<uint64_t> chunk_size_bytes;
};

struct ChecksumRule {
  std::string prefix;
  DigestOptions digests;
};

inline constexpr std::string_view kNoFile = "off";

struct Configuration {
  // The store. What is absent here comes from the descriptor of a store that exists, or is the default.
  std::vector<Site> data;     // directories
  std::vector<Site> servers;  // root://HOST:PORT
  std::string origin;         // redirector by which servers are discovered, root://HOST:PORT
  std::optional<Geometry> chunks;  // k and m of it
  std::optional<uint64_t> chunk_size_bytes;
  std::optional<Layout> layout;
  std::optional<SyncPolicy> sync;
  std::vector<GeometryRule> rules;
  std::vector<ChecksumRule> checksums;
  std::vector<SpaceGroup> groups;
  std::optional<uint32_t> redundancy_min;  // parity archives that close insists on; 1 when absent

  // The engine's bounds; memory_bytes is the process's budget.
  EngineOptions engine;

  // The gateway (`xec serve`).
  uint16_t port = 1094;
  std::optional<uint16_t> http_port;
  std::string state_directory;  // "" = chosen by serve
  std::string export_path = "/";
  std::string banned;           // the file that names clients which may do nothing; "" = none
  std::string user;             // that a gateway started by root becomes; "" = chosen by serve
  std::string xrootd;           // the program; "" = chosen by serve
  std::string scratch;  // where changes of open objects lie; "" = chosen by serve, else ScratchDirectory
  uint64_t scratch_bytes = uint64_t{10} << 30;  // of them, at most
  Duration clean_interval = std::chrono::seconds(60);
  uint64_t clean_rate = 0;  // names a second; 0: no limit
  Duration rebuild_after = std::chrono::hours(1);  // 0: never
  std::string audit;  // file; "" = chosen by serve, and none without; kNoFile = none
  std::string inventory;  // file; "" = chosen by serve, and none without; kNoFile = none
  Duration inventory_interval = std::chrono::hours(1);
  uint64_t inventory_rate = 20;  // objects a second; 0: no limit

  // Name of every option given -> where, for messages ("line 3", "--geometry").
  std::map<std::string, std::string, std::less<>> given;

  // k, m and chunk size of objects that no rule covers: as given, over `base` (a descriptor's, or the
  // default).
  Geometry GeometryOver(const Geometry& base) const;
  // The rules with chunk sizes, defaulting to that of `base`.
  std::vector<PathRule> RulesOver(const Geometry& base) const;
  // Checksums beyond adler32 and crc32c that an object at `path` gets; the longest prefix wins.
  DigestOptions DigestsFor(std::string_view path) const;
  // The directory of `scratch`, or one of this user's below that for temporary files.
  std::string ScratchDirectory() const;
  // For WriteOptions::archives_min.
  size_t ArchivesMin(const Geometry& geometry) const;
};

// What can be judged without looking at a server, a stripe against the memory budget for one. One sentence
// each; kInvalidArgument.
Status ValidateConfiguration(const Configuration& configuration);

// Are enough data servers listed for a new store? One that exists may have more. kInvalidArgument.
Status CheckListed(const Configuration& configuration);

// Can a stripe of this geometry be written and read within the budget? kInvalidArgument with the numbers.
Status CheckBudget(const Geometry& geometry, uint64_t memory_bytes);

// True if `path` is `prefix` or below it; both without trailing slash unless "/".
bool IsAtOrBelow(std::string_view path, std::string_view prefix);

}  // namespace xec

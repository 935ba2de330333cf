// SPDX-License-Identifier: LGPL-3.0-or-later
// What a store tells of its names.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "codec/geometry.hh"
#include "protocol/settings.hh"
#include "protocol/version.hh"

namespace xec {

struct ObjectInfo {
  bool directory = false;
  uint64_t size = 0;
  int64_t mtime_ms = 0;  // since 1970; as a client has set it (`settings`), else as it was made
  Version version;       // of a directory: as it was made
  Settings settings = {};  // as clients have set them; nobody is held to a mode
  std::string etag = {};  // that the version was given when it was made; "" if none
  // False: mode and time may have been changed since the version was made, but that cannot be read now.
  bool settings_known = true;
};

// All that is known of one version of an object, or of a directory, which has no more than info and
// attributes.
struct ObjectDescription {
  ObjectInfo info;
  // Algorithm -> lower-case hex: those it was written with, and those computed since (KeepChecksum).
  std::map<std::string, std::string> checksums;
  std::map<std::string, std::string> attributes;  // of users
  Geometry geometry;
  std::string object_id;
  std::vector<std::string> servers;  // id by lane as it was written; "" where none took the archive
  std::vector<uint32_t> debts;       // lanes that lack an archive since then
};

struct ListedName {
  std::string name;  // last component
  bool directory = false;
  uint64_t size = 0;
  int64_t mtime_ms = 0;
  Version version = {};
  Settings settings = {};
  // False: mode and time may have been changed since the version was made, which Stat tells.
  bool settings_known = false;
};

struct ListOptions {
  static constexpr size_t kNamesMax = 10'000;

  std::string after = {};   // only names above this one, in the order of bytes
  std::string prefix = {};  // only names that begin with it
  size_t limit = 1000;      // at most so many; 1 to kNamesMax
  bool with_info = true;    // else size and time may be 0; layout xrdec is faster without
};

struct NamesPage {
  std::vector<ListedName> names;  // in the order of bytes
  bool more = false;  // there may be others above the last of these; never where there is none
};

struct StoreSpace {
  uint64_t raw_total_bytes = 0, raw_free_bytes = 0;        // of all servers heard
  uint64_t usable_total_bytes = 0, usable_free_bytes = 0;  // times k/(k+m) of the store's geometry
  size_t servers_heard = 0;
};

}  // namespace xec

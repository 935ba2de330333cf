// SPDX-License-Identifier: LGPL-3.0-or-later
// What a store can do as its data servers are, and what it could still do if one more of them were lost.
// Pure.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "api/census.hh"
#include "assembly/configuration/configuration.hh"
#include "placement/store_descriptor.hh"

namespace xec {

struct ServersAsTheyAre {
  std::set<MemberIndex> silent;
  std::set<MemberIndex> unwritable;  // that answer, and take no writes
};

struct Outlook {
  // That is lost besides; nullopt: none is.
  std::optional<MemberIndex> server;
  bool decidable = false;  // every name
  enum Puts {
    kInFull,  // of any object, with its full redundancy
    kThin,    // of any object
    kNotAll,  // not of every name
    kNone,    // of some geometry none
  } puts = kNone;
  // Objects that can be read as it is, and not any more then; nullopt without a census.
  std::optional<Census::Count> unreadable;

  bool operator==(const Outlook&) const = default;
};

// As it is, then without each of the servers that answer and hold something. `census`: null = unknown.
// For all geometries of the store.
std::vector<Outlook> LookAhead(const StoreDescriptor& store, const Configuration& configuration,
                               const ServersAsTheyAre& servers, const Census* census);

const char* PutsWords(Outlook::Puts puts);

}  // namespace xec

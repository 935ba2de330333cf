// SPDX-License-Identifier: LGPL-3.0-or-later
// Seals whose servers were given up while their uploads went on elsewhere.
#pragma once

#include "commit/engine/access.hh"

namespace xec {

// An object's version under the name that it has there.
struct VersionAt {
  ObjectPath path;
  Accepted version;
};

// Before a seal of the accepted version `goal` takes its place: its writer may have given this server up, and
// counted others. Such a seal has no end, or its lane is on the server that an accepted archive names, which
// is not older than the seal, and that server shows it. It is removed. Only kNo: it may be promoted. `moved`:
// where a rename has brought the other archives, or will.
enum class GivenUp {
  kNo,
  kRemoved,
  kUnclear,  // it cannot be read well now
};
Task<GivenUp> RemoveIfGivenUp(Engine& engine, ObjectPath path, MemberIndex member, std::string entry,
                              Accepted goal, std::optional<VersionAt> moved = std::nullopt);

}  // namespace xec

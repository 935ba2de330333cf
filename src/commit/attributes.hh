// SPDX-License-Identifier: LGPL-3.0-or-later
// User attributes set after a version was written: files `a.<v>.<r>` in the object directory, r being the
// revision. The highest revision on a quorum of homes counts; without any, the attributes in the manifest do.
#pragma once

#include <map>

#include "commit/access.hh"
#include "commit/names.hh"

namespace xec {

using UserAttributes = std::map<std::string, std::string>;

// The latest revision for this version, or nullopt if none was ever set. Errors: kNoQuorum, kCorruption.
struct AttributeRevision {
  Version revision;
  UserAttributes attributes;
};
Task<Result<std::optional<AttributeRevision>>> ReadAttributes(Engine& engine, NameInfo info);

// Replaces the attributes of the version as a new revision above `previous`. Errors: kNoQuorum, kUnknown.
Task<Status> WriteAttributes(Engine& engine, NameInfo info, std::optional<Version> previous,
                             UserAttributes attributes);

// Gives version `to_version` of another name, which is not visible yet, the attributes of a version that is
// to be moved there: on a quorum of homes. Errors: kNoQuorum, kUnknown.
Task<Status> CopyAttributes(Engine& engine, ObjectPath to, Version to_version, AttributeRevision revision);

std::string FormatAttributes(const UserAttributes& attributes);
Result<UserAttributes> ParseAttributes(std::string_view text);

}  // namespace xec

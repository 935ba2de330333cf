// SPDX-License-Identifier: LGPL-3.0-or-later
// Layout xrdec: where an archive lies on its server while it is not at the object's plain name. Pure.
//
//   /.xec/staged/<oid>            complete, the object being created
//   /.xec/staged/<oid>.<seconds>  taken from its name by a rename that began at that time (since 1970)
//   /.xec/staged/<id>.aside.<version>.<name>   taken from its name by a removal up to that version
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hh"

namespace xec {

class ObjectPath;

inline constexpr std::string_view kStagedDirectory = "/.xec/staged";

// An archive that was taken aside to look at it: it is removed, or put back if its version is newer.
struct TakenAside {
  int64_t up_to_s = 0;
  std::string path;  // the name; empty: too long to be told
  bool operator==(const TakenAside&) const = default;
};

struct StagedName {
  std::string oid;  // of what was taken aside: just a unique word
  std::optional<int64_t> moving_since_s;  // of a rename
  std::optional<TakenAside> aside = {};

  // The path on the server.
  std::string Path() const;
  // Of an entry of kStagedDirectory; nullopt for what is no archive of ours.
  static std::optional<StagedName> Parse(std::string_view entry);
  bool operator==(const StagedName&) const = default;
};

// kInvalidArgument for names that cannot lie on a vanilla server as they are: with control characters, or
// with a '?', after which servers read options.
Status CheckPlainName(const ObjectPath& path);

}  // namespace xec

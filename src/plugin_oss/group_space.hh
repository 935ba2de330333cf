// SPDX-License-Identifier: LGPL-3.0-or-later
// The space of a group, as XRootD's clients are told of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "api/object_info.hh"
#include "api/space_group.hh"

namespace xec {

struct GroupSpace {
  std::string name = "public";
  uint64_t total_bytes = 0;   // the quota, or what the store has
  uint64_t free_bytes = 0;    // what is left of the quota, and at most what the store has left
  uint64_t used_bytes = 0;    // without a count yet, what is not free
  long long quota_bytes = -1;  // none
};

// `of` null: it is not known.
GroupSpace SpaceOf(const StoreSpace& store, const std::optional<GroupUse>& of);

}  // namespace xec

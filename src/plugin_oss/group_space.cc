// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/group_space.hh"

#include <algorithm>

namespace xec {

GroupSpace SpaceOf(const StoreSpace& store, const std::optional<GroupUse>& of) {
  GroupSpace space{.total_bytes = store.usable_total_bytes, .free_bytes = store.usable_free_bytes};
  space.used_bytes = space.total_bytes - std::min(space.total_bytes, space.free_bytes);
  if (!of) return space;
  space.name = of->group.name;
  if (of->used) space.used_bytes = static_cast<uint64_t>(of->used->bytes);
  if (!of->group.quota_bytes) return space;
  const uint64_t quota = *of->group.quota_bytes;
  const uint64_t used = of->used ? space.used_bytes : 0;
  space.total_bytes = quota;
  space.free_bytes = std::min(space.free_bytes, quota - std::min(quota, used));
  space.quota_bytes = static_cast<long long>(quota);
  return space;
}

}  // namespace xec

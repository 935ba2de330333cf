// SPDX-License-Identifier: LGPL-3.0-or-later
#include "store/space.hh"

#include <set>

#include "commit/engine/look_at_space.hh"

namespace xec {

Task<Result<StoreSpace>> SumSpace(Engine& engine) {
  StoreSpace sum;
  std::set<std::string> counted;
  const std::map<MemberIndex, xec::Space> heard = co_await AskSpace(engine);
  sum.servers_heard = heard.size();
  for (const auto& [member, space] : heard) {
    if (!space.filesystem.empty() && !counted.insert(space.filesystem).second) continue;
    sum.raw_total_bytes += space.total_bytes;
    sum.raw_free_bytes += space.free_bytes;
  }
  if (sum.servers_heard == 0) co_return Fail(Code::kNoQuorum, "no data server answers; retry");
  const Geometry& geometry = engine.descriptor().geometry;
  // Divided first: the product of a large store's bytes and k would not fit.
  sum.usable_total_bytes = sum.raw_total_bytes / geometry.Total() * geometry.data_chunks;
  sum.usable_free_bytes = sum.raw_free_bytes / geometry.Total() * geometry.data_chunks;
  co_return sum;
}

}  // namespace xec

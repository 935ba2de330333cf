// SPDX-License-Identifier: LGPL-3.0-or-later
#include "store/space.hh"

#include <set>

#include "commit/engine/server_gather.hh"

namespace xec {

Task<std::map<MemberIndex, Space>> AskSpace(Engine& engine) {
  std::map<MemberIndex, Space> heard;
  ServerGather<Result<xec::Space>> gather(engine);
  for (const MemberIndex member : engine.AllByHealth())
    gather.Start(member, GetSpace(engine.MetadataCall(), engine.server(member)));
  while (gather.pending() > 0 && (heard.empty() || gather.timely() > 0)) {
    const auto event = co_await gather.Next();
    if (event.value && *event.value) heard.emplace(event.member, std::move(**event.value));
  }
  co_return std::move(heard);
}

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

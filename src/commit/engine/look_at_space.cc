// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/engine/look_at_space.hh"

#include "commit/engine/server_gather.hh"

namespace xec {

Task<std::map<MemberIndex, Space>> AskSpace(Engine& engine) {
  std::map<MemberIndex, Space> heard;
  ServerGather<Result<Space>> gather(engine);
  for (const MemberIndex member : engine.AllByHealth())
    gather.Start(member, GetSpace(engine.MetadataCall(), engine.server(member)));
  while (gather.pending() > 0 && (heard.empty() || gather.timely() > 0)) {
    const auto event = co_await gather.Next();
    if (event.value && *event.value) heard.emplace(event.member, std::move(**event.value));
  }
  co_return std::move(heard);
}

Task<void> LookAtSpace(Engine& engine) {
  const std::map<MemberIndex, Space> heard = co_await AskSpace(engine);
  std::map<std::string, Space> by_id;
  for (const auto& [member, space] : heard) by_id.emplace(engine.server_id(member), space);
  engine.space().Note(std::move(by_id), engine.executor().Now());
}

}  // namespace xec

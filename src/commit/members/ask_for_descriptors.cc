// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/members/ask_for_descriptors.hh"

#include "commit/engine/server_gather.hh"
#include "commit/members/descriptor_copies.hh"
#include "commit/members/spread_list.hh"

namespace xec {

Task<std::vector<Result<StoreDescriptor>>> AskForDescriptors(Engine& engine, size_t needed) {
  ServerGather<Result<std::string>> gather(engine);
  for (const MemberIndex member : engine.AllByHealth()) {
    gather.Start(member, ReadNewestDescriptor(engine.MetadataCall(), engine.server(member)));
  }
  std::vector<Result<StoreDescriptor>> shown;
  while (gather.pending() > 0 && (shown.size() < needed || gather.timely() > 0)) {
    auto event = co_await gather.Next();
    if (!event.value || !*event.value) continue;
    Result<StoreDescriptor> read = ParseDescriptor(**event.value);
    if (engine.member_list().Says(read) != DescriptorSays::kNothing) shown.push_back(std::move(read));
  }
  co_return std::move(shown);
}

Task<MemberList::Round> HearOfList(Engine& engine, size_t needed, TimePoint asked) {
  const std::vector<Result<StoreDescriptor>> shown = co_await AskForDescriptors(engine, needed);
  MemberList::Round round = engine.member_list().Heard(asked, shown);
  const bool neither = round.kind == MemberList::Round::kTooFew || round.kind == MemberList::Round::kChanged;
  if (neither && round.next) (void)co_await SpreadList(engine, *round.next);
  co_return std::move(round);
}

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/members/spread_list.hh"

#include "commit/engine/server_gather.hh"
#include "commit/members/descriptor_copies.hh"

namespace xec {
namespace {

// True once the member has this list, or a later one.
Task<bool> BringList(Engine& engine, MemberIndex member, StoreDescriptor list) {
  const Result<std::string> text =
      co_await ReadNewestDescriptor(engine.MetadataCall(), engine.server(member));
  if (!text && text.code() != Code::kNotFound) co_return false;
  if (text) {
    const Result<StoreDescriptor> shown = ParseDescriptor(*text);
    if (shown && shown->store_id == list.store_id && shown->epoch >= list.epoch) co_return true;
  }
  const Status written = co_await WriteDescriptor(engine.MetadataCall(), engine.server(member),
                                                  std::move(list), engine.NewNonce());
  co_return written.has_value();
}

}  // namespace

Task<bool> SpreadList(Engine& engine, StoreDescriptor list) {
  ServerGather<bool> gather(engine, RequestKind::kSync);
  for (const MemberIndex member : engine.AllByHealth()) gather.Start(member, BringList(engine, member, list));
  const size_t needed = engine.server_count() - engine.LateHomesMax();
  size_t have = 0;
  while (gather.pending() > 0 && (have < needed || gather.timely() > 0)) {
    const auto event = co_await gather.Next();
    if (event.value && *event.value) ++have;
  }
  co_return have >= needed;
}

}  // namespace xec

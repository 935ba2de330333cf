// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/write/upload_room.hh"

#include "commit/engine/pause.hh"

namespace xec {
namespace {

// While nothing is known this is looked at so often.
constexpr Duration kLookAgain = std::chrono::milliseconds(2);
constexpr size_t kServersTold = 4;

}  // namespace

Task<Status> NeedRoom(Engine& engine, Geometry geometry, size_t archives_min) {
  while (engine.space().IsAwaited(engine.executor().Now())) co_await Pause(engine, kLookAgain);
  const KnownSpace::Room room = engine.Room();
  if (room.full_count == 0) co_return OkStatus();
  const std::vector<Member>& members = engine.descriptor().members;
  size_t with_room = 0, told = 0;
  std::string text;
  for (size_t i = 0; i < members.size(); ++i) {
    if (IsBeingEmptied(members[i].role)) continue;
    if (!room.IsFull(static_cast<MemberIndex>(i))) {
      ++with_room;
    } else if (++told <= kServersTold) {
      text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", members[i].id,
                          engine.space().WhyFull(members[i].id));
    }
  }
  const size_t needed = archives_min == 0 ? geometry.Total() : archives_min;
  if (with_room >= needed) co_return OkStatus();
  if (told > kServersTold) text += fmt::format("; {} more", told - kServersTold);
  co_return Fail(Code::kNoSpace,
                 "the store is nearly full: only {} data servers have more than their reserve free, and an "
                 "upload needs {} ({}); remove objects or add data servers",
                 with_room, needed, text);
}

}  // namespace xec

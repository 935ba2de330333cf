// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/write/upload_room.hh"

#include "commit/engine/look_at_space.hh"
#include "commit/engine/pause.hh"

namespace xec {
namespace {

// While nothing is known this is looked at so often.
constexpr Duration kLookAgain = std::chrono::milliseconds(2);
constexpr size_t kServersTold = 4;

Status HasRoom(Engine& engine, const Geometry& geometry, size_t archives_min) {
  const KnownSpace::Room room = engine.Room();
  if (room.full_count == 0) return OkStatus();
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
  if (with_room >= needed) return OkStatus();
  if (told > kServersTold) text += fmt::format("; {} more", told - kServersTold);
  return Fail(Code::kNoSpace,
              "the store is nearly full: only {} data servers have more than their reserve free, and an "
              "upload needs {} ({}); remove objects or add data servers",
              with_room, needed, text);
}

}  // namespace

Task<Status> NeedRoom(Engine& engine, Geometry geometry, size_t archives_min) {
  while (engine.space().IsAwaited(engine.executor().Now())) co_await Pause(engine, kLookAgain);
  const Status room = HasRoom(engine, geometry, archives_min);
  if (room) co_return OkStatus();
  // What is known may be a minute old, and somebody has made room since.
  co_await LookAtSpace(engine);
  co_return HasRoom(engine, geometry, archives_min);
}

}  // namespace xec

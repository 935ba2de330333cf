// SPDX-License-Identifier: LGPL-3.0-or-later
#include "xrdec/publish.hh"

#include "base/failpoint.hh"
#include "base/log.hh"
#include "commit/engine/server_gather.hh"

namespace xec {
namespace {

// Is the archive of a version up to `up_to_s`? nullopt: nobody can tell.
Task<std::optional<bool>> IsUpTo(Engine& engine, MemberIndex member, std::string file, int64_t up_to_s) {
  Result<Attributes> got =
      co_await GetAttributes(engine.MetadataCall(), engine.server(member), std::move(file), "xrdec.");
  if (!got) co_return std::nullopt;
  const std::map<std::string, std::string> attributes(got->begin(), got->end());
  const Result<XrdecAttributes> parsed = XrdecAttributes::Parse(attributes);
  if (!parsed) co_return false;
  co_return parsed->version <= static_cast<uint64_t>(up_to_s);
}

Task<bool> RemoveArchive(Engine& engine, MemberIndex member, ObjectPath path, int64_t up_to_s) {
  if (up_to_s < 0) co_return false;
  const TimePoint start = engine.executor().Now();
  const DataServerPtr server = engine.server(member);
  const TakenAside taken_aside{up_to_s, path.text()};
  const std::string aside =
      StagedName{.oid = engine.NewObjectId(), .moving_since_s = {}, .aside = taken_aside}.Path();
  XEC_FAILPOINT("xrdec.take_aside");
  const Status taken = co_await Rename(engine.MetadataCall(), server, path.PlainPath(), aside);
  XEC_FAILPOINT("xrdec.aside");
  if (!taken) co_return taken.code() == Code::kNotFound;
  std::optional<bool> old = co_await IsUpTo(engine, member, aside, up_to_s);
  // An object may have been renamed to this name since, whose archives show an older version: only the
  // register tells them from those to be removed, and the cleaner asks it.
  if (engine.executor().Now() - start > engine.options().operation_limit) co_return false;
  if (old && *old) {
    const Status removed = co_await Remove(engine.MetadataCall(), server, aside);
    XEC_FAILPOINT("xrdec.removed");
    co_return removed || removed.code() == Code::kNotFound;
  }
  const Status back = co_await Rename(engine.MetadataCall(), server, aside, path.PlainPath());
  co_return old&& back;
}

}  // namespace

Task<Status> PublishOn(Engine& engine, MemberIndex member, StagedName staged, ObjectPath path,
                       int64_t version_s) {
  const DataServerPtr server = engine.server(member);
  XEC_FAILPOINT("xrdec.publish");
  Status renamed = co_await Rename(engine.MetadataCall(), server, staged.Path(), path.PlainPath());
  XEC_FAILPOINT("xrdec.published");
  if (!renamed && renamed.code() == Code::kAlreadyExists) {
    const bool removed = co_await RemoveArchive(engine, member, path, version_s - 1);
    if (removed) renamed = co_await Rename(engine.MetadataCall(), server, staged.Path(), path.PlainPath());
  }
  co_return std::move(renamed);
}

Task<size_t> PublishAll(Engine& engine, std::vector<MemberIndex> members, StagedName staged, ObjectPath path,
                        int64_t version_s) {
  ServerGather<Status> gather(engine, RequestKind::kSync);
  for (const MemberIndex member : members)
    gather.Start(member, PublishOn(engine, member, staged, path, version_s));
  size_t published = 0;
  while (gather.timely() > 0) {
    auto event = co_await gather.Next();
    if (!event.value) continue;
    if (*event.value) {
      ++published;
      continue;
    }
    Log(LogLevel::kWarning, "xrdec", "the archive of {} on {} stays in {} until the cleaner moves it: {}",
        path.text(), engine.server_id(event.member), staged.Path(), event.value->error().message);
  }
  co_return published;
}

Task<Status> Withdraw(Engine& engine, std::vector<MemberIndex> members, ObjectPath path, StagedName staged) {
  XEC_FAILPOINT("xrdec.withdraw");
  Gather<Status> gather(engine.scope(), engine.executor());
  for (const MemberIndex member : members) {
    gather.Start(member,
                 Rename(engine.MetadataCall(), engine.server(member), path.PlainPath(), staged.Path()));
  }
  Status all;
  while (gather.pending() > 0) {
    Gather<Status>::Event event = co_await gather.Next();
    XEC_FAILPOINT("xrdec.withdrawn");
    if (!*event.value && all) all = std::move(*event.value);
  }
  co_return std::move(all);
}

Task<size_t> RemoveArchives(Engine& engine, std::vector<MemberIndex> members, ObjectPath path,
                            int64_t up_to_s) {
  ServerGather<bool> gather(engine, RequestKind::kSync);
  for (const MemberIndex member : members) gather.Start(member, RemoveArchive(engine, member, path, up_to_s));
  size_t gone = 0;
  while (gather.timely() > 0) {
    auto event = co_await gather.Next();
    if (event.value && *event.value) ++gone;
  }
  co_return gone;
}

Task<size_t> RemoveStagedOn(Engine& engine, std::vector<MemberIndex> members, StagedName staged) {
  ServerGather<Status> gather(engine);
  for (const MemberIndex member : members)
    gather.Start(member, Remove(engine.MetadataCall(), engine.server(member), staged.Path()));
  size_t gone = 0;
  while (gather.timely() > 0) {
    auto event = co_await gather.Next();
    if (event.value && (*event.value || event.value->code() == Code::kNotFound)) ++gone;
  }
  co_return gone;
}

}  // namespace xec

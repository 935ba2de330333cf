// SPDX-License-Identifier: LGPL-3.0-or-later
#include "xrdec/change.hh"

#include <algorithm>

#include "base/contains.hh"
#include "base/log.hh"
#include "commit/rename/rename.hh"
#include "xrdec/entry.hh"
#include "xrdec/publish.hh"

namespace xec {
namespace {

std::vector<MemberIndex> WithArchive(const XrdecName& name) {
  std::vector<MemberIndex> members;
  for (size_t i = 0; i < name.found.size(); ++i) {
    if (name.found[i].kind == Found::kArchive) members.push_back(static_cast<MemberIndex>(i));
  }
  return members;
}

// An object as it is in the register, taken over if need be.
Task<Result<XrdecName>> LookUpRegistered(Engine& engine, ObjectPath path, XrdecWidth width) {
  Result<XrdecName> name = co_await LookUpXrdecObject(engine, path, width);
  if (!name || name->in_register) co_return std::move(name);
  Result<XrdecName> taken = co_await TakeOver(engine, std::move(*name), width);
  if (taken && !taken->in_register)
    co_return Fail(Code::kConflict, "{} was changed by somebody else meanwhile; retry", path.text());
  co_return std::move(taken);
}

// What is staged of the object, on every server that answers.
Task<void> RemoveStaged(Engine& engine, std::string oid) {
  const StagedArchives staged = co_await ListStaged(engine);
  for (const StagedArchive& archive : staged.archives) {
    if (archive.name.oid != oid) continue;
    std::vector<MemberIndex> one(1, archive.member);
    co_await RemoveStagedOn(engine, std::move(one), archive.name);
  }
}

Task<Status> NeedFreeTarget(Engine& engine, ObjectPath to) {
  const Status plain = CheckPlainName(to);
  if (!plain) co_return plain.error();
  Result<XrdecName> target = co_await LookUpXrdec(engine, to, XrdecWidth::kArchives);
  if (!target) co_return target.error();
  if (target->kind != XrdecName::kNothing)
    co_return Fail(Code::kAlreadyExists, "{} exists, and layout xrdec replaces nothing: remove it first",
                   to.text());
  // They would be taken for archives of the object that comes there.
  const std::vector<MemberIndex> left_over = WithArchive(*target);
  const size_t gone = co_await RemoveArchives(engine, left_over, to, HighestVersion(target->found));
  if (gone < left_over.size())
    co_return Fail(Code::kUnavailable, "left-over archives at {} cannot be removed now; retry", to.text());
  co_return OkStatus();
}

}  // namespace

Task<Result<ObjectGone>> RemoveXrdec(Engine& engine, ObjectPath path) {
  Result<XrdecName> name = co_await LookUpRegistered(engine, path, XrdecWidth::kArchives);
  if (!name) co_return name.error();
  // Archives that turn up later are compared with the time of the removal.
  const Status removed = co_await RemoveObjectUntilNow(engine, path.Registered());
  if (!removed) co_return InUserWords(removed.error());
  std::vector<MemberIndex> members = WithArchive(*name);
  const size_t count = members.size();
  const size_t gone = co_await RemoveArchives(engine, members, path, HighestVersion(name->found));
  if (gone < count) {
    Log(LogLevel::kWarning, "xrdec", "{} archives of {}, which was removed, are left to the cleaner",
        count - gone, path.text());
  }
  const bool staged = std::any_of(name->holders.begin(), name->holders.end(),
                                  [&](MemberIndex holder) { return !Contains(members, holder); });
  if (staged) co_await RemoveStaged(engine, name->registered.accepted.oid);
  co_return ObjectGone{name->version, name->size};
}

Task<Result<Renamed>> RenameXrdec(Engine& engine, ObjectPath from, ObjectPath to) {
  Result<XrdecName> source = co_await LookUpRegistered(engine, from, XrdecWidth::kArchives);
  if (!source) co_return source.error();
  const Renamed renamed{.version = source->version, .size = source->size};
  if (from == to) co_return renamed;
  const bool silent = std::any_of(source->found.begin(), source->found.end(),
                                  [](const Found& found) { return found.kind == Found::kSilent; });
  if (silent) {
    co_return Fail(Code::kUnavailable,
                   "{} cannot be renamed now: in layout xrdec all data servers must answer for that; retry",
                   from.text());
  }
  const Status free = co_await NeedFreeTarget(engine, to);
  if (!free) co_return free.error();

  const std::vector<MemberIndex> members = source->at_name;
  const Accepted& accepted = source->registered.accepted;
  const StagedName staged{accepted.oid, engine.executor().WallNow() / 1000};
  Status done = co_await Withdraw(engine, members, from, staged);
  if (done) done = co_await RenameObject(engine, from.Registered(), to.Registered());
  // Where the outcome is open, the cleaner brings the archives to the name that the register decides on.
  if (done || done.code() != Code::kUnknown) {
    const ObjectPath& place = done ? to : from;
    co_await PublishAll(engine, members, staged, place, XrdecVersionOf(accepted.version));
  }
  if (!done) co_return InUserWords(done.error());
  co_return renamed;
}

}  // namespace xec

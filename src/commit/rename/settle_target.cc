// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/rename/settle_target.hh"

#include <algorithm>
#include <chrono>

#include "base/contains.hh"
#include "commit/engine/folder.hh"
#include "commit/engine/pause.hh"

namespace xec {
namespace {

constexpr int kTriesMax = 8;
constexpr Duration kPauseLongest = std::chrono::milliseconds(200);
constexpr size_t kNamesAtOnceMax = 64;

// The last try only looks.
Task<Status> SettleName(Engine& engine, ObjectPath path) {
  for (int tries = 1;; ++tries) {
    Result<NameInfo> info = co_await LookUp(engine, path);
    if (!info) co_return info.error();
    // The writer of an object has waited for makers of directories.
    const bool object = info->accepted.kind == Accepted::kObject;
    if (object || !DirectoryUnderWay(info->listings, info->accepted)) co_return OkStatus();
    if (tries == kTriesMax) co_return Fail(Code::kConflict, "{} is made by others; retry", path.text());
    const Status made = co_await MakeDirectoryAbove(engine, std::move(*info), tries + 1 == kTriesMax);
    const bool again = made || made.code() == Code::kConflict || made.code() == Code::kAlreadyExists ||
                       made.code() == Code::kNoQuorum;
    if (!again) co_return made.error();
    // Another renamer may be settling it.
    if (!made) co_await RandomPause(engine, kPauseLongest);
  }
}

// Somebody else may be making a directory at the target that has nothing to do with this.
Task<Status> SettleIfGone(Engine& engine, ObjectPath from, ObjectPath to) {
  const Result<NameInfo> source = co_await LookUp(engine, std::move(from));
  if (!source) co_return source.error();
  if (source->accepted.Live()) co_return OkStatus();
  co_return co_await SettleName(engine, std::move(to));
}

// A name that has an object directory both at the source and at the target.
struct AtBoth {
  ObjectPath from;
  ObjectPath to;
  std::vector<MemberIndex> shown_by;  // by these servers at the target
};

std::vector<AtBoth> NamesAtBoth(const FolderUnion& left, const FolderUnion& there, const ObjectPath& to) {
  std::vector<AtBoth> both;
  for (const auto& [source, shown] : left.names) {
    const Result<ObjectPath> target = to.Child(source.Last());
    if (!target) continue;
    const auto found = there.names.find(*target);
    if (found != there.names.end()) both.push_back({source, *target, found->second.members});
  }
  return both;
}

// Does a quorum of homes say what is there, and does none say that a directory is being made?
bool IsSettled(const Look& look) {
  const bool decided = look.Decided() || look.highest().kind != Accepted::kDirectory;
  return look.HasQuorum() && decided && !DirectoryUnderWay(look.listings(), look.highest());
}

Task<Status> SettleMany(Engine& engine, std::vector<AtBoth> names, std::set<MemberIndex> told) {
  NamesByServer wanted;
  for (const AtBoth& name : names) {
    for (const MemberIndex member : name.shown_by) wanted[member].push_back(name.to);
  }
  StatesByName heard = co_await ListManyStates(engine, std::move(wanted));
  for (const AtBoth& name : names) {
    Look look(engine.Homes(name.to));
    for (const MemberIndex home : look.homes()) {
      const auto found = heard[name.to].find(home);
      const bool nothing = told.contains(home) && !Contains(name.shown_by, home);
      if (found != heard[name.to].end()) look.Heard(home, std::move(found->second).value_or(States{}));
      if (nothing) look.Heard(home, States{});
    }
    if (IsSettled(look)) continue;
    const Status settled = co_await SettleIfGone(engine, name.from, name.to);
    if (!settled) co_return settled.error();
  }
  co_return OkStatus();
}

// Whatever was moved has left its object directory at both names.
Task<Status> SettleMovedByOthers(Engine& engine, ObjectPath from, ObjectPath to, std::set<std::string> own) {
  FolderUnion left = co_await ListFolder(engine, from);
  std::erase_if(left.names, [&](const auto& name) { return own.contains(std::string(name.first.Last())); });
  FolderUnion there;
  there.heard = left.heard;
  if (!left.names.empty()) there = co_await ListFolder(engine, to);
  const size_t heard = std::min(left.heard.size(), there.heard.size());
  if (engine.server_count() - heard > engine.SilentServersMax())
    co_return Fail(Code::kNoQuorum, "too few data servers list {} and {}; retry", from.text(), to.text());
  const std::vector<AtBoth> both = NamesAtBoth(left, there, to);
  for (auto next = both.begin(); next != both.end();) {
    const auto end = next + std::min<std::ptrdiff_t>(kNamesAtOnceMax, both.end() - next);
    std::vector<AtBoth> some(next, end);
    const Status settled = co_await SettleMany(engine, std::move(some), there.heard);
    if (!settled) co_return settled.error();
    next = end;
  }
  for (const AtBoth& name : both) {
    if (!TakeFolderOf(name.from, left)) continue;
    std::set<std::string> none;
    const Status settled = co_await SettleMovedByOthers(engine, name.from, name.to, std::move(none));
    if (!settled) co_return settled.error();
  }
  co_return OkStatus();
}

}  // namespace

Task<Status> SettleTarget(Engine& engine, ObjectPath from, ObjectPath to, std::set<std::string> own) {
  const Status settled = co_await SettleName(engine, to);
  if (!settled) co_return settled.error();
  co_return co_await SettleMovedByOthers(engine, std::move(from), std::move(to), std::move(own));
}

}  // namespace xec

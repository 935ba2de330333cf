// SPDX-License-Identifier: LGPL-3.0-or-later
// The making of a new store, so that a crash at any moment can be made good and two creators do not mix.
//
// All creators go through the servers in the same order, of addresses; identity files are created
// exclusively, so the first server decides between two that start together. What an earlier attempt left is
// removed first; the caller has made sure that it is not at work any more, and each server is looked at once
// more, since another creator may have gone on from there while this one slept. Only when all identities are
// ours the descriptors are written: so a descriptor proves that every identity had been written.
#include <algorithm>

#include "assembly/sites/sites.hh"

namespace xec {
namespace {

// A creator whose look at the servers began longer ago removes nothing and writes no descriptor: others may
// have begun anew meanwhile. Below the time for which OpenStore watches an unfinished creation.
constexpr Duration kCreationLimit = std::chrono::seconds(4);
constexpr Duration kRequestTimeout = std::chrono::seconds(10);
constexpr size_t kIdentityFileMax = 4096;

Error BeingMade(const SiteView& view) {
  return Fail(Code::kConflict, "somebody else is making a store on {} right now", view.site.address);
}

Status CheckTime(Executor& executor, TimePoint asked) {
  if (executor.Now() - asked <= kCreationLimit) return OkStatus();
  return Fail(Code::kUnavailable, "making the store took too long: it will be tried again");
}

// Removes what an unfinished creation left, if it is still what the view shows.
Task<Status> RemoveUnfinished(CallContext call, SiteView view) {
  const SiteView now = co_await InspectSite(call, view);
  if (now.state == SiteView::kMissing || now.state == SiteView::kClosed || now.state == SiteView::kRefused)
    co_return *now.problem;
  const bool same =
      now.damaged_descriptor == view.damaged_descriptor && SameIdentity(now.identity, view.identity);
  if (now.descriptor || !same) co_return BeingMade(view);
  if (view.damaged_descriptor) {
    const Status removed = co_await Remove(call, view.server, std::string(kDescriptorPath));
    if (!removed && removed.code() != Code::kNotFound) co_return removed.error();
  }
  const Status removed = co_await Remove(call, view.server, std::string(kIdentityPath));
  if (!removed && removed.code() != Code::kNotFound) co_return removed.error();
  co_return OkStatus();
}

// The first step on one server.
Task<Status> WriteIdentity(Executor& executor, TimePoint asked, SiteView view, std::string identity) {
  const auto call = [&] { return CallContext{&executor, executor.Now() + kRequestTimeout}; };
  if (view.state == SiteView::kMember || view.state == SiteView::kUnreadable) {
    const Status timely = CheckTime(executor, asked);
    if (!timely) co_return timely.error();
    const Status removed = co_await RemoveUnfinished(call(), view);
    if (!removed) co_return removed.error();
  }
  const Status written = co_await CreateFile(call(), view.server, std::string(kIdentityPath), identity, true);
  if (!written && written.code() == Code::kAlreadyExists) co_return BeingMade(view);
  if (!written)
    co_return Fail(written.code(), "no store can be made on {}: {}", view.site.address,
                   written.error().message);
  co_return OkStatus();
}

// Which of the servers that this creator has written to the view is, under another name: it shows what was
// written there.
Task<std::optional<size_t>> FindSame(CallContext call, SiteView view, StoreDescriptor descriptor,
                                     std::vector<size_t> written) {
  const auto read = co_await ReadFile(call, view.server, std::string(kIdentityPath), kIdentityFileMax);
  const Result<Identity> shown = read ? ParseIdentity(*read) : Result<Identity>(read.error());
  if (!shown || shown->store_id != descriptor.store_id) co_return std::nullopt;
  for (const size_t i : written) {
    if (shown->member_id == descriptor.members[i].id) co_return i;
  }
  co_return std::nullopt;
}

}  // namespace

Task<Status> CreateStoreOn(Executor& executor, std::vector<SiteView> views, StoreDescriptor descriptor,
                           TimePoint asked) {
  const auto call = [&] { return CallContext{&executor, executor.Now() + kRequestTimeout}; };
  std::vector<size_t> order(views.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return views[a].site.address < views[b].site.address; });
  const auto identity = [&](size_t i) {
    return FormatIdentity(descriptor.store_id, descriptor.members[i].id);
  };

  std::vector<size_t> done;
  for (const size_t i : order) {
    const Status made = co_await WriteIdentity(executor, asked, views[i], identity(i));
    if (made) {
      done.push_back(i);
      continue;
    }
    if (made.code() != Code::kConflict) co_return made.error();
    const std::optional<size_t> same = co_await FindSame(call(), views[i], descriptor, done);
    if (!same) co_return made.error();
    // So that a corrected list can be used at once.
    for (const size_t k : done) {
      if (!CheckTime(executor, asked)) break;
      (void)co_await Remove(call(), views[k].server, std::string(kIdentityPath));
      (void)co_await RemoveDirectory(call(), views[k].server, std::string(kReservedDirectory));
    }
    co_return SameSite(views[*same], views[i]);
  }
  for (const size_t i : order) {
    const auto read =
        co_await ReadFile(call(), views[i].server, std::string(kIdentityPath), kIdentityFileMax);
    if (!read) co_return read.error();
    if (*read != identity(i)) co_return BeingMade(views[i]);
  }
  for (const size_t i : order) {
    const Status timely = CheckTime(executor, asked);
    if (!timely) co_return timely.error();
    const Status written = co_await CreateFile(call(), views[i].server, std::string(kDescriptorPath),
                                               FormatDescriptor(descriptor), true);
    if (!written && written.code() == Code::kAlreadyExists) co_return BeingMade(views[i]);
    if (!written)
      co_return Fail(written.code(), "no store can be made on {}: {}", views[i].site.address,
                     written.error().message);
  }
  co_return OkStatus();
}

}  // namespace xec

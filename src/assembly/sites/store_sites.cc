// SPDX-License-Identifier: LGPL-3.0-or-later
#include "assembly/sites/store_sites.hh"

#include <set>

#include "assembly/servers/server_kinds.hh"
#include "assembly/sites/site_server.hh"

namespace xec {
namespace {

// How many descriptors, each newer than the one before, lead from the servers listed to all members.
constexpr int kUnlistedRoundsMax = 4;

// A place that only a descriptor names may have become somebody else's since: then the member is away.
void LeaveOutStrangers(std::vector<SiteView>& views, const std::string& store_id) {
  for (SiteView& view : views) {
    view.listed = false;
    const bool newer = view.state == SiteView::kRefused && view.problem->code == Code::kUnsupported;
    const bool ours = view.state == SiteView::kMember && view.identity->store_id == store_id;
    if (ours || newer || view.state == SiteView::kMissing) continue;
    if (view.state == SiteView::kClosed) {
      view.state = SiteView::kMissing;
      continue;
    }
    view.state = SiteView::kMissing;
    view.problem = Fail(Code::kUnavailable, "{} is no data server of this store any more", view.site.address);
    view.descriptor.reset();
  }
}

// The members that the newest descriptor names with an address, and that nobody has shown to be.
struct Unlisted {
  std::vector<Site> sites;
  std::string store_id;
};
Unlisted UnlistedServers(const std::vector<SiteView>& views) {
  const StoreDescriptor* newest = nullptr;
  std::set<std::string_view> known;
  for (const SiteView& view : views) {
    known.insert(view.site.address);
    if (view.identity) known.insert(view.identity->member_id);
    if (view.descriptor && (!newest || view.descriptor->epoch > newest->epoch)) newest = &*view.descriptor;
  }
  if (!newest) return {};
  Unlisted result{{}, newest->store_id};
  for (const Member& member : newest->members) {
    const bool has_address = member.address != kLocalAddress;
    if (has_address && !known.contains(member.id) && !known.contains(member.address))
      result.sites.push_back({member.address, ""});
  }
  return result;
}

}  // namespace

Task<Result<std::vector<Site>>> StoreSites::Listed() {
  if (!configuration_.data.empty()) co_return configuration_.data;
  if (!configuration_.servers.empty()) co_return configuration_.servers;
  if (configuration_.origin.empty()) co_return std::vector<Site>{};
  const ServerKind& kind = KindOf(configuration_.origin);
  const auto found =
      co_await kind.discover(configuration_.origin, executor_, executor_.Now() + kInspectTimeout);
  if (!found) co_return Fail(Code::kNoQuorum, "{}", found.error().message);
  if (found->empty()) co_return Fail(Code::kNoQuorum, "{} knows no data servers yet", configuration_.origin);
  std::vector<Site> sites;
  for (const std::string& address : *found) sites.push_back(Site{address, ""});
  co_return std::move(sites);
}

// `known`: what other servers have shown.
Task<Result<std::vector<SiteView>>> StoreSites::InspectAll(std::vector<Site> sites,
                                                           std::vector<SiteView> known) {
  std::vector<SiteView> asked;
  for (Site& site : sites) {
    SiteView& raw = raw_[site.address];
    if (!raw.server) {
      Result<SiteView> made = MakeSite(std::move(site), executor_, gate_);
      if (!made) co_return made.error();
      raw = std::move(*made);
    }
    asked.push_back(raw);
  }
  const CallContext context{&executor_, executor_.Now() + kInspectTimeout};
  std::function<bool(std::span<const SiteView>)> enough = [this, known](std::span<const SiteView> views) {
    std::vector<SiteView> all = known;
    all.insert(all.end(), views.begin(), views.end());
    return EnoughAnswered(all, configuration_);
  };
  co_return co_await InspectSites(context, scope_, std::move(asked), std::move(enough));
}

Task<Result<std::vector<SiteView>>> StoreSites::Inspect() {
  Result<std::vector<Site>> sites = co_await Listed();
  if (!sites) co_return sites.error();
  Result<std::vector<SiteView>> views = co_await InspectAll(std::move(*sites), {});
  if (!views) co_return views.error();
  // Servers that only the descriptor names: a user need not list them all. They may show a newer one.
  for (int round = 0; round < kUnlistedRoundsMax; ++round) {
    const Unlisted others = UnlistedServers(*views);
    if (others.sites.empty()) break;
    Result<std::vector<SiteView>> more = co_await InspectAll(others.sites, *views);
    if (!more) co_return more.error();
    LeaveOutStrangers(*more, others.store_id);
    for (SiteView& view : *more) views->push_back(std::move(view));
  }
  co_return std::move(views);
}

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "assembly/gone_members.hh"

#include <algorithm>

#include "assembly/sites/site_server.hh"

namespace xec {
namespace {

constexpr Duration kLookTimeout = std::chrono::seconds(5);

// Does the place answer and hold nothing?
bool ShowsNothing(const SiteView& view) {
  if (view.state == SiteView::kEmpty) return true;
  if (view.state != SiteView::kMissing || !view.problem) return false;
  // A directory that is not there, while its disk can be read; a server that answers that its root is not.
  return view.directory ? view.absent : view.problem->code == Code::kNotFound;
}

}  // namespace

Task<std::vector<MemberIndex>> FindGoneMembers(const std::vector<Member>& members,
                                               const Configuration& configuration, Executor& executor,
                                               TaskScope& scope, std::shared_ptr<CompletionGate> gate) {
  std::vector<MemberIndex> gone;
  const bool directories = !configuration.data.empty();
  std::vector<Site> sites = configuration.data;
  for (size_t i = 0; !directories && i < members.size(); ++i) sites.push_back({members[i].address, ""});
  std::vector<SiteView> asked;
  for (Site& site : sites) {
    Result<SiteView> made = MakeSite(std::move(site), executor, gate);
    if (!made) co_return std::move(gone);
    asked.push_back(std::move(*made));
  }
  const CallContext context{&executor, executor.Now() + kLookTimeout};
  std::function<bool(std::span<const SiteView>)> never = [](std::span<const SiteView>) { return false; };
  std::vector<SiteView> views = co_await InspectSites(context, scope, std::move(asked), std::move(never));
  if (!directories) {
    for (size_t i = 0; i < views.size(); ++i) {
      if (ShowsNothing(views[i])) gone.push_back(static_cast<MemberIndex>(i));
    }
    co_return std::move(gone);
  }
  // Only identities tell which directory is whose: there must be an empty or missing one for every member
  // that shows itself nowhere, and nothing else that might be one.
  size_t nothing = 0;
  for (const SiteView& view : views) {
    if (ShowsNothing(view)) ++nothing;
  }
  for (size_t i = 0; i < members.size(); ++i) {
    const bool shown = std::any_of(views.begin(), views.end(), [&](const SiteView& view) {
      return view.state == SiteView::kMember && view.identity->member_id == members[i].id;
    });
    if (!shown) gone.push_back(static_cast<MemberIndex>(i));
  }
  if (nothing < gone.size()) gone.clear();
  co_return std::move(gone);
}

}  // namespace xec

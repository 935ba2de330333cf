// SPDX-License-Identifier: LGPL-3.0-or-later
#include "assembly/member_connections.hh"

#include <algorithm>

#include "assembly/servers/server_kinds.hh"
#include "assembly/sites/site_server.hh"
#include "assembly/sites/store_sites.hh"
#include "base/log.hh"
#include "server/decorators/identity_guard.hh"

namespace xec {
namespace {

// Why a directory may be missing that shows itself nowhere: what those say that are nobody's.
std::string WhyMissing(const Judgement& judgement, const std::vector<SiteView>& views) {
  constexpr size_t kToldMax = 3;
  std::string why;
  for (size_t i = 0; i < judgement.unbound.size(); ++i) {
    if (i == kToldMax) return why + "; ...";
    const SiteView& view = views[judgement.unbound[i]];
    why += fmt::format("{}{}", why.empty() ? "" : "; ",
                       view.problem ? view.problem->message : view.site.address + " is empty");
  }
  return why;
}

}  // namespace

Result<MemberConnections::Connection> MemberConnections::ConnectOne(const Member& member,
                                                                    const std::string& address) {
  const std::string& id = member.id;
  SiteServerOptions options;
  options.identity = FormatIdentity(descriptor_.store_id, id);
  options.description = fmt::format("{} of store {}", id, descriptor_.store_id.substr(0, 8));
  options.sync_names = descriptor_.sync == SyncPolicy::kCommit;
  Connection connection;
  connection.address = member.address;
  XEC_ASSIGN_OR_RETURN(connection.beneath, MakeSiteServer(address, executor_, gate_, std::move(options)));
  // With a single home there is nobody to compare a disk with.
  connection.server = connection.beneath;
  if (descriptor_.tolerance > 0) {
    connection.server =
        WatchDiskClock(connection.beneath, executor_, ClockOf(descriptor_, member.id, clocks_));
  }
  return connection;
}

Result<MemberConnections::Connected> MemberConnections::Connect(const Judgement& judgement,
                                                                const std::vector<SiteView>& views,
                                                                std::vector<std::string>& notes) {
  std::vector<DataServerPtr> servers(descriptor_.members.size()), beneath(descriptor_.members.size());
  std::string missing;
  for (size_t i = 0; i < servers.size(); ++i) {
    const Member& member = descriptor_.members[i];
    const auto& site = judgement.site_of_member[i];
    const bool local = KindOf(member.address).local;
    if (!site)
      missing += fmt::format("{}{}{}", missing.empty() ? "" : ", ", member.id,
                             local ? "" : " (" + member.address + ")");
    if (site || !local) {
      XEC_ASSIGN_OR_RETURN(Connection connection,
                           ConnectOne(member, site ? views[*site].site.address : member.address));
      servers[i] = connection.server;
      beneath[i] = connection.beneath;
      known_[member.id] = std::move(connection);
    } else if (!judgement.unbound.empty()) {
      auto late = std::make_shared<LateServer>(member.id, WhyMissing(judgement, views), executor_);
      auto late_beneath = std::make_shared<LateServer>(member.id, WhyMissing(judgement, views), executor_);
      late_.push_back({late, late_beneath, member});
      servers[i] = late;
      beneath[i] = late_beneath;
      known_[member.id] = {member.address, std::move(late), std::move(late_beneath)};
    }
  }
  if (!missing.empty()) notes.push_back(fmt::format("the store goes on without {}", missing));
  if (!late_.empty()) {
    for (const size_t i : judgement.unbound) sites_.push_back(views[i]);
  }
  return Connected{std::move(servers), std::move(beneath)};
}

Result<MemberConnections::Connected> MemberConnections::Follow(const StoreDescriptor& next) {
  Connected connected;
  std::map<std::string, Connection> known;
  for (const Member& member : next.members) {
    const auto before = known_.find(member.id);
    Connection connection;
    if (before != known_.end() && before->second.address == member.address) {
      connection = before->second;
    } else if (member.address != kLocalAddress) {
      XEC_ASSIGN_OR_RETURN(connection, ConnectOne(member, member.address));
    }
    connected.servers.push_back(connection.server);
    connected.beneath.push_back(connection.beneath);
    known[member.id] = std::move(connection);
  }
  known_ = std::move(known);
  return connected;
}

Task<void> MemberConnections::BindThoseThatCame(MemberList& list) {
  for (size_t i = 0; i < sites_.size(); ++i) {
    const std::string address = sites_[i].site.address;
    const CallContext call{&executor_, executor_.Now() + kInspectTimeout};
    const SiteView view = co_await InspectSite(call, sites_[i]);
    if (view.state != SiteView::kMember || view.identity->store_id != descriptor_.store_id) continue;
    const auto late = std::find_if(late_.begin(), late_.end(), [&](const LateMember& member) {
      return member.member.id == view.identity->member_id;
    });
    if (late == late_.end()) continue;
    const DescriptorSays says = view.descriptor ? list.Says(*view.descriptor) : DescriptorSays::kNothing;
    if (says == DescriptorSays::kLater || says == DescriptorSays::kOther) {
      Log(LogLevel::kError, "store", "{} stays away: it shows another store descriptor (epoch {}, not {})",
          address, view.descriptor->epoch, descriptor_.epoch);
      sites_.erase(sites_.begin() + static_cast<ptrdiff_t>(i--));
      continue;
    }
    Result<Connection> connection = ConnectOne(late->member, address);
    if (!connection) continue;
    late->beneath->Bind(std::move(connection->beneath));
    late->server->Bind(std::move(connection->server));
    Log(LogLevel::kInfo, "store", "{} is back: {}", view.identity->member_id, address);
    late_.erase(late);
    sites_.erase(sites_.begin() + static_cast<ptrdiff_t>(i--));
  }
}

}  // namespace xec

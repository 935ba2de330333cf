// SPDX-License-Identifier: LGPL-3.0-or-later
// MemberConnections: the data servers of a store that is opened, of those of its directories that come later,
// and of members that join.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "assembly/servers/late_server.hh"
#include "assembly/sites/sites.hh"
#include "commit/disk/disk_clock.hh"
#include "protocol/member_list.hh"
#include "server/decorators/completion_gate.hh"

namespace xec {

// One owner, one call at a time; but Follow may be called while BindThoseThatCame is under way.
class MemberConnections {
 public:
  // `executor` outlives it; `clocks` are those of the members' disks.
  MemberConnections(StoreDescriptor descriptor, DiskClocksPtr clocks, Executor& executor,
                    std::shared_ptr<CompletionGate> gate)
      : descriptor_(std::move(descriptor)),
        clocks_(std::move(clocks)),
        executor_(executor),
        gate_(std::move(gate)) {}

  // By member. `beneath` is used also while the disk is left out because it went back in time.
  struct Connected {
    std::vector<DataServerPtr> servers, beneath;
  };
  // Once. Members that are missing are told in `notes`; those that one of the directories may turn out to be
  // get a LateServer. Error: kInvalidArgument.
  Result<Connected> Connect(const Judgement& judgement, const std::vector<SiteView>& views,
                            std::vector<std::string>& notes);

  // Those of a later list of the same store: a member that keeps its place keeps its server. Error:
  // kInvalidArgument.
  Result<Connected> Follow(const StoreDescriptor& next);

  // May a member that is missing still come?
  bool waiting() const { return !late_.empty() && !sites_.empty(); }
  // Looks once at the directories that may be members. One that shows another descriptor than that in force,
  // by `list`, which outlives the task, stays away for good.
  Task<void> BindThoseThatCame(MemberList& list);

 private:
  struct Connection {
    std::string address;  // of the member, as the list has it
    DataServerPtr server, beneath;
  };
  struct LateMember {
    std::shared_ptr<LateServer> server, beneath;
    Member member;
  };
  Result<Connection> ConnectOne(const Member& member, const std::string& address);

  const StoreDescriptor descriptor_;  // that the store was opened by
  const DiskClocksPtr clocks_;
  Executor& executor_;
  const std::shared_ptr<CompletionGate> gate_;
  std::map<std::string, Connection> known_;  // by member; used by Connect and Follow only
  std::vector<LateMember> late_;
  std::vector<SiteView> sites_;  // that may be one of them
};

}  // namespace xec

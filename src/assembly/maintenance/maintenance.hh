// SPDX-License-Identifier: LGPL-3.0-or-later
// Maintenance: the one implementation of StoreMaintenance, on an engine and the store of its layout.
#pragma once

#include "assembly/members/change_servers.hh"
#include "assembly/members/replace_server.hh"
#include "store/layout_store.hh"

namespace xec {

// Thread-safe.
class Maintenance final : public StoreMaintenance {
 public:
  // The store to use now, or why there is none: asked before each operation.
  using Gate = std::function<Result<LayoutStore*>()>;
  using GoneFinder = std::function<Task<std::vector<MemberIndex>>()>;

  // What `tools` refers to outlives this object and what goes on in the engine's scope.
  Maintenance(MemberTools tools, Gate gate, GoneFinder find_gone)
      : engine_(tools.engine),
        tools_(std::move(tools)),
        gate_(std::move(gate)),
        find_gone_(std::move(find_gone)) {}

  const StoreDescriptor& descriptor() const override { return engine_.descriptor(); }
  std::string AddressOf(MemberIndex member) const override { return engine_.server(member)->name(); }
  Task<Result<CleanReport>> Clean(std::function<bool(uint64_t)> progress, CallOptions call) override;
  // A pass that a job leads.
  Task<Result<CleanReport>> CleanLed(CleanOptions options);
  // Calls of front ends under way; null while there is no store to use.
  std::shared_ptr<ClientRequests> clients() const;
  Task<Result<RepairReport>> Repair(std::string path, RepairOptions options, CallOptions call) override;
  Task<Result<RebuildReport>> Rebuild(RebuildOptions options, CallOptions call) override;
  Task<Result<BalanceReport>> Balance(BalanceOptions options, CallOptions call) override;
  Task<Result<Census>> TakeCensus(CensusOptions options, CallOptions call) override;
  Task<Status> WalkPlaces(PlacesOptions options, CallOptions call) override;
  Task<Status> Verify(std::string path, OnChunk report, CallOptions call) override;
  Task<Status> Locate(std::string path, OnChunk report, CallOptions call) override;
  Task<Result<StoredNames>> ListStored(std::string directory, CallOptions call) override;
  Task<Result<bool>> BringIntoTree(std::string path, CallOptions call) override;
  std::vector<std::string> SilentServers() const override;
  Task<Result<ServersReport>> CheckServers(CallOptions call) override;
  Task<Result<std::vector<GroupUse>>> AskGroups(CallOptions call) override;
  Task<Result<JobsTold>> LookAtJobs(CallOptions call) override;
  Task<Status> AskOfJob(std::string job, JobVerb verb, CallOptions call) override;
  Task<Result<std::vector<MemberIndex>>> FindGone(CallOptions call) override;
  Task<Result<ReplacedServer>> ReplaceServer(ReplaceOptions options, CallOptions call) override;
  Task<Result<std::string>> ChangeServers(ChangeOptions options, CallOptions call) override;
  Task<Status> CarryOutChange(ChangeProgress progress, CallOptions call) override;
  Task<Status> CompareDisk(MemberIndex member, CompareProgress progress, CallOptions call) override;

 private:
  template <typename T>
  Task<T> Pass(CallOptions call, std::function<Task<T>(LayoutStore&)> ask);

  Engine& engine_;
  const MemberTools tools_;
  const Gate gate_;
  const GoneFinder find_gone_;
};

}  // namespace xec

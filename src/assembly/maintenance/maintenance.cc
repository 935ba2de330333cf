// SPDX-License-Identifier: LGPL-3.0-or-later
#include "assembly/maintenance/maintenance.hh"

#include "assembly/maintenance/check_servers.hh"
#include "assembly/maintenance/job_board.hh"
#include "assembly/maintenance/space_board.hh"
#include "store/balance.hh"
#include "store/bounded.hh"
#include "store/rebuild.hh"
#include "store/take_census.hh"
#include "store/walk_places.hh"

namespace xec {
namespace {

Task<Status> VerifyIn(LayoutStore& store, std::string path, OnChunk report) {
  Result<std::shared_ptr<ObjectReader>> reader = co_await store.OpenRead(std::move(path));
  if (!reader) co_return reader.error();
  co_return co_await (*reader)->Verify(std::move(report));
}

Task<Status> LocateIn(LayoutStore& store, std::string path, OnChunk report) {
  Result<std::shared_ptr<ObjectReader>> reader = co_await store.OpenRead(std::move(path));
  if (!reader) co_return reader.error();
  co_return co_await (*reader)->Locate(std::move(report));
}

Task<Result<JobsTold>> ReadJobsTold(Engine& engine) {
  JobBoard board = co_await ReadJobBoard(engine, engine.server_count());
  if (board.heard.size() < Quorum(engine.server_count()))
    co_return Fail(Code::kNoQuorum, "only {} of {} data servers tell of the jobs: try again",
                   board.heard.size(), engine.server_count());
  JobsTold told;
  told.orders = board.orders;
  told.records = co_await ReadJobRecords(engine, std::move(board));
  told.now_ms = engine.executor().WallNow();
  co_return std::move(told);
}

Task<Result<std::vector<MemberIndex>>> Answered(Task<std::vector<MemberIndex>> members) {
  co_return co_await std::move(members);
}

}  // namespace

// Asks what the gate lets through; what is left under way owns what it works with.
template <typename T>
Task<T> Maintenance::Pass(CallOptions call, std::function<Task<T>(LayoutStore&)> ask) {
  const Result<LayoutStore*> store = gate_();
  if (!store) return Refuse<T>(store.error());
  return Bounded(engine_, std::move(call), ask(**store));
}

Task<Result<CleanReport>> Maintenance::Clean(std::function<bool(uint64_t)> progress, CallOptions call) {
  CleanOptions options;
  options.turn = [progress = std::move(progress)](WalkPoint point) -> Task<bool> {
    co_return progress(point.done);
  };
  return Pass<Result<CleanReport>>(std::move(call),
                                   [&](LayoutStore& store) { return store.Clean(std::move(options)); });
}

std::shared_ptr<ClientRequests> Maintenance::clients() const {
  const Result<LayoutStore*> store = gate_();
  return store ? (*store)->clients() : nullptr;
}

Task<Result<CleanReport>> Maintenance::CleanLed(CleanOptions options) {
  return Pass<Result<CleanReport>>({}, [&](LayoutStore& store) { return store.Clean(std::move(options)); });
}

Task<Result<RepairReport>> Maintenance::Repair(std::string path, RepairOptions options, CallOptions call) {
  return Pass<Result<RepairReport>>(
      std::move(call), [&](LayoutStore& store) { return store.Repair(std::move(path), std::move(options)); });
}

Task<Result<RebuildReport>> Maintenance::Rebuild(RebuildOptions options, CallOptions call) {
  return Pass<Result<RebuildReport>>(
      std::move(call), [&](LayoutStore& store) { return xec::Rebuild(engine_, store, std::move(options)); });
}

Task<Result<BalanceReport>> Maintenance::Balance(BalanceOptions options, CallOptions call) {
  return Pass<Result<BalanceReport>>(
      std::move(call), [&](LayoutStore& store) { return xec::Balance(engine_, store, std::move(options)); });
}

Task<Result<Census>> Maintenance::TakeCensus(CensusOptions options, CallOptions call) {
  return Pass<Result<Census>>(std::move(call), [&](LayoutStore& store) {
    return xec::TakeCensus(engine_, store, std::move(options));
  });
}

Task<Status> Maintenance::WalkPlaces(PlacesOptions options, CallOptions call) {
  return Pass<Status>(std::move(call), [&](LayoutStore& store) {
    return xec::WalkPlaces(engine_, store, std::move(options));
  });
}

Task<Status> Maintenance::Verify(std::string path, OnChunk report, CallOptions call) {
  return Pass<Status>(std::move(call), [&](LayoutStore& store) {
    return VerifyIn(store, std::move(path), std::move(report));
  });
}

Task<Status> Maintenance::Locate(std::string path, OnChunk report, CallOptions call) {
  return Pass<Status>(std::move(call), [&](LayoutStore& store) {
    return LocateIn(store, std::move(path), std::move(report));
  });
}

Task<Result<StoredNames>> Maintenance::ListStored(std::string directory, CallOptions call) {
  return Pass<Result<StoredNames>>(
      std::move(call), [&](LayoutStore& store) { return store.ListStored(std::move(directory)); });
}

Task<Result<bool>> Maintenance::BringIntoTree(std::string path, CallOptions call) {
  return Pass<Result<bool>>(std::move(call),
                            [&](LayoutStore& store) { return store.BringIntoTree(std::move(path)); });
}

std::vector<std::string> Maintenance::SilentServers() const {
  std::vector<std::string> silent;
  const TimePoint now = engine_.executor().Now();
  for (size_t i = 0; i < engine_.server_count(); ++i) {
    const auto member = static_cast<MemberIndex>(i);
    if (engine_.health().ReportOf(member, now).standing.state != ServerState::kUp)
      silent.push_back(AddressOf(member));
  }
  return silent;
}

Task<Result<ServersReport>> Maintenance::CheckServers(CallOptions call) {
  return Pass<Result<ServersReport>>(std::move(call),
                                     [&](LayoutStore&) { return xec::CheckServers(engine_); });
}

Task<Result<std::vector<GroupUse>>> Maintenance::AskGroups(CallOptions call) {
  return Pass<Result<std::vector<GroupUse>>>(
      std::move(call), [&](LayoutStore&) { return xec::AskGroups(engine_, tools_.configuration.groups); });
}

Task<Result<JobsTold>> Maintenance::LookAtJobs(CallOptions call) {
  return Pass<Result<JobsTold>>(std::move(call), [&](LayoutStore&) { return ReadJobsTold(engine_); });
}

Task<Status> Maintenance::AskOfJob(std::string job, JobVerb verb, CallOptions call) {
  return Pass<Status>(std::move(call),
                      [&](LayoutStore&) { return xec::AskOfJob(engine_, std::move(job), verb); });
}

Task<Result<std::vector<MemberIndex>>> Maintenance::FindGone(CallOptions call) {
  return Pass<Result<std::vector<MemberIndex>>>(std::move(call),
                                                [&](LayoutStore&) { return Answered(find_gone_()); });
}

Task<Result<ReplacedServer>> Maintenance::ReplaceServer(ReplaceOptions options, CallOptions call) {
  return Pass<Result<ReplacedServer>>(
      std::move(call), [&](LayoutStore&) { return xec::ReplaceServer(tools_, std::move(options)); });
}

Task<Result<std::string>> Maintenance::ChangeServers(ChangeOptions options, CallOptions call) {
  return Pass<Result<std::string>>(
      std::move(call), [&](LayoutStore&) { return xec::ChangeServers(tools_, std::move(options)); });
}

Task<Status> Maintenance::CarryOutChange(ChangeProgress progress, CallOptions call) {
  Turn turn = [progress = std::move(progress)](WalkPoint point) -> Task<bool> {
    co_return progress(point.done, point.at);
  };
  return Pass<Status>(std::move(call),
                      [&](LayoutStore&) { return xec::CarryOutChange(tools_.now, std::move(turn)); });
}

Task<Status> Maintenance::CompareDisk(MemberIndex member, CompareProgress progress, CallOptions call) {
  return Pass<Status>(std::move(call),
                      [&](LayoutStore&) { return xec::CompareDisk(tools_, member, std::move(progress)); });
}

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "store/balance.hh"

#include "commit/engine/look_at_space.hh"
#include "placement/list_changes.hh"
#include "store/balance_plan.hh"
#include "store/rebuild.hh"

namespace xec {
namespace {

// One walk. Objects that lack archives are left for a repair.
RebuildOptions WalkOptions(Engine& engine, BalancePlan& plan, BalanceReport& report,
                           const BalanceOptions& options, bool homes_too) {
  RebuildOptions walk;
  walk.dry_run = options.dry_run;
  walk.told = options.told;
  walk.progress = options.progress;
  walk.enough = [&plan] { return plan.Balanced(); };
  walk.not_moved = [&plan](const std::vector<LaneMove>& moves) { plan.Undo(moves); };
  walk.moves = [&engine, &plan, &report, homes_too](const std::string& text, const RepairReport& look) {
    if (!look.Whole()) ++report.skipped;
    const Result<ObjectPath> path = ObjectPath::ParseStored(text);
    if (!look.Whole() || !path) return std::vector<LaneMove>();
    BalancePlan::Object object{look.lanes, engine.Homes(*path), look.spares,
                               GeometryFor(engine.descriptor(), text).parity_chunks};
    return plan.Choose(std::move(object), homes_too);
  };
  return walk;
}

}  // namespace

Task<Result<BalanceReport>> Balance(Engine& engine, LayoutStore& store, BalanceOptions options) {
  const Status settled = NeedSettled(engine.descriptor());
  if (!settled) co_return settled.error();
  std::map<MemberIndex, Space> heard = co_await AskSpace(engine);
  std::erase_if(heard, [&](const auto& member) { return engine.InMaintenance(member.first); });
  if (heard.empty()) co_return Fail(Code::kNoQuorum, "no data server tells its space; retry");
  BalancePlan plan(engine.descriptor(), heard, options.within);
  BalanceReport report;
  // Archives of homes move only where all the others were not enough.
  for (const bool homes_too : {false, true}) {
    if (plan.Balanced()) break;
    report.objects = report.skipped = 0;
    Result<RebuildReport> walked =
        co_await Rebuild(engine, store, WalkOptions(engine, plan, report, options, homes_too));
    if (!walked) co_return walked.error();
    report.objects = walked->total.objects;
    report.not_done = std::move(walked->not_done);
  }
  report.mean = plan.mean();
  report.least_bytes = plan.least_bytes();
  report.moved_bytes = plan.moved_bytes();
  report.moved_archives = plan.moved_archives();
  report.balanced = plan.Balanced();
  report.members = plan.Fills();
  co_return std::move(report);
}

}  // namespace xec

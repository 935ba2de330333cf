// SPDX-License-Identifier: LGPL-3.0-or-later
#include "assembly/maintenance/space_board.hh"

namespace xec {

Task<Status> HearOfSpace(Engine& engine, SpaceLedger& ledger, JobBoard board) {
  const size_t heard = board.heard.size();
  const TimePoint asked = engine.executor().Now();
  const std::vector<ProcessRecord> records = co_await ReadJobRecords(engine, std::move(board));
  std::vector<SpaceTold> all;
  for (const ProcessRecord& record : records) {
    std::optional<SpaceTold> told = ParseSpace(record.space);
    if (!told) continue;
    told->told_ms = record.told_ms;
    all.push_back(std::move(*told));
  }
  ledger.Hear(std::move(all), asked);
  if (heard >= Quorum(engine.server_count())) co_return OkStatus();
  co_return Fail(Code::kNoQuorum, "only {} of {} data servers tell of the space: try again", heard,
                 engine.server_count());
}

Task<Status> HearOfSpace(Engine& engine, SpaceLedger& ledger) {
  JobBoard board = co_await ReadJobBoard(engine, Quorum(engine.server_count()));
  co_return co_await HearOfSpace(engine, ledger, std::move(board));
}

Task<Result<std::vector<GroupUse>>> AskGroups(Engine& engine, std::vector<SpaceGroup> groups) {
  SpaceLedger ledger(std::move(groups), "");
  const Status heard = co_await HearOfSpace(engine, ledger);
  if (!heard) co_return heard.error();
  std::vector<GroupUse> used;
  for (const SpaceGroup& group : ledger.groups()) used.push_back(ledger.Use(group));
  co_return std::move(used);
}

}  // namespace xec

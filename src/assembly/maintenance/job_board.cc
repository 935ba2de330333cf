// SPDX-License-Identifier: LGPL-3.0-or-later
#include "assembly/maintenance/job_board.hh"

#include <algorithm>

#include "base/contains.hh"
#include "base/text.hh"
#include "commit/engine/server_gather.hh"

namespace xec {
namespace {

std::string PathOf(std::string_view entry) { return fmt::format("{}/{}", kJobBoardFolder, entry); }

int64_t Millis(Duration time) { return std::chrono::duration_cast<std::chrono::milliseconds>(time).count(); }

// A record was replaced between listing and reading: so often the board is read anew.
constexpr int kReadTriesMax = 3;

Task<Result<std::vector<Entry>>> ListBoard(Engine& engine, MemberIndex member) {
  Result<std::vector<Entry>> listed =
      co_await List(engine.MetadataCall(), engine.server(member), std::string(kJobBoardFolder));
  if (!listed && listed.code() == Code::kNotFound) co_return std::vector<Entry>();
  co_return std::move(listed);
}

void Take(JobBoard& board, MemberIndex member, const std::vector<Entry>& entries) {
  board.heard.insert(member);
  for (const Entry& entry : entries) {
    const std::optional<JobMark> mark = ParseJobMark(entry.name);
    if (mark) board.orders.Take(*mark);
    if (mark || ParseRecordName(entry.name)) board.entries[member].push_back(entry.name);
  }
}

// Where the records of each process are, the latest first.
struct Told {
  RecordName name;
  MemberIndex member = 0;
};
std::map<std::string, std::vector<Told>> ToldBy(const JobBoard& board) {
  std::map<std::string, std::vector<Told>> told;
  for (const auto& [member, entries] : board.entries) {
    for (const std::string& entry : entries) {
      std::optional<RecordName> name = ParseRecordName(entry);
      if (name) told[name->nonce].push_back({*name, member});
    }
  }
  for (auto& [nonce, records] : told) {
    std::stable_sort(records.begin(), records.end(),
                     [](const Told& a, const Told& b) { return a.name.time_ms > b.name.time_ms; });
  }
  return told;
}

// Those that told last.
std::map<std::string, std::vector<Told>> LatestOf(std::map<std::string, std::vector<Told>> told,
                                                  int64_t now_ms) {
  std::vector<int64_t> times;
  for (const auto& [nonce, records] : told) times.push_back(records.front().name.time_ms);
  std::sort(times.rbegin(), times.rend());
  int64_t since_ms = now_ms - Millis(kJobsForgottenAfter);
  if (times.size() > kJobProcessesMax) since_ms = std::max(since_ms, times[kJobProcessesMax - 1]);
  std::erase_if(told, [&](const auto& of) { return of.second.front().name.time_ms < since_ms; });
  return told;
}

// The latest that is whole.
Task<std::optional<ProcessRecord>> ReadTold(Engine& engine, std::vector<Told> records) {
  for (const Told& told : records) {
    const Result<std::string> text = co_await ReadFile(engine.MetadataCall(), engine.server(told.member),
                                                       PathOf(FormatRecordName(told.name)), kRecordBytesMax);
    std::optional<ProcessRecord> record = text ? ParseRecord(*text) : std::nullopt;
    if (record) co_return std::move(record);
  }
  co_return std::nullopt;
}

// By nonce; null where nothing could be read.
Task<std::map<std::string, std::optional<ProcessRecord>>> ReadAll(Engine& engine, const JobBoard& board) {
  const auto told = LatestOf(ToldBy(board), engine.executor().WallNow());
  std::vector<std::string> nonces;
  Gather<std::optional<ProcessRecord>> gather(engine.scope(), engine.executor());
  for (const auto& [nonce, records] : told) {
    gather.Start(nonces.size(), ReadTold(engine, records));
    nonces.push_back(nonce);
  }
  std::map<std::string, std::optional<ProcessRecord>> read;
  while (gather.pending() > 0) {
    auto event = co_await gather.Next();
    read[nonces[event.tag]] = std::move(*event.value);
  }
  co_return std::move(read);
}

Task<void> RemoveOutdatedMarks(Engine& engine, const JobBoard& board, const JobOrders& orders) {
  ServerGather<Status> gather(engine);
  size_t tag = 0;
  for (const auto& [member, entries] : board.entries) {
    for (const std::string& entry : entries) {
      const std::optional<JobMark> mark = ParseJobMark(entry);
      if (!mark || !orders.Outdated(*mark)) continue;
      gather.Start(tag++, member, engine.health().Patience(member, RequestKind::kMetadata),
                   RemoveDirectory(engine.MetadataCall(), engine.server(member), PathOf(entry)));
    }
  }
  while (gather.timely() > 0) co_await gather.Next();
}

}  // namespace

Task<JobBoard> ReadJobBoard(Engine& engine, size_t members) {
  const std::vector<MemberIndex> order = engine.AllByHealth();
  const size_t quorum = Quorum(order.size());
  JobBoard board;
  ServerGather<Result<std::vector<Entry>>> gather(engine);
  size_t next = 0;
  while (true) {
    for (; next < order.size() && board.heard.size() + gather.timely() < members; ++next)
      gather.Start(order[next], ListBoard(engine, order[next]));
    if (gather.pending() == 0 || board.heard.size() >= members) break;
    if (gather.timely() == 0 && board.heard.size() >= quorum) break;
    auto event = co_await gather.Next();
    if (event.value && *event.value) Take(board, event.member, **event.value);
  }
  co_return std::move(board);
}

Task<std::vector<ProcessRecord>> ReadJobRecords(Engine& engine, JobBoard board) {
  std::vector<ProcessRecord> records;
  for (int tries = 1; tries <= kReadTriesMax; ++tries) {
    records.clear();
    bool missed = false;
    auto read = co_await ReadAll(engine, board);
    for (auto& [nonce, record] : read) {
      missed = missed || !record;
      if (record) records.push_back(std::move(*record));
    }
    if (!missed || tries == kReadTriesMax) break;
    board = co_await ReadJobBoard(engine, engine.server_count());
  }
  std::sort(records.begin(), records.end(),
            [](const ProcessRecord& a, const ProcessRecord& b) { return a.process < b.process; });
  co_return std::move(records);
}

Task<Status> AskOfJob(Engine& engine, std::string job, JobVerb verb) {
  JobBoard board = co_await ReadJobBoard(engine, engine.server_count());
  const size_t quorum = Quorum(engine.server_count());
  if (board.heard.size() < quorum) {
    co_return Fail(Code::kNoQuorum,
                   "{} of {} data servers tell what was asked of jobs, and {} have to: try again",
                   board.heard.size(), engine.server_count(), quorum);
  }
  const JobMark mark{
      .job = job, .verb = verb, .time_ms = board.orders.NextTime(job, engine.executor().WallNow())};
  ServerGather<Status> gather(engine);
  for (const MemberIndex member : engine.AllByHealth()) {
    gather.Start(member,
                 MakeDirectory(engine.MetadataCall(), engine.server(member), PathOf(FormatJobMark(mark))));
  }
  size_t taken = 0;
  std::optional<Error> refusal;
  while (gather.pending() > 0 && (taken < quorum || gather.timely() > 0)) {
    auto event = co_await gather.Next();
    if (!event.value) continue;
    if (*event.value) ++taken;
    if (!*event.value && !refusal) refusal = event.value->error();
  }
  if (taken < quorum) {
    co_return Fail(refusal ? refusal->code : Code::kNoQuorum,
                   "{} of {} data servers have taken down that {} is to {}, and {} have to: {}", taken,
                   engine.server_count(), job, JobVerbName(verb), quorum,
                   refusal ? refusal->message : "the others do not answer");
  }
  board.orders.Take(mark);
  const JobOrders orders = board.orders;
  co_await RemoveOutdatedMarks(engine, board, orders);
  co_return OkStatus();
}

JobTeller::JobTeller(Engine& engine) : engine_(&engine), nonce_(engine.NewNonce() + engine.NewNonce()) {}

Task<std::vector<ProcessRecord>> JobTeller::TakeOver(const JobBoard& board, std::string process) {
  std::vector<ProcessRecord> records;
  auto read = co_await ReadAll(*engine_, board);
  for (auto& [nonce, record] : read) {
    if (!record || record->process != process || nonce == nonce_) continue;
    taken_over_.insert(nonce);
    records.push_back(std::move(*record));
  }
  co_return std::move(records);
}

bool JobTeller::IsOld(const std::string& entry) const {
  const std::optional<RecordName> name = ParseRecordName(entry);
  if (!name) return false;
  if (name->nonce == nonce_) return name->time_ms < told_ms_;
  return taken_over_.contains(name->nonce) ||
         name->time_ms < engine_->executor().WallNow() - Millis(kJobsForgottenAfter);
}

Task<bool> JobTeller::TellOnSome(std::string entry, std::string text) {
  ServerGather<Status> gather(*engine_, RequestKind::kSync);
  const std::vector<MemberIndex> order = engine_->AllByHealth();
  const size_t wanted = std::min(order.size(), engine_->descriptor().tolerance + size_t{1});
  for (size_t i = 0; i < wanted; ++i) {
    gather.Start(order[i],
                 CreateFile(engine_->MetadataCall(), engine_->server(order[i]), PathOf(entry), text, false));
  }
  bool told = false;
  while (gather.timely() > 0) {
    auto event = co_await gather.Next();
    told = told || (event.value && *event.value);
  }
  co_return told;
}

Task<void> JobTeller::Tell(const JobBoard& board, ProcessRecord record) {
  told_ms_ = std::max(record.told_ms, told_ms_ + 1);
  record.told_ms = told_ms_;
  const RecordName name{nonce_, told_ms_};
  const bool told = co_await TellOnSome(FormatRecordName(name), FormatRecord(record));
  if (!told) co_return;
  ServerGather<Status> gather(*engine_);
  size_t tag = 0;
  for (const auto& [member, entries] : board.entries) {
    for (const std::string& entry : entries) {
      if (!IsOld(entry)) continue;
      gather.Start(tag++, member, engine_->health().Patience(member, RequestKind::kMetadata),
                   Remove(engine_->MetadataCall(), engine_->server(member), PathOf(entry)));
    }
  }
  while (gather.timely() > 0) co_await gather.Next();
}

}  // namespace xec

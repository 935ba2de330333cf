// SPDX-License-Identifier: LGPL-3.0-or-later
#include "inventory/inventory_writer.hh"

#include <filesystem>

#include "inventory/inventory_rows.hh"
#include "inventory/schema.hh"

namespace xec {
namespace {

namespace fs = std::filesystem;

// Objects of one transaction: a reader's snapshot keeps no more of the log than a few of these, and what a
// killed gateway loses is done again in a moment.
constexpr size_t kTransactionObjectsMax = 500;
// The log of changes beside the database is cut back to this whenever no reader needs it.
constexpr uint64_t kLogBytesMax = 16 * kMiB;

// What the file is found to be.
struct Found {
  enum Kind { kNew, kOurs, kForeign, kToMoveAway } kind = kOurs;
  std::string why;  // it is to be moved away: a clause
};

Result<std::string> AskText(SqlDatabase& database, std::string_view statement) {
  XEC_ASSIGN_OR_RETURN(SqlStatement prepared, database.Prepare(statement));
  XEC_ASSIGN_OR_RETURN(const bool row, prepared.Step());
  return row ? prepared.Text(0) : "";
}

Result<Found> LookAt(SqlDatabase& database, const StoreDescriptor& store, bool check) {
  XEC_ASSIGN_OR_RETURN(const uint64_t application, database.Ask("PRAGMA application_id"));
  XEC_ASSIGN_OR_RETURN(const uint64_t tables, database.Ask("SELECT count(*) FROM sqlite_schema"));
  if (tables == 0) return Found{Found::kNew, ""};
  if (application != kInventoryApplication) return Found{Found::kForeign, ""};
  XEC_ASSIGN_OR_RETURN(const uint64_t schema, database.Ask("PRAGMA user_version"));
  if (schema != kInventorySchema)
    return Found{Found::kToMoveAway, fmt::format("it has schema {}, not {}", schema, kInventorySchema)};
  if (check) {
    XEC_ASSIGN_OR_RETURN(const std::string found, AskText(database, "PRAGMA quick_check(1)"));
    if (found != "ok") return Found{Found::kToMoveAway, fmt::format("it is damaged: {}", found)};
  }
  XEC_ASSIGN_OR_RETURN(const std::string of, AskText(database, "SELECT store_id FROM about"));
  if (of != store.store_id) return Found{Found::kToMoveAway, fmt::format("it is of the store {}", of)};
  return Found{Found::kOurs, ""};
}

Status MoveAway(const std::string& path) {
  std::error_code error;
  fs::rename(path, path + ".damaged", error);
  if (error) return Fail(Code::kPermissionDenied, "{} cannot be moved away: {}", path, error.message());
  for (const char* beside : {"-wal", "-shm", "-journal"}) fs::remove(path + beside, error);
  return OkStatus();
}

}  // namespace

Result<InventoryWriter> InventoryWriter::Open(const std::string& path, const StoreDescriptor& store,
                                              const Options& options) {
  Result<InventoryWriter> opened = OpenOnce(path, store, options);
  if (opened || opened.code() != Code::kCorruption) return opened;
  std::string why = opened.error().message;
  XEC_TRY(MoveAway(path));
  opened = OpenOnce(path, store, options);
  if (opened) opened->moved_away_ = std::move(why);
  return opened;
}

// kCorruption: the file is to be moved away.
Result<InventoryWriter> InventoryWriter::OpenOnce(const std::string& path, const StoreDescriptor& store,
                                                  const Options& options) {
  XEC_ASSIGN_OR_RETURN(SqlDatabase database, SqlDatabase::Open(path, SqlDatabase::Mode::kWrite));
  InventoryWriter writer(std::move(database));
  XEC_ASSIGN_OR_RETURN(const Found found, LookAt(writer.database_, store, options.check));
  if (found.kind == Found::kForeign)
    return Fail(Code::kInvalidArgument, "{} is a database of another program", path);
  if (found.kind == Found::kToMoveAway) return Fail(Code::kCorruption, "{}", found.why);
  // Readers and the writer do not wait for each other by this; and a power cut may take the last changes, but
  // damages nothing.
  XEC_TRY(writer.database_.Execute("PRAGMA journal_mode = WAL"));
  XEC_TRY(writer.database_.Execute("PRAGMA synchronous = NORMAL"));
  XEC_TRY(writer.database_.Execute(fmt::format("PRAGMA journal_size_limit = {}", kLogBytesMax)));
  XEC_ASSIGN_OR_RETURN(const uint64_t page_bytes, writer.database_.Ask("PRAGMA page_size"));
  XEC_TRY(
      writer.database_.Execute(fmt::format("PRAGMA max_page_count = {}", options.bytes_max / page_bytes)));
  if (found.kind == Found::kNew) XEC_TRY(writer.Begin(store));
  XEC_TRY(writer.PrepareAll());
  XEC_TRY(writer.NumberServers(store));
  return writer;
}

// A new one, all at once.
Status InventoryWriter::Begin(const StoreDescriptor& store) {
  XEC_ASSIGN_OR_RETURN(SqlTransaction transaction, SqlTransaction::Begin(database_));
  XEC_TRY(database_.Execute(fmt::format("PRAGMA application_id = {}", kInventoryApplication)));
  XEC_TRY(database_.Execute(fmt::format("PRAGMA user_version = {}", kInventorySchema)));
  XEC_TRY(database_.Execute(kInventoryTables));
  XEC_ASSIGN_OR_RETURN(SqlStatement about, database_.Prepare("INSERT INTO about VALUES (?1)"));
  about.Bind(store.store_id);
  XEC_TRY(about.Run());
  return transaction.Commit();
}

// Members come and go, and the order of their list with them; a number stays with its id.
Status InventoryWriter::NumberServers(const StoreDescriptor& store) {
  XEC_ASSIGN_OR_RETURN(SqlTransaction transaction, SqlTransaction::Begin(database_));
  XEC_ASSIGN_OR_RETURN(SqlStatement add,
                       database_.Prepare("INSERT INTO servers SELECT coalesce(max(number) + 1, 0), ?1, ?2 "
                                         "FROM servers WHERE true "
                                         "ON CONFLICT (id) DO UPDATE SET address = excluded.address"));
  XEC_ASSIGN_OR_RETURN(SqlStatement find, database_.Prepare("SELECT number FROM servers WHERE id = ?1"));
  for (const Member& member : store.members) {
    add.Bind(member.id, member.address);
    XEC_TRY(add.Run());
    find.Bind(member.id);
    XEC_TRY(find.Step());
    numbers_.push_back(static_cast<MemberIndex>(find.Number(0)));
    find.Bind(member.id);
  }
  return transaction.Commit();
}

Status InventoryWriter::PrepareAll() {
  const auto prepare = [&](const char* text) { return database_.Prepare(text); };
  XEC_ASSIGN_OR_RETURN(auto find, prepare("SELECT number, version, object_id FROM objects WHERE path = ?1"));
  XEC_ASSIGN_OR_RETURN(auto insert,
                       prepare("INSERT INTO objects (path, version, object_id, data_chunks, parity_chunks, "
                               "chunk_bytes, bytes, generation, seen_ms) "
                               "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"));
  XEC_ASSIGN_OR_RETURN(auto update,
                       prepare("UPDATE objects SET version = ?2, object_id = ?3, data_chunks = ?4, "
                               "parity_chunks = ?5, chunk_bytes = ?6, bytes = ?7, "
                               "generation = max(generation, ?8), seen_ms = ?9 WHERE path = ?1"));
  XEC_ASSIGN_OR_RETURN(
      auto see,
      prepare("UPDATE objects SET generation = max(generation, ?2), seen_ms = ?3 WHERE number = ?1"));
  XEC_ASSIGN_OR_RETURN(auto keep,
                       prepare("UPDATE objects SET generation = max(generation, ?2) WHERE path = ?1"));
  XEC_ASSIGN_OR_RETURN(auto runs_of, prepare(kRunsOfObject));
  XEC_ASSIGN_OR_RETURN(auto insert_run, prepare("INSERT INTO runs VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"));
  XEC_ASSIGN_OR_RETURN(auto remove_runs, prepare("DELETE FROM runs WHERE object = ?1"));
  XEC_ASSIGN_OR_RETURN(
      auto move_on,
      prepare("UPDATE walks SET at = ?2, done = ?3, unlisted = ?4, uncounted = ?5 WHERE generation = ?1"));
  statements_ = Statements{std::move(find),       std::move(insert),      std::move(update),
                           std::move(see),        std::move(keep),        std::move(runs_of),
                           std::move(insert_run), std::move(remove_runs), std::move(move_on)};
  return OkStatus();
}

Result<std::optional<InventoryWriter::Ended>> InventoryWriter::LastEnded() {
  XEC_ASSIGN_OR_RETURN(
      SqlStatement last,
      database_.Prepare("SELECT began_ms, ended_ms FROM walks ORDER BY generation DESC LIMIT 1"));
  XEC_ASSIGN_OR_RETURN(const bool any, last.Step());
  if (!any || !last.NumberIfAny(1)) return std::optional<Ended>();
  return std::optional(Ended{static_cast<int64_t>(last.Number(0)), static_cast<int64_t>(last.Number(1))});
}

Result<InventoryWalk> InventoryWriter::BeginWalk(bool go_on, int64_t now_ms) {
  XEC_ASSIGN_OR_RETURN(SqlTransaction transaction, SqlTransaction::Begin(database_));
  XEC_ASSIGN_OR_RETURN(SqlStatement last,
                       database_.Prepare("SELECT generation, ended_ms, at, done, unlisted, uncounted, "
                                         "began_ms FROM walks ORDER BY generation DESC LIMIT 1"));
  XEC_ASSIGN_OR_RETURN(const bool any, last.Step());
  if (go_on && any && !last.NumberIfAny(1)) {
    return InventoryWalk{.began_ms = static_cast<int64_t>(last.Number(6)),
                         .generation = last.Number(0),
                         .at = last.Text(2),
                         .done = last.Number(3),
                         .unlisted = last.Number(4),
                         .uncounted = last.Number(5)};
  }
  const InventoryWalk walk{.began_ms = now_ms, .generation = any ? last.Number(0) + 1 : 1, .at = ""};
  last.Bind();
  XEC_ASSIGN_OR_RETURN(SqlStatement begin,
                       database_.Prepare("INSERT INTO walks VALUES (?1, ?2, NULL, '', 0, 0, 0)"));
  begin.Bind(walk.generation, static_cast<uint64_t>(now_ms));
  XEC_TRY(begin.Run());
  XEC_TRY(transaction.Commit());
  return walk;
}

Status InventoryWriter::Write(const InventoryWalk& walk, std::span<const ObjectPlaces> objects,
                              std::span<const std::string> uncounted, int64_t now_ms) {
  for (; !objects.empty(); objects = objects.subspan(std::min(kTransactionObjectsMax, objects.size()))) {
    XEC_TRY(
        WriteSome(walk.generation, objects.first(std::min(kTransactionObjectsMax, objects.size())), now_ms));
  }
  XEC_ASSIGN_OR_RETURN(SqlTransaction transaction, SqlTransaction::Begin(database_));
  for (const std::string& path : uncounted) {
    statements_->keep.Bind(path, walk.generation);
    XEC_TRY(statements_->keep.Run());
  }
  statements_->move_on.Bind(walk.generation, walk.at, walk.done, walk.unlisted, walk.uncounted);
  XEC_TRY(statements_->move_on.Run());
  return transaction.Commit();
}

Status InventoryWriter::WriteSome(uint64_t generation, std::span<const ObjectPlaces> objects,
                                  int64_t now_ms) {
  XEC_ASSIGN_OR_RETURN(SqlTransaction transaction, SqlTransaction::Begin(database_));
  for (const ObjectPlaces& object : objects) XEC_TRY(WriteOne(generation, object, now_ms));
  return transaction.Commit();
}

// What has not changed is hardly written.
Status InventoryWriter::WriteOne(uint64_t generation, const ObjectPlaces& object, int64_t now_ms) {
  const std::string version = object.version.ToString();
  std::vector<LaneRun> seen = object.runs;
  for (LaneRun& run : seen)
    run.server = run.server < numbers_.size() ? numbers_[run.server] : LaneRun::kNoServer;
  SqlStatement& find = statements_->find;
  find.Bind(object.path);
  XEC_ASSIGN_OR_RETURN(const bool known, find.Step());
  const uint64_t number = known ? find.Number(0) : 0;
  const bool same = known && find.Text(1) == version && find.Text(2) == object.object_id;
  find.Bind();
  if (same) {
    XEC_ASSIGN_OR_RETURN(const std::vector<LaneRun> runs, ReadRuns(statements_->runs_of, number));
    if (runs == seen) {
      statements_->see.Bind(number, generation, static_cast<uint64_t>(now_ms));
      return statements_->see.Run();
    }
  }
  SqlStatement& write = known ? statements_->update : statements_->insert;
  write.Bind(object.path, version, object.object_id, uint64_t{object.geometry.data_chunks},
             uint64_t{object.geometry.parity_chunks}, object.geometry.chunk_size_bytes, object.bytes,
             generation, static_cast<uint64_t>(now_ms));
  XEC_TRY(write.Run());
  return WriteRuns(known ? number : database_.last_row(), seen);
}

Status InventoryWriter::WriteRuns(uint64_t number, const std::vector<LaneRun>& runs) {
  statements_->remove_runs.Bind(number);
  XEC_TRY(statements_->remove_runs.Run());
  for (const LaneRun& run : runs) {
    statements_->insert_run.Bind(number, uint64_t{run.lane}, run.first, run.stripes, run.bytes,
                                 NumberOf(run.server), uint64_t{run.held});
    XEC_TRY(statements_->insert_run.Run());
  }
  return OkStatus();
}

// How many.
Result<uint64_t> InventoryWriter::RemoveSome(uint64_t generation) {
  XEC_ASSIGN_OR_RETURN(SqlTransaction transaction, SqlTransaction::Begin(database_));
  XEC_ASSIGN_OR_RETURN(SqlStatement runs,
                       database_.Prepare("DELETE FROM runs WHERE object IN (SELECT number FROM objects WHERE "
                                         "generation < ?1 ORDER BY number LIMIT ?2)"));
  runs.Bind(generation, uint64_t{kTransactionObjectsMax});
  XEC_TRY(runs.Run());
  XEC_ASSIGN_OR_RETURN(SqlStatement objects,
                       database_.Prepare("DELETE FROM objects WHERE number IN (SELECT number FROM objects "
                                         "WHERE generation < ?1 ORDER BY number LIMIT ?2)"));
  objects.Bind(generation, uint64_t{kTransactionObjectsMax});
  XEC_TRY(objects.Run());
  const uint64_t removed = database_.changes();
  XEC_TRY(transaction.Commit());
  return removed;
}

Status InventoryWriter::EndWalk(const InventoryWalk& walk, int64_t now_ms) {
  const bool everywhere = walk.unlisted == 0;
  for (uint64_t removed = everywhere ? kTransactionObjectsMax : 0; removed == kTransactionObjectsMax;) {
    XEC_ASSIGN_OR_RETURN(removed, RemoveSome(walk.generation));
  }
  XEC_ASSIGN_OR_RETURN(SqlTransaction transaction, SqlTransaction::Begin(database_));
  XEC_ASSIGN_OR_RETURN(
      SqlStatement end,
      database_.Prepare("UPDATE walks SET ended_ms = ?2, at = '', done = ?3, unlisted = ?4, uncounted = ?5 "
                        "WHERE generation = ?1"));
  end.Bind(walk.generation, static_cast<uint64_t>(now_ms), walk.done, walk.unlisted, walk.uncounted);
  XEC_TRY(end.Run());
  XEC_ASSIGN_OR_RETURN(SqlStatement forget, database_.Prepare("DELETE FROM walks WHERE generation < ?1"));
  forget.Bind(walk.generation);
  XEC_TRY(forget.Run());
  return transaction.Commit();
}

}  // namespace xec

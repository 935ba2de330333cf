// SPDX-License-Identifier: LGPL-3.0-or-later
#include "inventory/sqlite.hh"

#include <chrono>
#include <sqlite3.h>

namespace xec {
namespace {

// For how long a statement waits for somebody else's lock on the file: readers hold none that a writer waits
// for, so this is another program at work on it.
constexpr std::chrono::milliseconds kLockPatience = std::chrono::seconds(5);

Code CodeOf(int answer) {
  switch (answer & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return Code::kCorruption;
    case SQLITE_FULL: return Code::kNoSpace;
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return Code::kConflict;
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_READONLY: return Code::kPermissionDenied;
    case SQLITE_ERROR:
    case SQLITE_MISUSE:
    case SQLITE_RANGE: return Code::kInternal;
    default: return Code::kUnavailable;
  }
}

Error ErrorOf(sqlite3* database, int answer) {
  const char* const words = database != nullptr ? sqlite3_errmsg(database) : sqlite3_errstr(answer);
  return Fail(CodeOf(answer), "SQLite says: {}", words);
}

}  // namespace

void SqlStatement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

void SqlStatement::Reset() {
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
}

void SqlStatement::BindOne(int index, uint64_t value) {
  XEC_CHECK(sqlite3_bind_int64(statement_.get(), index, static_cast<sqlite3_int64>(value)) == SQLITE_OK);
}

void SqlStatement::BindOne(int index, std::string_view value) {
  XEC_CHECK(sqlite3_bind_text64(statement_.get(), index, value.data(), value.size(), SQLITE_TRANSIENT,
                                SQLITE_UTF8) == SQLITE_OK);
}

void SqlStatement::BindOne(int index, const std::optional<uint64_t>& value) {
  if (value) BindOne(index, *value);
}

Result<bool> SqlStatement::Step() {
  const int answer = sqlite3_step(statement_.get());
  if (answer == SQLITE_ROW) return true;
  const Error error = ErrorOf(sqlite3_db_handle(statement_.get()), answer);
  sqlite3_reset(statement_.get());
  if (answer == SQLITE_DONE) return false;
  return error;
}

Status SqlStatement::Run() {
  XEC_ASSIGN_OR_RETURN(const bool row, Step());
  if (row) sqlite3_reset(statement_.get());
  return OkStatus();
}

uint64_t SqlStatement::Number(int column) const {
  return static_cast<uint64_t>(sqlite3_column_int64(statement_.get(), column));
}

std::optional<uint64_t> SqlStatement::NumberIfAny(int column) const {
  if (sqlite3_column_type(statement_.get(), column) == SQLITE_NULL) return std::nullopt;
  return Number(column);
}

std::string SqlStatement::Text(int column) const {
  const void* const bytes = sqlite3_column_blob(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return bytes == nullptr ? "" : std::string(static_cast<const char*>(bytes), static_cast<size_t>(size));
}

void SqlDatabase::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

Result<SqlDatabase> SqlDatabase::Open(const std::string& path, Mode mode) {
  sqlite3* opened = nullptr;
  const int flags = mode == Mode::kRead ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  const int answer = sqlite3_open_v2(path.c_str(), &opened, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  SqlDatabase database(opened);
  if (answer != SQLITE_OK) return ErrorOf(opened, answer);
  sqlite3_busy_timeout(opened, static_cast<int>(kLockPatience.count()));
  return database;
}

Status SqlDatabase::Execute(const std::string& statement) {
  const int answer = sqlite3_exec(database_.get(), statement.c_str(), nullptr, nullptr, nullptr);
  if (answer == SQLITE_OK) return OkStatus();
  return ErrorOf(database_.get(), answer);
}

Result<SqlStatement> SqlDatabase::Prepare(std::string_view statement) {
  sqlite3_stmt* prepared = nullptr;
  const int answer = sqlite3_prepare_v3(database_.get(), statement.data(), static_cast<int>(statement.size()),
                                        SQLITE_PREPARE_PERSISTENT, &prepared, nullptr);
  if (answer != SQLITE_OK) return ErrorOf(database_.get(), answer);
  return SqlStatement(prepared);
}

Result<uint64_t> SqlDatabase::Ask(std::string_view statement) {
  XEC_ASSIGN_OR_RETURN(SqlStatement prepared, Prepare(statement));
  XEC_ASSIGN_OR_RETURN(const bool row, prepared.Step());
  if (!row) return Fail(Code::kInternal, "no answer to {}", statement);
  return prepared.Number(0);
}

uint64_t SqlDatabase::changes() const { return static_cast<uint64_t>(sqlite3_changes64(database_.get())); }

uint64_t SqlDatabase::last_row() const {
  return static_cast<uint64_t>(sqlite3_last_insert_rowid(database_.get()));
}

Result<SqlTransaction> SqlTransaction::Begin(SqlDatabase& database) {
  XEC_TRY(database.Execute("BEGIN IMMEDIATE"));
  return SqlTransaction(database);
}

SqlTransaction::~SqlTransaction() {
  // After some errors SQLite has done it already, and says so.
  if (database_ != nullptr) (void)database_->Execute("ROLLBACK");
}

Status SqlTransaction::Commit() {
  XEC_TRY(database_->Execute("COMMIT"));
  database_ = nullptr;
  return OkStatus();
}

}  // namespace xec

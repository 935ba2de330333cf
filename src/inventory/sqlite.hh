// SPDX-License-Identifier: LGPL-3.0-or-later
// SQLite as values of ours: a connection, prepared statements, errors. sqlite.cc alone sees SQLite's header.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hh"

struct sqlite3;
struct sqlite3_stmt;

namespace xec {

class SqlDatabase;

// A prepared statement. It goes before its database; one thread at a time. Numbers are those that SQLite
// keeps: below 2^63.
class SqlStatement {
 public:
  // Values of the parameters ?1, ?2, ... from the left, for one run; what was bound before is forgotten.
  template <typename... Values>
  void Bind(const Values&... values) {
    Reset();
    int index = 0;
    (BindOne(++index, values), ...);
  }
  // The next row; false: there is none, and the statement may be bound again. Error: as SqlDatabase::Execute.
  Result<bool> Step();
  // Runs a statement without rows.
  Status Run();

  // Columns of the row that Step came to, from 0 on.
  uint64_t Number(int column) const;
  std::optional<uint64_t> NumberIfAny(int column) const;
  std::string Text(int column) const;

 private:
  friend class SqlDatabase;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  explicit SqlStatement(sqlite3_stmt* statement) : statement_(statement) {}
  void Reset();
  void BindOne(int index, uint64_t value);
  void BindOne(int index, std::string_view value);
  void BindOne(int index, const std::optional<uint64_t>& value);

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

// A connection to one file. One thread at a time; every call may wait for the disk.
class SqlDatabase {
 public:
  enum class Mode { kRead, kWrite };  // kWrite makes the file if there is none

  static Result<SqlDatabase> Open(const std::string& path, Mode mode);

  // One statement without parameters and rows. Errors: kCorruption (what is in the file is no database of
  // SQLite's, or a damaged one), kNoSpace (the disk is full, or the file as large as it may be), kConflict
  // (somebody else held it locked for longer than kLockPatience), kPermissionDenied, kUnavailable.
  Status Execute(const std::string& statement);
  Result<SqlStatement> Prepare(std::string_view statement);
  // The number that a statement without parameters answers, e.g. a pragma.
  Result<uint64_t> Ask(std::string_view statement);

  // Rows that the last statement has changed.
  uint64_t changes() const;
  // Number of the row that was inserted last.
  uint64_t last_row() const;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  explicit SqlDatabase(sqlite3* database) : database_(database) {}
  std::unique_ptr<sqlite3, Close> database_;
};

// Between its making and Commit, or its end without, what is changed is changed as a whole or not at all.
class SqlTransaction {
 public:
  static Result<SqlTransaction> Begin(SqlDatabase& database);
  SqlTransaction(SqlTransaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  ~SqlTransaction();
  Status Commit();

 private:
  explicit SqlTransaction(SqlDatabase& database) : database_(&database) {}
  SqlDatabase* database_;
};

}  // namespace xec

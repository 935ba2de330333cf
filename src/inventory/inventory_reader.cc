// SPDX-License-Identifier: LGPL-3.0-or-later
#include "inventory/inventory_reader.hh"

#include <filesystem>

#include "inventory/inventory_rows.hh"
#include "inventory/schema.hh"

namespace xec {
namespace {

constexpr const char* kObjectColumns =
    "SELECT number, path, version, object_id, data_chunks, parity_chunks, chunk_bytes, bytes FROM objects ";

}  // namespace

Result<InventoryReader> InventoryReader::Open(const std::string& path) {
  std::error_code error;
  const bool there = std::filesystem::exists(path, error);
  if (error) return Fail(Code::kPermissionDenied, "{} cannot be looked at: {}", path, error.message());
  if (!there) return Fail(Code::kNotFound, "there is no {}", path);
  XEC_ASSIGN_OR_RETURN(SqlDatabase database, SqlDatabase::Open(path, SqlDatabase::Mode::kRead));
  InventoryReader reader(std::move(database));
  XEC_ASSIGN_OR_RETURN(const uint64_t application, reader.database_.Ask("PRAGMA application_id"));
  if (application != kInventoryApplication) return Fail(Code::kCorruption, "{} is no inventory", path);
  XEC_ASSIGN_OR_RETURN(const uint64_t schema, reader.database_.Ask("PRAGMA user_version"));
  if (schema != kInventorySchema) {
    return Fail(Code::kUnsupported, "the inventory {} has schema {}, and this program knows {}", path, schema,
                kInventorySchema);
  }
  // Servers that are asked for; in memory.
  XEC_TRY(reader.database_.Execute("PRAGMA temp_store = MEMORY"));
  XEC_TRY(reader.database_.Execute("CREATE TEMP TABLE asked (server INTEGER PRIMARY KEY)"));
  // Of one moment, whatever the gateway does meanwhile.
  XEC_TRY(reader.database_.Execute("BEGIN"));
  XEC_TRY(reader.LookAround());
  return reader;
}

Status InventoryReader::LookAround() {
  XEC_ASSIGN_OR_RETURN(SqlStatement about, database_.Prepare("SELECT store_id FROM about"));
  XEC_ASSIGN_OR_RETURN(const bool any, about.Step());
  if (any) about_.store_id = about.Text(0);
  XEC_ASSIGN_OR_RETURN(about_.objects, database_.Ask("SELECT count(*) FROM objects"));
  XEC_ASSIGN_OR_RETURN(SqlStatement servers,
                       database_.Prepare("SELECT number, id, address FROM servers ORDER BY number"));
  while (true) {
    XEC_ASSIGN_OR_RETURN(const bool row, servers.Step());
    if (!row) break;
    about_.servers.push_back({static_cast<MemberIndex>(servers.Number(0)), servers.Text(1), servers.Text(2)});
  }
  XEC_ASSIGN_OR_RETURN(
      SqlStatement walks,
      database_.Prepare(
          "SELECT began_ms, ended_ms, at, done, unlisted, uncounted FROM walks ORDER BY generation"));
  while (true) {
    XEC_ASSIGN_OR_RETURN(const bool row, walks.Step());
    if (!row) break;
    InventoryAbout::Walk walk;
    walk.began_ms = static_cast<int64_t>(walks.Number(0));
    walk.ended_ms = static_cast<int64_t>(walks.Number(1));
    walk.at = walks.Text(2);
    walk.done = walks.Number(3);
    walk.unlisted = walks.Number(4);
    walk.uncounted = walks.Number(5);
    about_.under_way.reset();
    (walk.ended_ms == 0 ? about_.under_way : about_.last) = std::move(walk);
  }
  XEC_ASSIGN_OR_RETURN(runs_of_, database_.Prepare(kRunsOfObject));
  XEC_ASSIGN_OR_RETURN(find_, database_.Prepare(std::string(kObjectColumns) + "WHERE path = ?1"));
  return OkStatus();
}

// The row that `object` came to.
Result<ObjectPlaces> InventoryReader::Read(SqlStatement& object, SqlStatement& runs) {
  ObjectPlaces places;
  places.path = object.Text(1);
  const std::optional<Version> version = Version::Parse(object.Text(2));
  if (!version) return Fail(Code::kCorruption, "the inventory has a damaged row of {}", places.path);
  places.version = *version;
  places.object_id = object.Text(3);
  places.geometry.data_chunks = static_cast<uint32_t>(object.Number(4));
  places.geometry.parity_chunks = static_cast<uint32_t>(object.Number(5));
  places.geometry.chunk_size_bytes = object.Number(6);
  places.bytes = object.Number(7);
  XEC_TRY(places.geometry.Validate());
  XEC_ASSIGN_OR_RETURN(places.runs, ReadRuns(runs, object.Number(0)));
  return places;
}

Status InventoryReader::ForEachOn(const std::set<MemberIndex>& servers,
                                  const std::function<bool(const ObjectPlaces&)>& found) {
  XEC_TRY(database_.Execute("DELETE FROM temp.asked"));
  XEC_ASSIGN_OR_RETURN(SqlStatement ask, database_.Prepare("INSERT INTO temp.asked VALUES (?1)"));
  for (const MemberIndex server : servers) {
    ask.Bind(uint64_t{server});
    XEC_TRY(ask.Run());
  }
  return ForEachOf("WHERE number IN (SELECT object FROM runs WHERE server IN temp.asked) ", found);
}

Status InventoryReader::ForEach(const std::function<bool(const ObjectPlaces&)>& found) {
  return ForEachOf("", found);
}

Status InventoryReader::ForEachOf(const char* which, const std::function<bool(const ObjectPlaces&)>& found) {
  XEC_ASSIGN_OR_RETURN(SqlStatement objects,
                       database_.Prepare(std::string(kObjectColumns) + which + "ORDER BY path"));
  while (true) {
    XEC_ASSIGN_OR_RETURN(const bool row, objects.Step());
    if (!row) return OkStatus();
    XEC_ASSIGN_OR_RETURN(const ObjectPlaces places, Read(objects, *runs_of_));
    if (!found(places)) return OkStatus();
  }
}

Result<std::optional<ObjectPlaces>> InventoryReader::Find(const std::string& path) {
  find_->Bind(path);
  XEC_ASSIGN_OR_RETURN(const bool row, find_->Step());
  if (!row) return std::optional<ObjectPlaces>();
  XEC_ASSIGN_OR_RETURN(ObjectPlaces places, Read(*find_, *runs_of_));
  return std::optional(std::move(places));
}

}  // namespace xec

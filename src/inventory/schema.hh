// SPDX-License-Identifier: LGPL-3.0-or-later
// The tables of an inventory, a database of SQLite's. Whoever changes them raises kInventorySchema: a gateway
// makes an inventory of another schema anew.
#pragma once

#include <cstdint>

namespace xec {

// "XECi": what SQLite keeps in its file header of who a database belongs to.
constexpr uint64_t kInventoryApplication = 0x58454369;
constexpr uint64_t kInventorySchema = 1;

// Paths are the bytes of names; times are milliseconds since 1970. A server's number stays with its id.
// What an object's row says was seen by the walk `generation`, at `seen_ms`.
inline constexpr const char* kInventoryTables = R"(
CREATE TABLE about (
  store_id TEXT NOT NULL
);
CREATE TABLE servers (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  address TEXT NOT NULL
);
CREATE TABLE objects (
  number INTEGER PRIMARY KEY,
  path TEXT NOT NULL UNIQUE,
  version TEXT NOT NULL,
  object_id TEXT NOT NULL,
  data_chunks INTEGER NOT NULL,
  parity_chunks INTEGER NOT NULL,
  chunk_bytes INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  seen_ms INTEGER NOT NULL
);
CREATE TABLE runs (
  object INTEGER NOT NULL,
  lane INTEGER NOT NULL,
  first INTEGER NOT NULL,
  stripes INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  server INTEGER,
  held INTEGER NOT NULL,
  PRIMARY KEY (object, lane, first)
) WITHOUT ROWID;
CREATE INDEX runs_by_server ON runs (server, object);
CREATE TABLE walks (
  generation INTEGER PRIMARY KEY,
  began_ms INTEGER NOT NULL,
  ended_ms INTEGER,
  at TEXT NOT NULL,
  done INTEGER NOT NULL,
  unlisted INTEGER NOT NULL,
  uncounted INTEGER NOT NULL
);
)";

}  // namespace xec

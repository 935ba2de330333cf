// SPDX-License-Identifier: LGPL-3.0-or-later
// InventoryReader: asks the inventory of a gateway (inventory_writer.hh), which may be at work on it
// meanwhile. What it says is as old as the last walk, and is for people and scripts: nothing is decided by
// it.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "api/object_places.hh"
#include "inventory/sqlite.hh"

namespace xec {

struct InventoryAbout {
  struct Server {
    MemberIndex number = 0;  // in LaneRun::server
    std::string id, address;
  };
  struct Walk {
    int64_t began_ms = 0;
    int64_t ended_ms = 0;  // 0: it is under way
    std::string at;        // where it is
    uint64_t done = 0;     // objects
    uint64_t unlisted = 0;   // directories of which it could not tell what is below them
    uint64_t uncounted = 0;  // objects of which it could not tell where they are
  };
  std::string store_id;
  std::vector<Server> servers;
  uint64_t objects = 0;
  // The last one that went to its end; without one only a part of the store is known.
  std::optional<Walk> last;
  std::optional<Walk> under_way;  // a later one
};

// One thread; every call may wait for the disk. All calls see the inventory as it was when it was opened.
// Errors: as SqlDatabase::Execute.
class InventoryReader {
 public:
  // Errors besides: kNotFound (no such file), kUnsupported (another schema), kCorruption (it is no
  // inventory).
  static Result<InventoryReader> Open(const std::string& path);

  const InventoryAbout& about() const { return about_; }

  // Every object, in the order of their paths, until `found` says false.
  Status ForEach(const std::function<bool(const ObjectPlaces&)>& found);
  // Every object with a run of one of these servers, whether or not it was held, in the order of their paths,
  // until `found` says false.
  Status ForEachOn(const std::set<MemberIndex>& servers,
                   const std::function<bool(const ObjectPlaces&)>& found);
  // nullopt: it has none of this name.
  Result<std::optional<ObjectPlaces>> Find(const std::string& path);

 private:
  explicit InventoryReader(SqlDatabase database) : database_(std::move(database)) {}
  Status LookAround();
  Status ForEachOf(const char* which, const std::function<bool(const ObjectPlaces&)>& found);
  Result<ObjectPlaces> Read(SqlStatement& object, SqlStatement& runs);

  SqlDatabase database_;
  std::optional<SqlStatement> find_, runs_of_;  // go before the database
  InventoryAbout about_;
};

}  // namespace xec

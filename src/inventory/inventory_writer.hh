// SPDX-License-Identifier: LGPL-3.0-or-later
// InventoryWriter: keeps the inventory of a gateway, which says what every server holds of every object, so
// that one that is lost can be asked for. It is made of walks through the store, and nothing is decided by
// it: a damaged or missing one is made anew.
//
//   walk 7 begins --Write--> rows that it has seen have generation 7 --> ends: rows below 7 go
//
// Two gateways with one file do no harm: a row keeps the highest generation that has seen it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "api/object_places.hh"
#include "inventory/sqlite.hh"
#include "placement/store_descriptor.hh"

namespace xec {

// An inventory grows no larger. With 8+2 an object takes about 500 bytes.
constexpr uint64_t kInventoryBytesMax = 8 * kGiB;

// A pass over the store that fills the inventory.
struct InventoryWalk {
  int64_t began_ms = 0;
  uint64_t generation = 0;
  std::string at = {};  // where it goes on; "" = at the beginning
  uint64_t done = 0;       // objects
  uint64_t unlisted = 0;   // directories of which nobody could tell what is below them
  uint64_t uncounted = 0;  // objects of which nobody could tell where they are
};

// One thread at a time; every call may wait for the disk. Errors: as SqlDatabase::Execute. After one the
// writer is of no more use; kCorruption means that the next Open makes the file anew.
class InventoryWriter {
 public:
  struct Options {
    bool check = true;  // reads the whole file; else damage shows when what is damaged is read
    uint64_t bytes_max = kInventoryBytesMax;
  };
  // Opens the file, or makes it. A damaged one, and one of another schema or store, is moved to FILE.damaged,
  // and another one is made. Error besides: kInvalidArgument (it is another program's).
  static Result<InventoryWriter> Open(const std::string& path, const StoreDescriptor& store,
                                      const Options& options);

  // Why what was there was moved away; "" if it was not.
  const std::string& moved_away() const { return moved_away_; }
  struct Ended {
    int64_t began_ms = 0, ended_ms = 0;
  };
  // The last walk that went to its end; nullopt: none has, or another one was begun since.
  Result<std::optional<Ended>> LastEnded();

  // The last walk that was not ended, if `go_on` and there is one; else a new one.
  Result<InventoryWalk> BeginWalk(bool go_on, int64_t now_ms);
  // Takes down what the walk has seen, and that it has come to walk.at. `uncounted`: paths of objects: what
  // was known of them stays.
  Status Write(const InventoryWalk& walk, std::span<const ObjectPlaces> objects,
               std::span<const std::string> uncounted, int64_t now_ms);
  // Removes what the walk did not see, if it could look everywhere.
  Status EndWalk(const InventoryWalk& walk, int64_t now_ms);

 private:
  struct Statements {
    SqlStatement find, insert, update, see, keep;  // objects
    SqlStatement runs_of, insert_run, remove_runs;
    SqlStatement move_on;  // walks
  };
  explicit InventoryWriter(SqlDatabase database) : database_(std::move(database)) {}

  static Result<InventoryWriter> OpenOnce(const std::string& path, const StoreDescriptor& store,
                                          const Options& options);
  Status Begin(const StoreDescriptor& store);
  Status PrepareAll();
  Status WriteSome(uint64_t generation, std::span<const ObjectPlaces> objects, int64_t now_ms);
  Status WriteOne(uint64_t generation, const ObjectPlaces& object, int64_t now_ms);
  Status NumberServers(const StoreDescriptor& store);
  Status WriteRuns(uint64_t number, const std::vector<LaneRun>& runs);
  Result<uint64_t> RemoveSome(uint64_t generation);

  SqlDatabase database_;
  std::optional<Statements> statements_;  // goes before the database
  std::vector<MemberIndex> numbers_;  // in the inventory, by member
  std::string moved_away_;
};

}  // namespace xec

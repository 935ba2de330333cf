// SPDX-License-Identifier: LGPL-3.0-or-later
// What `xec lost` prints: a line for each object as it is found, then the totals.
#pragma once

#include <string>

#include "api/object_places.hh"
#include "cli/command_line.hh"
#include "cli/json_output.hh"
#include "inventory/inventory_reader.hh"
#include "inventory/lost_links.hh"

namespace xec {

// Where it is known from.
struct LostSource {
  std::string inventory;  // file; "" = a walk of this process
  InventoryAbout about;   // of the inventory
  int64_t now_ms = 0;
};

class LostReport {
 public:
  // `line` outlives it.
  explicit LostReport(const CommandLine& line) : line_(line) {}

  void Add(const ObjectPlaces& object, const ObjectLoss& loss);
  // An archive of a version of which nothing else is known: it is newer than the inventory, or was replaced.
  void AddUnknown(const LostFile& file);
  // Of a walk: an object or directory that nobody could look at.
  void AddUnlooked(const std::string& path, const Error& error);

  // The totals and where they are from, null: links alone; `links`: of a disk, or null. Answers the exit
  // code.
  int Finish(const LostSource* source, const LostLinks* links);

 private:
  void Print(const Json& json, const std::string& row);
  Json Totals(const LostSource* source, const LostLinks* links) const;
  void PrintTotals(const LostSource* source, const LostLinks* links) const;

  const CommandLine& line_;
  uint64_t objects_ = 0, unknown_ = 0, unlooked_ = 0, beyond_repair_ = 0;
  uint64_t stripes_ = 0, bytes_ = 0;  // hit, lost
  bool begun_ = false;  // something was printed
};

}  // namespace xec

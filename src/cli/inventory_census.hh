// SPDX-License-Identifier: LGPL-3.0-or-later
// The redundancy of all objects, by the inventory of a gateway: known in a moment, and as old as the last
// walk.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "api/census.hh"
#include "inventory/inventory_reader.hh"
#include "placement/store_descriptor.hh"

namespace xec {

struct InventoryCount {
  std::shared_ptr<const Census> census;
  InventoryAbout::Walk walk;  // that it is from
};

// One thread; reads a file.
class InventoryCensus {
 public:
  // "" = there is none.
  explicit InventoryCensus(std::string file) : file_(std::move(file)) {}

  const std::string& file() const { return file_; }
  // Counts without the members that are `away`, and reads the inventory only if it, or these, have changed
  // since the last call. Errors: as InventoryReader; kNotFound (there is none), kUnavailable (no walk has
  // ended yet), kConflict (it is of another store).
  Result<InventoryCount> Count(const StoreDescriptor& store, const std::set<MemberIndex>& away);

 private:
  struct Counted {
    std::string about;  // what it depends on
    InventoryCount count;
  };

  const std::string file_;
  std::optional<Counted> last_;
};

}  // namespace xec

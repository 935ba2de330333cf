// SPDX-License-Identifier: LGPL-3.0-or-later
// Generation: a store that is open, by one list of members. When the members change another one follows, and
// operations that have begun go on with theirs (docs/protocol/members.md).
#pragma once

#include <memory>

#include "assembly/maintenance/maintenance.hh"
#include "store/engine_store.hh"

namespace xec {

struct Generation {
  StoreDescriptor stored;  // as the data servers show it, without what the configuration changes
  size_t confirmations = 0;  // so many members must show that it is the newest
  std::unique_ptr<Engine> beneath;  // of the same members, also of disks that are left out
  std::unique_ptr<Engine> engine;
  std::unique_ptr<LayoutStore> layout;
  std::unique_ptr<EngineStore> store;
  std::unique_ptr<Maintenance> maintenance;
};

}  // namespace xec

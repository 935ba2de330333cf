// SPDX-License-Identifier: LGPL-3.0-or-later
// OpenedStore: a store that runs in this process, and how it is to be opened.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/space_group.hh"
#include "api/store.hh"
#include "api/store_maintenance.hh"
#include "assembly/configuration/configuration.hh"
#include "audit/audit_log.hh"

namespace xec {

struct OpenOptions {
  // Make a new store when all data servers are empty; else that is an error.
  bool create_if_new = false;
  // Run all jobs of a store; else only what every process has to do. A process that lives long says true:
  // where none does nobody cleans and repairs by itself.
  bool background = false;
  // How lists of jobs name this process, HOST:PORT for example: at most kJobWordsMax bytes that no other
  // process of the store has. One that is started again by the same name goes on with what its jobs were at.
  std::string process = {};
  // How long to wait for servers that do not answer. If fewer than say what the store is have answered then,
  // a store of local directories is an error; of servers too, unless `background`: then every operation
  // answers kNoQuorum until the store could be opened. A store of which some members answer may be opened
  // although they are too few to answer anything: notes() names those that are missing.
  Duration wait = std::chrono::seconds(10);
};

// A store with all it stands on. Thread-safe. Starts threads, so only after a daemon has forked. The
// destructor waits for operations in flight; it must not run on an engine thread. No handle may outlive it.
class OpenedStore {
 public:
  virtual ~OpenedStore() = default;

  virtual Store& store() = 0;
  // Where this process tells of changes and refusals; null: nowhere.
  virtual AuditLog* audit() = 0;
  virtual Executor& executor() = 0;
  virtual const Configuration& configuration() const = 0;

  // By the list of members in use now; it goes on answering for a while when they change, and is there until
  // this object goes. kNoQuorum while the store could not be opened yet.
  virtual Result<StoreMaintenance*> maintenance() = 0;

  // What the user should know: members that are missing, directories left out. Sentences, in order, which are
  // in the log as well.
  virtual std::vector<std::string> notes() const = 0;

  // For an object at `path` as the configuration wants it; front ends add what the user says.
  virtual CreateOptions CreateOptionsFor(std::string_view path) = 0;

  // The group of the path and what it uses, as this process knows it. At once.
  virtual GroupUse UseOf(std::string_view path) = 0;

  // Waits for what goes on in the background after operations were answered, at most so long. True if all
  // ended: otherwise the caller should leave the process without running the destructor.
  [[nodiscard]] virtual bool Settle(Duration at_most) = 0;
};

}  // namespace xec

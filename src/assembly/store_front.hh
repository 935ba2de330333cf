// SPDX-License-Identifier: LGPL-3.0-or-later
// StoreFront: what stands between the front ends of a process and its store: each change is summed up for the
// group of its name, and told by the audit log.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "assembly/opened_store.hh"
#include "audit/audited_store.hh"
#include "space/counted_store.hh"

namespace xec {

// Thread-safe once Open has been called.
class StoreFront {
 public:
  // Brings the ledger up to date.
  using Hear = std::function<Task<void>(SpaceLedger&)>;

  // All references outlive it.
  StoreFront(const Configuration& configuration, const OpenOptions& options, Executor& executor,
             Store& behind, Hear hear);

  // Once, first. Error: the file of the audit log cannot be opened.
  Status Open();

  Store& store() {
    if (audited_) return *audited_;
    return counted_;
  }
  AuditLog* audit() { return audit_.get(); }
  SpaceLedger& space() { return space_; }

 private:
  Task<void> Refresh();

  const Configuration& configuration_;
  const OpenOptions& options_;
  Executor& executor_;
  const Hear hear_;
  SpaceLedger space_;
  CountedStore counted_;
  std::unique_ptr<AuditLog> audit_;  // null: changes are not told
  std::optional<AuditedStore> audited_;
};

}  // namespace xec

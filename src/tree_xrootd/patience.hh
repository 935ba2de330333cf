// SPDX-License-Identifier: LGPL-3.0-or-later
// Patience: waiting for a server that is being started anew.
#pragma once

#include <atomic>

#include "runtime/executor.hh"

namespace xec {

// Of one server. Thread-safe.
class Patience {
 public:
  // `any`: false for one server among others, which are asked instead.
  explicit Patience(bool any) : any_(any), left_(any) {}

  // Is a request that began at `began` to be sent again after a pause? `refused`: nobody took its connection.
  // Once a request has waited in vain, others do not, until the server answers.
  bool Again(bool refused, TimePoint now, TimePoint began, TimePoint deadline);

 private:
  const bool any_;
  std::atomic<bool> left_;
};

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// What a run counts, and the fields that all scenarios print. Not thread-safe: all clients run on one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/result.hh"
#include "runtime/executor.hh"

namespace xec::load {

double Seconds(Duration duration);

// The smallest value that at least the part `q` (0 to 1) of all values does not exceed; 0 when there is none.
double Quantile(const std::vector<double>& sorted, double q);

// User and system time of this process so far.
double CpuSeconds();

class Statistics {
 public:
  // An operation that went well.
  void Add(Duration latency, uint64_t bytes);
  void AddFailure(const Error& error);

  uint64_t failures() const { return failures_; }
  const std::string& first_failure() const { return first_failure_; }

  // Of a run that took so long.
  nlohmann::ordered_json ToJson(Duration wall, double cpu_seconds) const;

 private:
  std::vector<double> latencies_ms_;
  uint64_t bytes_ = 0;
  uint64_t failures_ = 0;
  std::string first_failure_;
};

}  // namespace xec::load

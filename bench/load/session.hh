// SPDX-License-Identifier: LGPL-3.0-or-later
// One run: its clients, each with a connection of its own, and what they count. A scenario connects,
// prepares, measures and reports, in this order, from the main thread; the tasks run on the loop.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <nlohmann/json.hpp>

#include "load/connection.hh"
#include "load/loop.hh"
#include "load/options.hh"
#include "load/statistics.hh"

namespace xec::load {

class Session {
 public:
  explicit Session(const CommonOptions& options) : options_(options) {}

  const CommonOptions& options() const { return options_; }
  Loop& loop() { return loop_; }
  Statistics& statistics() { return statistics_; }
  int clients() const { return static_cast<int>(connections_.size()); }
  Connection& client(int number) { return *connections_[static_cast<size_t>(number)]; }

  // Opens the connections of all clients. False when one could not be opened: that is counted as a failure,
  // and nothing should be measured then.
  bool ConnectAll();
  // One more client, not connected yet. On the loop's thread.
  Connection& AddClient();

  // What measured operations need and is not measured: open files. As ConnectAll.
  bool Prepare(const std::function<Task<Status>(int)>& make);

  // Takes the time of `run`.
  void Measure(const std::function<void()>& run);
  // Takes the time of one task for each client.
  void MeasureClients(const std::function<Task<void>(int)>& make);

  // Counts an operation that began at `start`; answers whether it went well. A client ends at its first
  // failure: one that goes on would show how fast errors are.
  bool Count(TimePoint start, uint64_t bytes, const Status& status);

  // Whether a client that has done so many operations stops: after `count`, or, when that is 0, after the
  // seconds, but not before the first one.
  bool IsOver(uint64_t done, uint64_t count, double seconds) const;

  nlohmann::ordered_json Report() const { return statistics_.ToJson(wall_, cpu_seconds_); }

 private:
  Task<void> CountFailure(Task<Status> task);

  const CommonOptions& options_;
  Loop loop_;
  std::vector<std::unique_ptr<Connection>> connections_;
  Statistics statistics_;
  TimePoint start_;
  Duration wall_ = {};
  double cpu_seconds_ = 0;
};

// "F/c000" of a folder and a name.
std::string PathIn(const std::string& folder, const std::string& name);

}  // namespace xec::load

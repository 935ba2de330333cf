// SPDX-License-Identifier: LGPL-3.0-or-later
#include "load/session.hh"

#include <algorithm>

namespace xec::load {
namespace {

// A server's queue of connections that it has not accepted yet is short; who finds it full waits for a
// second.
constexpr int kConnectingMax = 64;

}  // namespace

Task<void> Session::CountFailure(Task<Status> task) {
  const Status status = co_await task;
  if (!status) statistics_.AddFailure(status.error());
}

bool Session::ConnectAll() {
  for (int i = 0; i < options_.clients; ++i) AddClient();
  for (int first = 0; first < clients() && statistics_.failures() == 0; first += kConnectingMax) {
    loop_.RunAll(std::min(kConnectingMax, clients() - first),
                 [&](int i) { return CountFailure(client(first + i).Connect()); });
  }
  return statistics_.failures() == 0;
}

Connection& Session::AddClient() {
  connections_.push_back(std::make_unique<Connection>(loop_, options_.url, clients()));
  return *connections_.back();
}

bool Session::Prepare(const std::function<Task<Status>(int)>& make) {
  loop_.RunAll(clients(), [&](int i) { return CountFailure(make(i)); });
  return statistics_.failures() == 0;
}

void Session::Measure(const std::function<void()>& run) {
  const double cpu_before = CpuSeconds();
  start_ = loop_.Now();
  run();
  wall_ = loop_.Now() - start_;
  cpu_seconds_ = CpuSeconds() - cpu_before;
}

void Session::MeasureClients(const std::function<Task<void>(int)>& make) {
  Measure([&] { loop_.RunAll(clients(), make); });
}

bool Session::Count(TimePoint start, uint64_t bytes, const Status& status) {
  if (status) {
    statistics_.Add(loop_.Now() - start, bytes);
  } else {
    statistics_.AddFailure(status.error());
  }
  return status.has_value();
}

bool Session::IsOver(uint64_t done, uint64_t count, double seconds) const {
  if (count > 0) return done >= count;
  return done > 0 && Seconds(loop_.Now() - start_) >= seconds;
}

std::string PathIn(const std::string& folder, const std::string& name) {
  return (folder == "/" ? "" : folder) + "/" + name;
}

}  // namespace xec::load

// SPDX-License-Identifier: LGPL-3.0-or-later
// ingest: files arrive at a fixed interval whether or not earlier ones are done, as from an experiment. A
// server that is too slow gets a queue, and the times show it: each counts from when its file was due.
#include <cmath>

#include "load/scenarios.hh"
#include "load/transfer.hh"

namespace xec::load {
namespace {

class Ingest {
 public:
  Ingest(Session& session, const IngestOptions& options)
      : session_(session),
        options_(options),
        durations_s_(static_cast<size_t>(std::max(1.0, std::ceil(options.seconds / options.interval_s)))) {}

  // Starts all transfers in time and waits for them. From the main thread.
  void Run() {
    session_.loop().RunAll(1, [this](int) { return StartAll(); });
    transfers_.Drain();
  }

  // Seconds of each in order of start; null for those that failed.
  const std::vector<nlohmann::ordered_json>& durations_s() const { return durations_s_; }

 private:
  Task<void> StartAll() {
    const TimePoint start = session_.loop().Now();
    for (size_t i = 0; i < durations_s_.size(); ++i) {
      const std::chrono::duration<double> delay(static_cast<double>(i) * options_.interval_s);
      const TimePoint due = start + std::chrono::duration_cast<Duration>(delay);
      co_await session_.loop().SleepUntil(due);
      transfers_.Spawn(WriteOne(i, due));
    }
  }

  Task<void> WriteOne(size_t number, TimePoint due) {
    Connection* connection = TakeIdle();
    if (connection == nullptr) {
      session_.Count(
          due, 0,
          Fail(Code::kUnavailable, "{} transfers are under way: more than can be served", kClientsMax));
      co_return;
    }
    Status status = co_await connection->Connect();
    if (status) {
      Transfer transfer{"", PathIn(options_.folder, fmt::format("i{:04}", number)), options_.size};
      status = co_await RunTransfer(session_, *connection, std::move(transfer), options_.transfer);
    }
    idle_.push_back(connection);
    if (session_.Count(due, options_.size, status)) {
      durations_s_[number] = Seconds(session_.loop().Now() - due);
    }
  }

  // A connection that nobody uses, a new one if need be, or null when there are as many as there may be.
  Connection* TakeIdle() {
    if (idle_.empty()) {
      return session_.clients() == kClientsMax ? nullptr : &session_.AddClient();
    }
    Connection* connection = idle_.back();
    idle_.pop_back();
    return connection;
  }

  Session& session_;
  const IngestOptions& options_;
  std::vector<nlohmann::ordered_json> durations_s_;
  std::vector<Connection*> idle_;
  TaskScope transfers_;
};

}  // namespace

nlohmann::ordered_json RunIngest(Session& session, const IngestOptions& options) {
  Ingest ingest(session, options);
  session.Measure([&] { ingest.Run(); });
  nlohmann::ordered_json report = session.Report();
  report["durations_s"] = ingest.durations_s();
  return report;
}

}  // namespace xec::load

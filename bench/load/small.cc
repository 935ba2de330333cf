// SPDX-License-Identifier: LGPL-3.0-or-later
// small: whole small objects, one after another. Starting one xrdcp for each would measure how fast processes
// start.
#include <algorithm>

#include "load/pattern.hh"
#include "load/scenarios.hh"

namespace xec::load {
namespace {

using Operation = SmallOptions::Operation;

class SmallClients {
 public:
  SmallClients(Session& session, const SmallOptions& options)
      : session_(session), options_(options), done_(static_cast<size_t>(session.clients())) {}

  // Operations until the time is over or all objects are through.
  Task<void> RunClient(int number) {
    Connection& connection = session_.client(number);
    uint64_t& done = done_[static_cast<size_t>(number)];
    while (!IsOver(done)) {
      const uint64_t object = options_.operation == Operation::kPut ? done : done % options_.objects;
      const TimePoint start = session_.loop().Now();
      // Different last components, as files of different jobs have.
      const Status status = co_await RunOne(
          connection, PathIn(options_.folder, fmt::format("{}-{:06}", connection.name(), object)));
      if (!session_.Count(start, BytesOfOne(), status)) co_return;
      ++done;
    }
  }

  uint64_t FewestDone() const { return done_.empty() ? 0 : *std::min_element(done_.begin(), done_.end()); }

 private:
  bool IsOver(uint64_t done) const {
    const bool once = options_.operation == Operation::kDelete;
    return session_.IsOver(done, once ? options_.objects : options_.count, options_.seconds);
  }

  uint64_t BytesOfOne() const {
    const bool moves = options_.operation == Operation::kPut || options_.operation == Operation::kGet;
    return moves ? options_.size : 0;
  }

  Task<Status> RunOne(Connection& connection, std::string path) {
    switch (options_.operation) {
      case Operation::kPut: return Put(connection, std::move(path));
      case Operation::kGet: return Get(connection, std::move(path));
      case Operation::kStat: return Stat(connection, std::move(path));
      default: return connection.Remove(std::move(path));
    }
  }

  Task<Status> Put(Connection& connection, std::string path) {
    RemoteFile file(connection, path);
    Status status = co_await file.Create(options_.size);
    if (status) {
      Request request;
      file.StartWrite(request, 0, Pattern(path).Bytes(0, options_.size), /*pages=*/false);
      const Reply reply = co_await request;
      status = file.CheckWrite(reply);
    }
    const Status closed = co_await file.Close();
    co_return status ? closed : status;
  }

  Task<Status> Get(Connection& connection, std::string path) {
    RemoteFile file(connection, path);
    const Result<uint64_t> size = co_await file.Open();
    Status status = size ? OkStatus() : Status(size.error());
    const auto buffer = std::make_unique_for_overwrite<std::byte[]>(options_.size);
    const std::span<std::byte> into(buffer.get(), options_.size);
    if (status) {
      Request request;
      file.StartRead(request, 0, into, /*pages=*/false);
      const Reply reply = co_await request;
      status = file.CheckRead(reply, options_.size);
    }
    const Status closed = co_await file.Close();
    if (status) status = closed;
    if (status && session_.options().compare && (*size != options_.size || !Pattern(path).Matches(0, into))) {
      co_return Fail(Code::kCorruption, "{}: wrong bytes", path);
    }
    co_return status;
  }

  Task<Status> Stat(Connection& connection, std::string path) {
    const Result<uint64_t> size = co_await connection.Stat(path);
    if (!size) co_return size.error();
    if (*size != options_.size) {
      co_return Fail(Code::kCorruption, "{} has {} bytes instead of {}", path, *size, options_.size);
    }
    co_return OkStatus();
  }

  Session& session_;
  const SmallOptions& options_;
  std::vector<uint64_t> done_;  // operations of each client that went well
};

}  // namespace

nlohmann::ordered_json RunSmall(Session& session, const SmallOptions& options) {
  if (!session.ConnectAll()) return session.Report();
  SmallClients clients(session, options);
  session.MeasureClients([&](int number) { return clients.RunClient(number); });
  nlohmann::ordered_json report = session.Report();
  if (options.operation == Operation::kPut) report["objects_per_client"] = clients.FewestDone();
  return report;
}

}  // namespace xec::load

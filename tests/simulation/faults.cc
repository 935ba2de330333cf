// SPDX-License-Identifier: LGPL-3.0-or-later
// What goes wrong on the way to a server, and with it.
#include <algorithm>

#include "steps.hh"
#include "world.hh"

namespace xec::sim {

const char* FaultName(Fault fault) {
  constexpr const char* kWords[] = {"none",       "crash before", "crash after", "server down",
                                    "power loss", "lost reply",   "delayed",     "error"};
  return kWords[static_cast<size_t>(fault)];
}

// Stands between one gateway and one server and lets things go wrong.
class Line {
 public:
  Line(World& world, Gateway& gateway, size_t server) : world_(world), gateway_(gateway), server_(server) {}
  template <typename T>
  void Around(const Request& request, Start<T> start, Done<T> done);
  template <typename T>
  void Send(Operation operation, const std::string& path, const std::string& to, Start<T> start,
            Done<T> done);

 private:
  World& world_;
  Gateway& gateway_;
  const size_t server_;
};

class LineServer final : public DecoratedServer<Line> {
 public:
  LineServer(DataServerPtr inner, std::shared_ptr<Line> line)
      : DecoratedServer(std::move(inner), std::move(line)) {}
  void Rename(OpContext context, std::string from, std::string to, Done<void> done) override {
    core_->Send<void>(
        Operation::kRename, from, to,
        [inner = inner_, context, from, to](Done<void> d) mutable {
          inner->Rename(context, from, to, std::move(d));
        },
        std::move(done));
  }
};

template <typename T>
void Line::Around(const Request& request, Start<T> start, Done<T> done) {
  Send(request.operation, request.path, {}, std::move(start), std::move(done));
}

template <typename T>
void Line::Send(Operation operation, const std::string& path, const std::string& to, Start<T> start,
                Done<T> done) {
  if (gateway_.dying || gateway_.dead) return;
  Fault fault = world_.PickFault();
  if (fault == Fault::kServerDown && !world_.TakeDown(server_)) fault = Fault::kNone;
  const std::string step = StepOf(operation, path, to);
  ++world_.outcome_.coverage[step][static_cast<size_t>(fault)];
  if (world_.options_.trace) {
    std::string line = fmt::format("s{} {:24} {}", server_, step, path);
    if (!to.empty()) line += " -> " + to.substr(to.rfind('/') + 1);
    if (fault != Fault::kNone) line += fmt::format("  *** {}", FaultName(fault));
    world_.Say(fmt::format("g{}", gateway_.index), line);
    if (fault == Fault::kNone) {
      done = [this, step, path, done = std::move(done)](Result<T> result) mutable {
        if (!result)
          world_.Say(fmt::format("g{}", gateway_.index),
                     fmt::format("s{} {} answers {}", server_, step, result.error().ToString()));
        done(std::move(result));
      };
    }
  }
  VirtualProcess& process = *gateway_.process;
  switch (fault) {
    case Fault::kCrashBefore: gateway_.dying = true; return;
    case Fault::kCrashAfter: gateway_.dying = true; break;
    case Fault::kPowerLoss: world_.servers_[server_]->Crash(world_.random_.Next()); break;
    case Fault::kLostReply: {
      const bool silent = world_.random_.OneIn(2);
      start([silent, done = std::move(done)](Result<T>) mutable {
        if (!silent) done(Fail(Code::kUnavailable, "the connection broke"));
      });
      return;
    }
    case Fault::kDelayed:
      world_.executor_.RunAt(
          world_.executor_.Now() + world_.Between(seconds(1), seconds(60)),
          [start = std::move(start), done = std::move(done)]() mutable { start(std::move(done)); });
      return;
    case Fault::kError: {
      const bool clear = IsMutating(operation) && world_.random_.OneIn(2);
      process.Post([clear, done = std::move(done)]() mutable {
        done(clear ? Fail(Code::kNoSpace, "the disk is full")
                   : Fail(Code::kUnavailable, "the connection was refused"));
      });
      return;
    }
    case Fault::kNone:
    case Fault::kServerDown: break;
  }
  start(std::move(done));
}

DataServerPtr World::LineTo(Gateway& gateway, size_t server) {
  return std::make_shared<LineServer>(servers_[server]->ViewFor(*gateway.process),
                                      std::make_shared<Line>(*this, gateway, server));
}

Fault World::PickFault() {
  if (!faults_) return Fault::kNone;
  const double dice = static_cast<double>(random_.Below(1'000'000)) / 1e6 / intensity_;
  double sum = 0;
  const auto within = [&](double p) { return dice < (sum += p); };
  if (within(1.0 / 2500)) return Fault::kCrashBefore;
  if (within(1.0 / 2500)) return Fault::kCrashAfter;
  if (within(1.0 / 500)) return Fault::kServerDown;
  if (within(1.0 / 800)) return Fault::kPowerLoss;
  if (within(1.0 / 200)) return Fault::kLostReply;
  if (within(1.0 / 200)) return Fault::kDelayed;
  if (within(1.0 / 300)) return Fault::kError;
  return Fault::kNone;
}

bool World::TakeDown(size_t server) {
  const auto count = static_cast<size_t>(std::count(down_.begin(), down_.end(), true));
  if (down_[server] || count >= descriptor_.tolerance) return false;
  down_[server] = true;
  servers_[server]->SetDown(true);
  const Duration pause =
      random_.OneIn(3) ? Between(minutes(1), minutes(40)) : Between(milliseconds(10), seconds(20));
  executor_.RunAt(executor_.Now() + pause, [this, server] {
    if (!down_[server]) return;
    Say(fmt::format("s{}", server), "is back");
    down_[server] = false;
    servers_[server]->SetDown(false);
  });
  return true;
}

}  // namespace xec::sim

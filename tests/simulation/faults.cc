// SPDX-License-Identifier: LGPL-3.0-or-later
// What goes wrong on the way to a server, and with it.
#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/format.h>

#include "steps.hh"
#include "world.hh"

namespace xec::sim {

const char* FaultName(Fault fault) {
  constexpr std::array<const char*, kFaultCount> kWords = {
      "none",      "crash before", "crash after", "server down", "power loss",  "lost reply",  "delayed",
      "error",     "sleep before", "sleep after", "wrong bytes", "short read",  "wrong error", "no space",
      "read-only", "hangs",        "slow",        "empty disk",  "foreign disk"};
  static_assert(kWords.back() != nullptr, "each fault has its name");
  return kWords[static_cast<size_t>(fault)];
}

namespace {

// A step that has been seen this often in a seed is common.
constexpr uint64_t kRareStep = 3;

// Few seeds come to these at all.
bool IsRarest(const std::string& step) {
  return step == "sweep: rename seal" || step == "sweep: moved tombstone" || step == "sweep: directory" ||
         step == "repair: place" || step == "repair: remove archive";
}

// Few requests are these, though much depends on them: what is written to a spare, or read and written by a
// repair, and what an exclusive creator does from its look after sealing on.
bool IsSeldom(const std::string& step) {
  return step.starts_with("spare: ") || step.starts_with("repair: ") || step == "look: barrier" ||
         step == "promote exclusive";
}
constexpr uint64_t kSeldomFaults = 4;  // of each of these steps, in one seed

}  // namespace

// Stands between one gateway and one server and lets things go wrong.
class Line {
 public:
  Line(World& world, Gateway& gateway, size_t server) : world_(world), gateway_(gateway), server_(server) {}
  template <typename T>
  void Around(const Request& request, Start<T> start, Done<T> done);
  template <typename T>
  void Send(Operation operation, const std::string& path, const std::string& to, Start<T> start,
            Done<T> done);
  void AfterRead(const Request& request, const Slice& into, Result<uint64_t>& result);
  void AfterList(const std::string& path, std::vector<Entry>& entries);

 private:
  Fault Meet(const std::string& step, Operation operation, const std::string& path);
  std::optional<Error> Refusal(Fault fault, Operation operation);
  template <typename T>
  Done<T> Traced(const std::string& step, const std::string& path, Done<T> done);
  void SayRequest(const std::string& step, const std::string& path, const std::string& to, Fault fault);

  World& world_;
  Gateway& gateway_;
  const size_t server_;
};

class LineServer final : public DecoratedServer<Line> {
 public:
  LineServer(DataServerPtr inner, std::shared_ptr<Line> line)
      : DecoratedServer(std::move(inner), std::move(line)) {}
  // No server promises an order.
  void List(OpContext context, std::string path, Done<std::vector<Entry>> done) override {
    DecoratedServer::List(
        context, path,
        [core = core_, path, done = std::move(done)](Result<std::vector<Entry>> listed) mutable {
          if (listed) core->AfterList(path, *listed);
          done(std::move(listed));
        });
  }
  void Rename(OpContext context, std::string from, std::string to, Done<void> done) override {
    core_->Send<void>(
        Operation::kRename, from, to,
        [inner = inner_, context, from, to](Done<void> d) mutable {
          inner->Rename(context, from, to, std::move(d));
        },
        std::move(done));
  }
};

void Line::SayRequest(const std::string& step, const std::string& path, const std::string& to, Fault fault) {
  std::string line = fmt::format("s{} {:24} {}", server_, step, path);
  if (!to.empty()) line += " -> " + to.substr(to.rfind('/') + 1);
  if (fault != Fault::kNone) line += fmt::format("  *** {}", FaultName(fault));
  world_.Say(fmt::format("g{}", gateway_.index), line);
}

template <typename T>
void Line::Around(const Request& request, Start<T> start, Done<T> done) {
  Send(request.operation, request.path, {}, std::move(start), std::move(done));
}

// What the request meets.
Fault Line::Meet(const std::string& step, Operation operation, const std::string& path) {
  FaultCounts& met = world_.outcome_.coverage[step];
  Fault fault = world_.PickFault(step, met);
  if (fault == Fault::kNone && world_.Lies(server_, operation, path)) fault = Fault::kWrongError;
  if (fault == Fault::kNone && world_.NodsOff(gateway_, step, path)) fault = Fault::kSleepAfter;
  if (fault == Fault::kNone) world_.FallIllUnder(server_, met, operation, IsRarest(step));
  // A gateway that dies or sleeps does so whoever it asks.
  const bool about_gateway = fault == Fault::kCrashBefore || fault == Fault::kCrashAfter ||
                             fault == Fault::kSleepBefore || fault == Fault::kSleepAfter;
  const Fault ailment = world_.AilmentOf(server_, operation);
  if (ailment != Fault::kNone && !about_gateway) fault = ailment;
  if (fault == Fault::kServerDown && IsRarest(step)) world_.BringBackFor(server_);
  if (fault == Fault::kServerDown && !world_.TakeDown(server_, world_.random_.OneIn(2))) fault = Fault::kNone;
  ++met[static_cast<size_t>(fault)];
  return fault;
}

// With what it is answered without being executed; nullopt: it is not.
std::optional<Error> Line::Refusal(Fault fault, Operation operation) {
  switch (fault) {
    case Fault::kError:
      if (IsMutating(operation) && world_.random_.OneIn(2)) return Fail(Code::kNoSpace, "the disk is full");
      return Fail(Code::kUnavailable, "the connection was refused");
    case Fault::kNoSpace: return Fail(Code::kNoSpace, "no space left");
    case Fault::kReadOnly: return Fail(Code::kPermissionDenied, "the file system is read-only");
    case Fault::kWrongError:
      if (world_.ailment_random_.OneIn(2)) return Fail(Code::kNotFound, "no such file");
      return Fail(Code::kPermissionDenied, "not allowed");
    default: return std::nullopt;
  }
}

template <typename T>
Done<T> Line::Traced(const std::string& step, const std::string& path, Done<T> done) {
  return [this, step, path, done = std::move(done)](Result<T> result) mutable {
    if (!result) {
      world_.Say(fmt::format("g{}", gateway_.index),
                 fmt::format("s{} {} answers {}", server_, step, result.error().ToString()));
    }
    done(std::move(result));
  };
}

// The request, to be executed later.
template <typename T>
Closure Later(Start<T> start, Done<T> done) {
  return [start = std::move(start), done = std::move(done)]() mutable { start(std::move(done)); };
}

template <typename T>
void Line::Send(Operation operation, const std::string& path, const std::string& to, Start<T> start,
                Done<T> done) {
  if (gateway_.dying || gateway_.dead) return;
  const std::string step = gateway_.steps.Name(server_, operation, path, to);
  // What happens to the clocks of disks is in older_disk.cc. Gateways ask for lists of members all the time.
  const bool asks = path == kReservedDirectory || path.starts_with(kDescriptorPath);
  const bool often =
      asks && world_.traits_.members && !IsMutating(operation) && !world_.member_random_.OneIn(10);
  const bool of_clock = path.starts_with(kDiskClockFolder);
  const Fault fault = of_clock || often ? world_.AilmentOf(server_, operation) : Meet(step, operation, path);
  if (world_.options_.trace_lines > 0) {
    SayRequest(step, path, to, fault);
    if (fault == Fault::kNone) done = Traced<T>(step, path, std::move(done));
  }
  VirtualProcess& process = *gateway_.process;
  if (world_.StopsBefore(gateway_, server_, operation, step)) {
    if (!gateway_.dying) process.RunAt(gateway_.awake, Later<T>(std::move(start), std::move(done)));
    return;
  }
  const Duration hesitation = fault == Fault::kNone ? world_.Hesitation(step, path) : Duration(0);
  if (hesitation > Duration(0)) {
    process.RunAt(world_.executor_.Now() + hesitation, Later<T>(std::move(start), std::move(done)));
    return;
  }
  if (const std::optional<Error> refusal = Refusal(fault, operation)) {
    return process.Post([error = *refusal, done = std::move(done)]() mutable { done(std::move(error)); });
  }
  switch (fault) {
    case Fault::kCrashBefore: gateway_.dying = true; return;
    case Fault::kCrashAfter:
      gateway_.dying = true;
      // They may be on one host. What is not put back in its place matters while others are away.
      if (world_.random_.OneIn(2)) {
        const bool gap = step == "repair: remove archive";
        world_.TakeDown(gap ? world_.random_.Below(world_.servers_.size()) : server_, true);
      }
      break;
    case Fault::kPowerLoss: world_.servers_[server_]->Crash(world_.random_.Next()); break;
    case Fault::kLostReply: {
      const bool silent = world_.random_.OneIn(2);
      start([silent, done = std::move(done)](Result<T>) mutable {
        if (!silent) done(Fail(Code::kUnavailable, "the connection broke"));
      });
      return;
    }
    case Fault::kDelayed:
      world_.executor_.RunAt(world_.executor_.Now() + world_.Between(seconds(1), seconds(60)),
                             Later<T>(std::move(start), std::move(done)));
      return;
    case Fault::kSleepAfter:
      // Timers that ran out meanwhile come at the same time as the answer.
      start([this, step, done = std::move(done)](Result<T> result) mutable {
        // Naps of several answers follow one another; they end when all is well.
        if (world_.faults_) world_.Sleep(gateway_, world_.NapTime(step));
        gateway_.process->Post(
            [result = std::move(result), done = std::move(done)]() mutable { done(std::move(result)); });
      });
      return;
    case Fault::kSleepBefore:
      world_.Sleep(gateway_, world_.NapTime(step));
      process.RunAt(gateway_.awake, Later<T>(std::move(start), std::move(done)));
      return;
    case Fault::kHangs:
      world_.illnesses_[server_].hanging.push_back(Later<T>(std::move(start), std::move(done)));
      return;
    default: break;  // the server executes it as it can; of answers: AfterRead
  }
  start(std::move(done));
}

// An archive that is there is denied.
bool World::Lies(size_t server, Operation operation, const std::string& path) {
  const bool may = faults_ && traits_.ailments && traits_.liars[server] && IsArchive(path);
  if (!may || (operation != Operation::kOpen && operation != Operation::kRead)) return false;
  return ailment_random_.OneIn(8);
}

// One byte of an archive arrives wrong, or it seems to end too early.
void Line::AfterRead(const Request& request, const Slice& into, Result<uint64_t>& result) {
  if (!world_.faults_ || !world_.traits_.liars[server_] || !result || *result == 0) return;
  if (!IsArchive(request.path) || !world_.random_.OneIn(4)) return;
  const std::string step = gateway_.steps.Name(server_, request.operation, request.path, {});
  if (world_.traits_.ailments && world_.ailment_random_.OneIn(3)) {
    *result = world_.ailment_random_.Below(*result);
    ++world_.outcome_.coverage[step][static_cast<size_t>(Fault::kShortRead)];
    world_.Say(fmt::format("g{}", gateway_.index),
               fmt::format("s{} gives {} bytes of {}", server_, *result, request.path));
    return;
  }
  const size_t at = world_.random_.Below(*result);
  into.span()[at] ^= static_cast<std::byte>(1 + world_.random_.Below(255));
  ++world_.outcome_.coverage[step][static_cast<size_t>(Fault::kWrongBytes)];
  world_.Say(fmt::format("g{}", gateway_.index),
             fmt::format("s{} byte {} of {} read from {} is wrong", server_, at, *result, request.path));
}

void Line::AfterList(const std::string& path, std::vector<Entry>& entries) {
  if (world_.options_.trace_lines > 0 && IsObjectDirectory(path)) {
    std::set<std::string> names;
    for (const Entry& entry : entries) names.insert(entry.name);
    world_.Say(fmt::format("g{}", gateway_.index),
               fmt::format("s{} shows {}: {}", server_, path, fmt::join(names, " ")));
  }
  Shuffle(entries, world_.shape_random_);
}

DataServerPtr World::LineTo(Gateway& gateway, size_t server, bool watch_clock) {
  const auto line = std::make_shared<LineServer>(servers_[server]->ViewFor(*gateway.process),
                                                 std::make_shared<Line>(*this, gateway, server));
  return Guarded(line, gateway, server, watch_clock);
}

// `met`: what the step has met in this seed.
Fault World::PickFault(const std::string& step, const FaultCounts& met) {
  if (!faults_) return Fault::kNone;
  if (traits_.aimed && traits_.aimed_left > 0 && AimedAt(step) && random_.OneIn(12)) {
    --traits_.aimed_left;
    return *traits_.aimed;
  }
  const uint64_t times = std::accumulate(met.begin(), met.end(), uint64_t{0});
  const bool rare = times < kRareStep;
  const bool seldom = IsSeldom(step) && times - met.front() < kSeldomFaults && !traits_.calm;
  if (seldom && shape_random_.OneIn(6)) return static_cast<Fault>(1 + shape_random_.Below(kPickableFaults));
  // Meanwhile the version that is about to be copied may be removed and forgotten.
  const bool naps = traits_.forgetful && !traits_.calm && traits_.naps_left > 0;
  if (naps && IsCopy(step) && shape_random_.OneIn(6)) {
    --traits_.naps_left;
    return Fault::kSleepBefore;
  }
  const bool fails_over = traits_.failovers && (step == "seal: write" || step == "exclusive seal: write");
  if (fails_over && shape_random_.OneIn(30)) return shape_random_.OneIn(2) ? Fault::kError : Fault::kDelayed;
  if (rare && IsRarest(step) && !traits_.calm) {
    // Most of them are left to what servers suffer from (FallIllUnder).
    if (traits_.ailments && !ailment_random_.OneIn(4)) return Fault::kNone;
    return static_cast<Fault>(random_.Below(kPickableFaults + 1));
  }
  if (rare && traits_.favourite && random_.OneIn(6)) return *traits_.favourite;
  const double dice = static_cast<double>(random_.Below(1'000'000)) / 1e6 / traits_.intensity;
  double sum = 0;
  const auto within = [&](double p) { return dice < (sum += p); };
  if (within(1.0 / 2500)) return Fault::kCrashBefore;
  // What decides is more interesting to die over.
  const bool decides = step == "promote" || step == "promote exclusive" || step == "rename: commit";
  if (within(decides ? 1.0 / 120 : 1.0 / 2500)) return Fault::kCrashAfter;
  if (within(1.0 / 500)) return Fault::kServerDown;
  if (within(1.0 / 800)) return Fault::kPowerLoss;
  if (within(1.0 / 200)) return Fault::kLostReply;
  if (within(1.0 / 200)) return Fault::kDelayed;
  if (within(1.0 / 300)) return Fault::kError;
  // Most requests look; what is done about it matters more, and most of all what has been read and is about
  // to be written elsewhere: while the gateway sleeps there, the version may be removed and forgotten.
  const bool looks = step == "look" || step == "list folder" || step == "remove object directory";
  const bool has_read =
      step == "archive: close" || step == "proved witness: close" || step == "witness: create";
  const double weight = looks ? 0.2 : !has_read ? 1 : traits_.forgetful ? 100 : 6;
  const double sleep = (traits_.sleepy ? 1.0 / 500 : 1.0 / 4000) * weight;
  if (within(sleep)) return Fault::kSleepBefore;
  if (within(sleep)) return Fault::kSleepAfter;
  return Fault::kNone;
}

// A sixteenth of the kinds of steps, other ones in each seed.
bool World::AimedAt(const std::string& step) const {
  uint64_t hash = traits_.aim;
  for (const char c : step) hash = Mix64(hash + static_cast<unsigned char>(c));
  return hash % 16 == 0;
}

bool World::MayGoDown(size_t server) const {
  const auto count = static_cast<size_t>(std::count(down_.begin(), down_.end(), true));
  const size_t count_max = traits_.blackouts ? servers_.size() : descriptor_.tolerance;
  return !down_[server] && count < count_max;
}

void World::SwitchOn(size_t server) {
  if (server == lost_ || (faults_ && HasOlderDisk(server))) return;
  Say(fmt::format("s{}", server), "is back");
  Recover(server);
  down_[server] = false;
  servers_[server]->SetDown(false);
  SwapAfterReturnOf(server);
}

void World::SwitchAllOn() {
  for (size_t i = 0; i < servers_.size(); ++i) SwitchOn(i);
}

// So that this server may go down: it comes back first if it is away, else one of the others does.
void World::BringBackFor(size_t server) {
  if (MayGoDown(server)) return;
  size_t other = 0;
  while (!down_[other] || other == lost_ || HasOlderDisk(other)) {
    if (++other == down_.size()) return;
  }
  SwitchOn(down_[server] ? server : other);
}

// False: it is down already, or enough others are.
bool World::TakeDown(size_t server, bool after_the_request) {
  if (!MayGoDown(server)) return false;
  Duration pause =
      random_.OneIn(3) ? Between(minutes(1), minutes(40)) : Between(milliseconds(10), seconds(20));
  if (traits_.absences && random_.OneIn(2)) pause = Between(minutes(20), minutes(120));
  SwitchOff(server, pause, after_the_request);
  if (traits_.blackouts && random_.OneIn(2)) {
    // Others have the same power supply.
    for (size_t i = 0; i < servers_.size(); ++i) {
      if (!down_[i] && random_.OneIn(2))
        SwitchOff(i, pause + Between(seconds(0), minutes(1)), after_the_request);
    }
  }
  return true;
}

void World::SwitchOff(size_t server, Duration pause, bool after_the_request) {
  down_[server] = true;
  if (!after_the_request) {
    servers_[server]->SetDown(true);
  } else {
    executor_.RunAt(executor_.Now() + milliseconds(5), [this, server] {
      if (down_[server]) servers_[server]->SetDown(true);
    });
  }
  executor_.RunAt(executor_.Now() + pause, [this, server] {
    if (down_[server]) SwitchOn(server);
  });
}

Duration World::NapTime(const std::string& step) {
  if (traits_.forgetful && IsCopy(step)) return Between(minutes(12), minutes(40));
  if (Races() && !kind_random_.OneIn(4)) return ShortNap();
  if (traits_.sleepy && random_.OneIn(2)) return Between(minutes(6), kLongestNap);
  return Between(seconds(10), random_.OneIn(2) ? minutes(2) : minutes(40));
}

void World::Sleep(Gateway& gateway, Duration how_long) {
  // One that is about to stop may be stopped again: it then sleeps until the later moment.
  const TimePoint since = std::max(executor_.Now(), gateway.awake);
  gateway.awake = std::max(gateway.awake, executor_.Now() + how_long);
  gateway.process->SleepUntil(gateway.awake);
  gateway.slept += std::max(Duration(0), gateway.awake - since);
  const bool long_enough = how_long > minutes(12);
  if (traits_.forgetful && long_enough && !random_.OneIn(3)) emptied_until_ = gateway.awake;
  Say(fmt::format("g{}", gateway.index),
      fmt::format("sleeps for {} s", std::chrono::duration_cast<seconds>(how_long).count()));
}

}  // namespace xec::sim

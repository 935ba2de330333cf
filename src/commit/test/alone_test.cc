// SPDX-License-Identifier: LGPL-3.0-or-later
// One client after another, beside a cleaner and with no more bad servers than the store tolerates: nobody is
// told of others who are at work, nor to retry.
#include "base/random.hh"
#include "commit/engine/names.hh"
#include "commit/engine/pause.hh"
#include "commit/engine/tidy_given_up.hh"
#include "commit/rename/rename.hh"
#include "commit/test/test_world.hh"

namespace xec {
namespace {

using namespace std::chrono_literals;
using Gateway = TestWorld::Gateway;

constexpr uint64_t kSeeds = 400;
constexpr int kOperations = 60;

enum class Kind { kNothing, kObject, kDirectory };

// A client that is alone knows what there is.
class LoneClient {
 public:
  explicit LoneClient(const TestWorld::Options& options)
      : random_(options.seed), world_(options), gateways_{&world_.NewGateway(), &world_.NewGateway()} {
    for (const char* name : {"/a", "/b", "/c"}) names_.emplace_back(name, Kind::kNothing);
  }

  void Run() {
    Tidy();
    for (int i = 0; i < kOperations && !::testing::Test::HasFailure(); ++i) {
      world_.Pass(random_.Next() % 4 == 0 ? Below(100s) : Below(3s));
      if (random_.Next() % 3 == 0) ServersChange();
      if (random_.Next() % 2 == 0) SomebodyCleans();
      Operate(i);
    }
    over_ = true;
    ServersReturn();
    world_.Pass(1h);  // the last cleaner ends
  }

 private:
  using Name = std::pair<std::string, Kind>;

  Duration Below(Duration limit) {
    return Duration(static_cast<int64_t>(random_.Next() % static_cast<uint64_t>(limit.count())));
  }

  // Other servers are away than before. Those that return do so at once, and those that leave perhaps in the
  // midst of an operation.
  void ServersChange() {
    ServersReturn();
    for (uint32_t i = 0; i < world_.options.tolerance; ++i) {
      if (random_.Next() % 4 == 0) continue;
      const size_t server = random_.Next() % world_.memory.size();
      const FaultKind kind = random_.Next() % 2 == 0 ? FaultKind::kFailBefore : FaultKind::kHang;
      const auto leave = [this, server, kind, number = changes_] {
        if (number != changes_) return;
        for (Gateway* gateway : gateways_) gateway->faults[server]->plan().Add({.kind = kind});
      };
      world_.executor.RunAt(world_.executor.Now() + Below(60ms), leave);
      away_ += fmt::format(" s{:02}{}", server, kind == FaultKind::kHang ? " (hangs)" : "");
    }
  }
  void ServersReturn() {
    ++changes_;
    changed_ = world_.executor.Now();
    away_.clear();
    for (Gateway* gateway : gateways_) {
      for (const auto& fault : gateway->faults) {
        fault->plan().Clear();
        random_.Next() % 2 == 0 ? fault->plan().ReleaseHung() : fault->plan().DropHung();
      }
    }
  }

  // A client that makes a directory waits for 1 s only for what is still to be tidied on a server that is
  // just back.
  bool Tidied() const { return world_.executor.Now() >= changed_ + 10s; }

  // As the loop of a gateway.
  void Tidy() {
    if (over_) return;
    for (Gateway* gateway : gateways_) scope_.Spawn(TidyGivenUpFiles(*gateway->engine));
    world_.executor.RunAt(world_.executor.Now() + 250ms, [this] { Tidy(); });
  }

  void SomebodyCleans() { scope_.Spawn(Clean(*gateways_[random_.Next() % 2], Below(60ms))); }
  Task<void> Clean(Gateway& gateway, Duration from_now) {
    co_await Pause(*gateway.engine, from_now);
    const Result<CleanOutcome> cleaned = co_await CleanTree(*gateway.engine, world_.Path("/"));
    (void)cleaned;
  }

  void Operate(int i) {
    operation_ = i;
    Gateway& gateway = *gateways_[random_.Next() % 2];
    auto& [name, kind] = names_[random_.Next() % names_.size()];
    Name& other = names_[random_.Next() % names_.size()];
    const ObjectPath path = world_.Path(name);
    Engine& engine = *gateway.engine;
    const uint64_t which = random_.Next() % 8;
    switch (which) {
      case 0:
      case 1:
      case 2: {
        std::optional<Code> error;
        if (which > 0 && kind == Kind::kObject) error = Code::kAlreadyExists;
        if (kind == Kind::kDirectory) error = Code::kIsDirectory;
        Expect(which == 0 ? "put" : "create", name, world_.Run(world_.PutOn(gateway, path, which > 0)),
               error);
        if (!error) kind = Kind::kObject;
        break;
      }
      case 3:
        Expect("remove", name, world_.Run(RemoveObject(engine, path)), ErrorUnless(kind, Kind::kObject));
        if (kind == Kind::kObject) kind = Kind::kNothing;
        break;
      case 4:
        if (!Tidied()) break;
        Expect("mkdir", name, world_.Run(MakeDirectoryName(engine, path, false)),
               kind == Kind::kNothing ? std::nullopt : std::optional(Code::kAlreadyExists));
        if (kind == Kind::kNothing) kind = Kind::kDirectory;
        break;
      case 5:
        Expect("rmdir", name, world_.Run(RemoveDirectoryName(engine, path)),
               ErrorUnless(kind, Kind::kDirectory));
        if (kind == Kind::kDirectory) kind = Kind::kNothing;
        break;
      case 6: Rename(engine, {name, kind}, other); break;
      default:
        if (kind == Kind::kDirectory && other.second == Kind::kNothing && Tidied()) {
          Expect("rename to " + other.first, name,
                 world_.Run(RenameDirectory(engine, path, world_.Path(other.first))), std::nullopt);
          std::swap(kind, other.second);
        }
    }
  }

  void Rename(Engine& engine, const Name& from, Name& to) {
    std::optional<Code> error = ErrorUnless(from.second, Kind::kObject);
    if (!error && to.second == Kind::kDirectory) error = Code::kIsDirectory;
    Expect("rename to " + to.first, from.first,
           world_.Run(RenameObject(engine, world_.Path(from.first), world_.Path(to.first))), error);
    if (error || from.first == to.first) return;
    to.second = Kind::kObject;
    for (auto& [name, kind] : names_) {
      if (name == from.first) kind = Kind::kNothing;
    }
  }

  static std::optional<Code> ErrorUnless(Kind kind, Kind wanted) {
    if (kind == wanted) return std::nullopt;
    if (kind == Kind::kNothing) return Code::kNotFound;
    return kind == Kind::kDirectory ? Code::kIsDirectory : Code::kNotDirectory;
  }

  void Expect(const std::string& what, const std::string& name, const Status& done,
              std::optional<Code> error) {
    EXPECT_EQ(done ? std::optional<Code>() : done.code(), error)
        << "seed " << world_.options.seed << ", operation " << operation_ << ": " << name << " " << what
        << (done ? "" : ": " + done.error().message) << "; away:" << away_;
  }

  Random random_;
  TestWorld world_;
  TaskScope scope_;
  std::vector<Gateway*> gateways_;
  std::vector<Name> names_;
  std::string away_;
  int changes_ = 0;
  TimePoint changed_ = TimePoint::min();
  int operation_ = 0;
  bool over_ = false;
};

class AloneTest : public ToleranceTest {};

INSTANTIATE_TEST_SUITE_P(Tolerance, AloneTest, ::testing::Values(1, 2));

TEST_P(AloneTest, NobodyIsToldOfOthers) {
  for (uint64_t seed = 1; seed <= kSeeds && !HasFailure(); ++seed) {
    TestWorld::Options options = OptionsOf(seed);
    options.engine.superseded_grace = 60s;
    options.engine.upload_grace = 60s;
    LoneClient(options).Run();
  }
}

}  // namespace
}  // namespace xec

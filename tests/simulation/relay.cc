// SPDX-License-Identifier: LGPL-3.0-or-later
// Renames while nobody else disturbs: onto a name that another one creates exclusively, or away from one
// where another one sets an attribute; by a gateway that
// stops once it has committed, while another one looks; and of one object from name to name, by gateways that
// die in the middle.
#include <numeric>

#include "world.hh"

namespace xec::sim {
namespace {

// How long a gateway has for a rename until it is killed: longer than most take.
constexpr Duration kTimeToRename = milliseconds(400);
// Once it has committed: most have not come to move the archives then; or not even to the new name.
constexpr Duration kTimeToMove = milliseconds(60);
constexpr Duration kTimeToArrive = milliseconds(20);
// What is half renamed is looked at so often.
constexpr uint64_t kLooksMax = 4;
// Until cleaners come. Archives of the first rename may be where they were by then, names ago.
constexpr Duration kUntilCleaned = minutes(20);

}  // namespace

// An object at its source, nothing at its target.
bool World::PrepareRename(const Op& rename) {
  Op put, remove;
  put.kind = OpKind::kPut;
  put.name = rename.name;
  put.content = next_content_++;
  remove.kind = OpKind::kRemove;
  remove.name = rename.to;
  const bool written = DoAtRest(*gateways_[0], put);
  if (written) DoAtRest(*gateways_[0], remove);
  if (!written) Break("at rest " + put.name + " cannot be written");
  return written;
}

// Both may begin before either has decided; whoever creates may come to an end long after the object is seen
// under its new name, and what is set may miss it.
void World::RenameBesideAnother() {
  Op look, rename, other;
  rename.name = names_[0];
  look.name = rename.to = names_[1];
  rename.kind = OpKind::kRename;
  const bool sets = kind_random_.OneIn(2);
  look.kind = sets ? OpKind::kGetAttributes : OpKind::kRead;
  other.name = sets ? rename.name : rename.to;
  other.kind = sets ? OpKind::kSetAttribute : OpKind::kExclusivePut;
  Say("----", sets ? "one renames what another one sets an attribute of"
                   : "one renames onto what another one creates");
  if (!PrepareRename(rename)) return;
  if (sets) {
    other.attributes[0] = next_value_++;
    traits_.attributes = true;  // from here on
  } else {
    other.content = next_content_++;
  }
  const size_t renames = kind_random_.Below(kGateways);
  Gateway* const renamer = gateways_[renames].get();
  Gateway* const another = gateways_[(renames + 1) % kGateways].get();
  paces_ = Paces{.commit = milliseconds(50 + kind_random_.Below(400)),
                 .promote = milliseconds(kind_random_.Below(2000))};
  const size_t renamed = history_.Begin(rename, moment_++);
  renamer->scope->Spawn(AskAlone(renamer, renamed));
  const TimePoint start = executor_.Now() + milliseconds(kind_random_.Below(40));
  RunUntil([&] { return executor_.Now() >= start; }, kLongestOperation);
  const size_t done = history_.Begin(other, moment_++);
  another->scope->Spawn(AskAlone(another, done));
  const auto ended = [&](size_t id) {
    return RunUntil([&] { return history_.at(id).ended != kNever; }, kLongestOperation);
  };
  const bool one = ended(renamed);
  DoAtRest(*renamer, look);
  if (!ended(done) || !one) return Break("of two that race alone one does not end");
  paces_.reset();
  DoAtRest(*renamer, look);
}

// Those of all servers.
std::vector<State> World::StatesAt(const std::string& name) const {
  std::vector<State> states;
  const std::string folder = PathOf(name).ObjectDirectory() + "/";
  for (const auto& server : servers_) {
    for (const auto& [path, size] : server->Files()) {
      if (!path.starts_with(folder)) continue;
      std::optional<State> state = ParseState(path.substr(folder.size()));
      if (state) states.push_back(std::move(*state));
    }
  }
  return states;
}

// The moved tombstones at a name, by the rename that left them there, with the number of their servers.
std::map<std::string, size_t> World::MovesAt(const std::string& name) const {
  std::map<std::string, size_t> moves;
  for (const State& state : StatesAt(name)) {
    if (state.kind == StateKind::kTombstone && state.target) ++moves[state.oid];
  }
  return moves;
}

bool World::RenameSealAt(const std::string& name) const {
  const std::vector<State> states = StatesAt(name);
  return std::any_of(states.begin(), states.end(), IsMovingOut);
}

// Whoever dies, or is stopped for a while, once it has committed leaves the object at neither name; and who
// goes on moves archives that others are about to open. Some put another object in its old place first.
void World::LookAtHalfRenamed() {
  Op rename;
  rename.kind = OpKind::kRename;
  rename.name = names_[0];
  rename.to = names_[1];
  Say("----", "one stops in the middle of a rename, another one looks");
  if (!PrepareRename(rename)) return;
  Gateway* const renamer = gateways_[kind_random_.Below(kGateways)].get();
  Gateway* const other = gateways_[1 - renamer->index].get();
  const size_t quorum = renamer->engine->HomeQuorum(PathOf(rename.name));
  const uint64_t enough = CommitsAsked() + quorum;
  const std::map<std::string, size_t> earlier = MovesAt(rename.name);
  const size_t id = history_.Begin(rename, moment_++);
  renamer->scope->Spawn(AskAlone(renamer, id));
  RunUntil([&] { return history_.at(id).ended != kNever || CommitsAsked() >= enough; }, kLongestOperation);
  const bool hides = kind_random_.OneIn(3);
  const bool dies = hides || kind_random_.OneIn(3);
  if (dies) {
    DieWithin(renamer->index, hides ? kTimeToArrive : kTimeToMove);
  } else if (kind_random_.OneIn(2)) {
    Sleep(*renamer, Between(seconds(1), minutes(2)));
  } else {
    LetTimePass(Between(Duration(0), kTimeToMove));
  }
  // Requests of the dead one that are on their way commit it later, after what is told until then.
  const std::map<std::string, size_t> moves = MovesAt(rename.name);
  const bool committed = std::any_of(moves.begin(), moves.end(), [&](const auto& move) {
    return move.second >= quorum && !earlier.contains(move.first);
  });
  if (hides) {
    // What is put in the old place hides the rename there, for some.
    Op put;
    put.kind = OpKind::kPut;
    put.name = rename.name;
    put.content = next_content_++;
    DoAtRest(*other, put);
  }
  for (uint64_t looks = 1 + kind_random_.Below(kLooksMax); looks > 0; --looks) {
    const std::string& name = names_[kind_random_.Below(2)];
    Op look;
    look.kind = kind_random_.OneIn(2) ? OpKind::kList : kind_random_.OneIn(2) ? OpKind::kRead : OpKind::kStat;
    look.name = look.kind == OpKind::kList ? name.substr(0, name.rfind('/')) : name;
    DoAtRest(*other, look);
  }
  if (!RunUntil([this] { return AllAwake(); }, kLongestNap)) return Break("a gateway does not go on");
  const auto ended = [&] { return dies || history_.at(id).ended != kNever; };
  if (!RunUntil(ended, kLongestOperation)) return Break("a rename that was stopped does not end");
  Say("----", "was asked: " + history_.at(id).ToString());
  if (hides && committed) CheckHidden(rename, other->index);
}

// Whoever tells what came after a committed rename at its source has brought it to its end.
void World::CheckHidden(const Op& rename, size_t asked) {
  Op look;
  look.kind = OpKind::kStat;
  look.name = rename.name;
  DoAtRest(*gateways_[asked], look);
  look.name = rename.to;
  const bool there = DoAtRest(*gateways_[asked], look);
  LetCleanersCome();
  if (!outcome_.broken && DoAtRest(*gateways_[asked], look) != there)
    Break(fmt::format("{} is {} although it was told what came after its rename", rename.to,
                      there ? "gone" : "there"));
}

// Everybody else is at rest: the object stays whole, wherever it is in the end.
void World::RenameInARow() {
  std::vector<std::string> names = names_;
  Shuffle(names, kind_random_);
  names.resize(3 + kind_random_.Below(names.size() - 2));
  Op put;
  put.kind = OpKind::kPut;
  put.name = names[0];
  put.content = next_content_++;
  if (!DoAtRest(*gateways_[0], put)) return Break("at rest " + put.name + " cannot be written");
  faults_ = kind_random_.OneIn(2);
  Say("----", faults_ ? "renames in a row, faults again" : "renames in a row");
  // So most die in between: archives are left where they were, names ago.
  paces_ = Paces{.move = milliseconds(kind_random_.Below(500))};
  for (size_t i = 1; i < names.size() && !outcome_.broken; ++i) RenameAndDie(names[i - 1], names[i]);
  paces_.reset();
  LetCleanersCome();
}

void World::LetCleanersCome() {
  executor_.RunUntilTime(executor_.Now() + Between(Duration(0), kUntilCleaned));
  AllIsWell();
  TidyUpAndCheck();
}

// Of all renames so far.
uint64_t World::CommitsAsked() const {
  const auto met = outcome_.coverage.find("rename: commit");
  return met == outcome_.coverage.end()
             ? 0
             : std::accumulate(met->second.begin(), met->second.end(), uint64_t{0});
}

void World::RenameAndDie(const std::string& from, const std::string& to) {
  RunUntil([&] { return gateways_[0] || gateways_[1]; }, kLongestNap);
  const size_t index = kind_random_.Below(kGateways);
  Gateway* const gateway = gateways_[index] ? gateways_[index].get() : gateways_[1 - index].get();
  if (gateway == nullptr) return Break("no gateway starts again");
  Op rename;
  rename.kind = OpKind::kRename;
  rename.name = from;
  rename.to = to;
  const size_t id = history_.Begin(rename, moment_++);
  gateway->scope->Spawn(AskAlone(gateway, id));
  const auto over = [&] { return gateway->dead || history_.at(id).ended != kNever; };
  const uint64_t asked = CommitsAsked();
  const uint64_t enough = asked + gateway->engine->HomeQuorum(PathOf(from));
  switch (kind_random_.Below(8)) {
    case 0: RunUntil(over, kLongestOperation); break;
    case 1: DieWithin(gateway->index, kTimeToRename); break;
    default:
      RunUntil([&] { return over() || CommitsAsked() >= enough; }, kLongestOperation);
      if (!over()) DieWithin(gateway->index, kTimeToMove);
  }
  Say(fmt::format("g{}", gateway->index), "was asked: " + history_.at(id).ToString());
}

}  // namespace xec::sim

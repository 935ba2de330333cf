// SPDX-License-Identifier: LGPL-3.0-or-later
// Once nothing else goes wrong: what fewer than a quorum of homes know, and what no more than a quorum knows.
// A change that was begun on few homes, which nobody has heard since, was never there: who has open what was
// reads on. And of a version that just a quorum has no repair of an archive may lose a home.
#include <algorithm>

#include "base/contains.hh"
#include "placement/homes.hh"
#include "world.hh"

namespace xec::sim {
namespace {

// What was begun is older than the grace of readers then, whichever clocks tell.
constexpr Duration kLongBegun = minutes(10);
// As long as it is read, with what differs by clocks, within the grace.
constexpr Duration kHeldFor = seconds(45);
static_assert(kHeldFor < kReadersGrace);
constexpr Duration kTimeToOpen = seconds(3);
constexpr Duration kLongestRepairStop = minutes(2);
constexpr uint64_t kRequestsOfRepair = 60;

bool Accepts(const std::string& step) { return step == "promote" || step == "mark: tombstone"; }
bool Removes(const std::string& step) { return step == "repair: remove archive"; }
bool Places(const std::string& step) { return step == "repair: place"; }

}  // namespace

void World::AskFewHomesAtRest() {
  // What goes bad may have done so already, on as many servers as may.
  if (AnybodyLied()) return;
  std::vector<std::string> objects = names_;
  // Those of the target of the last rename of a directory are not there before that.
  if (traits_.directories) objects.resize(traits_.names);
  std::erase_if(objects, [this](const std::string& name) { return IsBoth(name); });
  if (!RunUntil([this] { return AllAwake(); }, kLongestNap)) return Break("a gateway does not go on");
  LetBackgroundEnd();
  for (const auto act : {&World::KeepOpen, &World::TellOfFew, &World::RepairThin}) {
    if (!few_random_.OneIn(2)) continue;
    (this->*act)(objects[few_random_.Below(objects.size())]);
    SwitchAllOn();
    stops_.fill(std::nullopt);
    if (!RunUntil([this] { return AllAwake(); }, kLongestNap)) return Break("a gateway does not go on");
    LetBackgroundEnd();
  }
}

Task<void> World::ReadHeld(Gateway* gateway, size_t id, std::string name) {
  const Status status = co_await Read(gateway, id, name, kHeldFor);
  Op& read = history_.at(id);
  if (read.ended == kNever) read.ended = moment_++;
  if (!status) read.error = status.code();
  Say(fmt::format("g{}", gateway->index), "has read " + read.ToString());
}

// Homes that show something accepted above all that the others show, who are a quorum: a change was begun
// there, and not decided.
std::vector<size_t> World::HomesAhead(const std::string& name) const {
  std::map<Version, std::vector<size_t>> by_version;
  const std::string folder = PathOf(name).ObjectDirectory() + "/";
  const Homes homes = HomeFinder(descriptor_).Of(PathOf(name).Last());
  for (const MemberIndex home : homes) {
    Version highest;
    for (const auto& [path, size] : servers_[home]->Files()) {
      if (!path.starts_with(folder)) continue;
      const std::optional<State> state = ParseState(path.substr(folder.size()));
      if (state && state->Accepted()) highest = std::max(highest, *state->version);
    }
    by_version[highest].push_back(home);
  }
  std::vector<size_t> ahead;
  if (by_version.size() > 1) ahead = by_version.rbegin()->second;
  if (ahead.size() > homes.size() - homes.quorum()) ahead.clear();
  return ahead;
}

// Somebody dies who has begun to change on few homes what was there before. These homes.
std::vector<size_t> World::BeginOnFew(const Op& before, const Op& begun) {
  DoAtRest(*gateways_[0], before);
  LetBackgroundEnd();
  const size_t few = descriptor_.tolerance;
  Stop stop;
  stop.before = Accepts;
  stop.of_these = 1 + few_random_.Below(few);
  stop.dies = true;
  AskOne(few_random_.Below(kGateways), begun, stop);
  LetTimePass(seconds(1));  // what it has sent arrives
  stops_.fill(std::nullopt);
  return HomesAhead(begun.name);
}

// An object is put at the name, or removed there.
Op World::ChangeOf(const std::string& name, bool removes) {
  Op change;
  change.kind = removes ? OpKind::kRemove : OpKind::kPut;
  change.name = name;
  if (!removes) change.content = next_content_++;
  return change;
}

// What is begun on few homes nobody hears for long. So what was there is there still, until it is replaced:
// its readers have the time from then on.
void World::KeepOpen(const std::string& name) {
  Say("----", "what was begun at " + name + " on few homes is not there; a reader keeps open what is");
  const Op put = ChangeOf(name, false), begun = ChangeOf(name, few_random_.OneIn(3));
  const std::vector<size_t> ahead = BeginOnFew(put, begun);
  const size_t id = history_.ops().size() - 1;
  for (const size_t home : ahead) SwitchOffUntilTold(home);
  LetTimePass(kLongBegun);
  if (ahead.empty() || !AllAwake()) return;
  Gateway& other = *gateways_[few_random_.Below(kGateways)];
  if (few_random_.OneIn(3)) Tidy(other.index, name, std::nullopt);
  Op read;
  read.kind = OpKind::kRead;
  read.name = name;
  const size_t held = history_.Begin(read, moment_++);
  Gateway* const reader = gateways_[few_random_.Below(kGateways)].get();
  reader->scope->Spawn(ReadHeld(reader, held, name));
  LetTimePass(kTimeToOpen);
  // From here on what was begun will never be there: it is below what is.
  if (DoAtRest(other, ChangeOf(name, false))) never_there_.insert(id);
  SwitchAllOn();
  for (auto& gateway : gateways_) Tidy(gateway->index, name, std::nullopt);
  if (!RunUntil([&] { return history_.at(held).ended != kNever; }, kLongestOperation))
    Break("at rest a read does not end");
}

// Whoever tells that it has happened makes it so: others tell the same once these homes are away.
void World::TellOfFew(const std::string& name) {
  Say("----", "a change of " + name + " is begun on few homes, then these are away");
  const bool removes = few_random_.OneIn(2);
  const std::vector<size_t> ahead = BeginOnFew(ChangeOf(name, !removes), ChangeOf(name, removes));
  if (ahead.empty() || !AllAwake()) return;
  const Op of_name = ChangeOf(name, true);
  LookAt(few_random_.Below(kGateways), of_name);
  for (const size_t home : ahead) SwitchOffUntilTold(home);
  LookAt(few_random_.Below(kGateways), of_name);
}

// Some homes have missed what is put; and while all others are away nobody may tell what is there. Then
// archives go bad, and whoever repairs them is stopped, or dies, in the middle; and all others are away but
// those that missed it and some that were repaired: nobody may be told that it is not there.
void World::RepairThin(const std::string& name) {
  Say("----", "some homes miss what is put at " + name + "; one is stopped that repairs it");
  if (!few_random_.OneIn(3)) DoAtRest(*gateways_[0], ChangeOf(name, few_random_.OneIn(2)));
  LetBackgroundEnd();
  std::vector<MemberIndex> homes = HomeFinder(descriptor_).Of(PathOf(name).Last());
  Shuffle(homes, few_random_);
  const size_t quorum = Quorum(homes.size()), missed = homes.size() - quorum;
  for (size_t i = quorum; i < homes.size(); ++i) SwitchOffUntilTold(homes[i]);
  // What is small is on no other servers.
  const bool small = few_random_.OneIn(2);
  while (small && SizeOf(next_content_) > descriptor_.geometry.chunk_size_bytes) ++next_content_;
  const Op put = ChangeOf(name, false);
  const bool written = DoAtRest(*gateways_[few_random_.Below(kGateways)], put);
  LetBackgroundEnd();
  if (!written) return;
  if (few_random_.OneIn(2)) SwitchAllOn();
  const size_t repairs = few_random_.Below(kGateways);
  if (!down_[homes.back()] && few_random_.OneIn(2)) {
    for (size_t i = 0; i < quorum; ++i) SwitchOffUntilTold(homes[i]);
    Op list;
    list.kind = OpKind::kList;
    list.name = name.substr(0, name.rfind('/'));
    AskOne(repairs, list, std::nullopt);
    SwitchAllOn();
  }
  const size_t bad = 1 + few_random_.Below(missed);
  for (size_t i = 0; i < bad; ++i) SpoilOne(name, homes[i]);
  const Duration stopped = StopRepair(repairs, name, bad);
  for (size_t i = 1; i < quorum; ++i) SwitchOffUntilTold(homes[i]);
  for (uint64_t looks = 1 + few_random_.Below(2); looks > 0; --looks) LookAt(1 - repairs, put);
  LetTimePass(stopped);
  if (few_random_.OneIn(2)) LookAt(repairs, put);
}

// Mostly when a bad archive has gone and its copy has not yet come; or before that already, until another one
// has cleaned or repaired. All servers are back then. For how long, at most.
Duration World::StopRepair(size_t index, const std::string& name, size_t bad) {
  Stop stop;
  const bool cleaned = few_random_.OneIn(3);
  if (few_random_.OneIn(4)) {
    stop.requests = few_random_.Below(kRequestsOfRepair);
  } else {
    stop.before = cleaned ? Removes : Places;
    stop.of_these = few_random_.Below(bad);
  }
  stop.dies = !cleaned && few_random_.OneIn(2);
  stop.length = Between(seconds(10), kLongestRepairStop);
  stops_[index] = stop;
  Await(index, [&](Gateway* gateway) { return Repair(gateway, InStore(name)); });
  SwitchAllOn();
  if (!cleaned) return stop.length;
  stop.before = Places;
  stop.of_these = few_random_.Below(bad);
  stop.dies = few_random_.OneIn(2);
  Tidy(1 - index, name, few_random_.OneIn(3) ? std::optional(stop) : std::nullopt);
  stop.of_these = 0;
  stops_[index] = stop;
  LetTimePass(stop.length + seconds(1));
  return stop.length;
}

}  // namespace xec::sim

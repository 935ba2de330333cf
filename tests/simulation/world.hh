// SPDX-License-Identifier: LGPL-3.0-or-later
// The simulated world of one seed: servers, gateways, clients and what happens to them. Internal to the
// simulator; the parts of the class are in world.cc (what exists), clients.cc (what is asked), reads.cc (what
// is read), long_names.cc (how it is called), directories.cc (what is asked about directories), kinds.cc (and
// about names that are used as both), small.cc (and where there are few names), attributes.cc (and about user
// attributes), faults.cc (what goes wrong), members.cc (how the members change), rot.cc (what goes bad on
// disks), rest.cc (what must hold when everything is well again), relay.cc, preempted.cc and few_homes.cc
// (what few do then). Everything runs on one thread.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/random.hh"
#include "commit/disk/disk_clock.hh"
#include "commit/engine/names.hh"
#include "history.hh"
#include "object/read/object_reader.hh"
#include "run_seed.hh"
#include "runtime/virtual_executor.hh"
#include "server/kinds/memory_server.hh"
#include "steps.hh"
#include "store/layout_store.hh"
#include "traits.hh"

namespace xec::sim {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

inline constexpr size_t kGateways = 2;
inline constexpr size_t kStepsMax = 20'000'000;
inline constexpr Duration kLongestOperation = minutes(20);
// Less than any deadline: who waits for one takes longer.
inline constexpr Duration kLongestWhileServersHang = seconds(9);
inline constexpr Duration kLongestNap = minutes(80);
// A name has so many dead renames of it ended in one pass; each cleaner that went on with the rename of a
// directory has left some.
inline constexpr size_t kLastPasses = 40;
inline constexpr size_t kPassesWithoutDisk = 8;
inline constexpr Duration kAftermath = minutes(100);
// Versions may be ahead of a clock that has to go above them by up to an hour.
inline constexpr Duration kFarAheadMax = minutes(240);
// How long a reader may take over a version that is replaced meanwhile: the grace time less what clocks
// differ.
inline constexpr Duration kReadersGrace = seconds(55);
inline const std::vector<std::string> kNames = {"/a/x", "/a/y", "/b/x", "/b/z"};

template <typename T>
void Shuffle(std::vector<T>& items, Random& random) {
  for (size_t left = items.size(); left > 1; --left) std::swap(items[left - 1], items[random.Below(left)]);
}

struct Gateway {
  size_t index = 0;
  std::unique_ptr<VirtualProcess> process;
  std::unique_ptr<TaskScope> scope;
  std::unique_ptr<Engine> engine;
  std::unique_ptr<LayoutStore> store;
  StoreDescriptor list;  // by which they go
  // By earlier lists: operations that began then go on with these.
  std::vector<std::unique_ptr<Engine>> engines_before;
  std::vector<std::unique_ptr<LayoutStore>> stores_before;
  bool hears = false;  // asks the servers which list is in force
  TimePoint asked_at = {};  // by a client, the last time
  bool carries_out = false;  // a change of it
  std::shared_ptr<DiskClocks> clocks;
  std::unique_ptr<Engine>
      beneath;  // of all disks, also of one that went back in time; where there may be one
  bool knows_clocks = true;
  StepNamer steps;
  bool dying = false;  // dies as soon as the present piece of work has ended
  bool dead = false;
  TimePoint died = TimePoint::max();
  Duration clock_ahead = {};
  Duration slept = {};
  TimePoint awake = {};  // asleep until then

  bool TakesWork() const { return !dying && !process->asleep(); }
  bool AnswersClients() const { return TakesWork() && knows_clocks; }
};

// What somebody was last told of a name.
enum class Thought : size_t { kFree, kObject, kDirectory };

// What a server suffers from for a while (ailments.cc).
struct Illness {
  Fault ailment = Fault::kNone;
  uint64_t serial = 0;  // of the illness
  std::vector<Closure> hanging;  // requests that wait for it to go on
  std::shared_ptr<const MemoryServer::Snapshot> own_disk;  // while another one is, or is to be, in its place
  std::shared_ptr<const MemoryServer::Snapshot> foreign_disk;
  bool other_disk = false;
};

// A disk in whose place an older copy is put (older_disk.cc).
struct OlderDisk {
  std::optional<size_t> server;
  std::shared_ptr<const MemoryServer::Snapshot> copy;
  DiskTime reading = 0;  // of the copy's clock
  bool in_place = false;
  bool due = false;  // it may be put there now
};

// Faults that any request may meet: the first ones.
constexpr size_t kPickableFaults = static_cast<size_t>(Fault::kSleepAfter);

class World {
 public:
  explicit World(const WorldOptions& options)
      : options_(options),
        random_(options.seed),
        executor_(VirtualOptions{options.seed, false, 1'700'000'000'000}),
        history_(SizeOf) {}

  Outcome Run();

 private:
  friend class Line;
  struct Client {
    bool writes = false;
    bool rival = false;  // asks only what another one has just asked for as well
    bool busy = false;
    bool removed = false;  // its last operation was a removal
    size_t op = 0;
    Gateway* gateway = nullptr;
    TimePoint since = {};
    Duration slept = {};  // of the gateway until then
  };

  // What exists (world.cc).
  void ChooseTraits();
  void MakeServers();
  void AddServer();
  void PutFile(size_t server, const std::string& path, const std::string& content);
  Duration ChooseClock(size_t index);
  bool IsFarAhead(const Gateway& gateway) const { return gateway.clock_ahead > minutes(2); }
  void StartGateway(size_t index);
  void Bury(Gateway& gateway);
  void KillTheDying();
  bool RunUntil(const std::function<bool()>& done, Duration longest);

  Duration Between(Duration low, Duration high) {
    return low +
           Duration(static_cast<int64_t>(random_.Below(static_cast<uint64_t>((high - low).count()) + 1)));
  }
  bool Chance(double p) { return static_cast<double>(random_.Below(1'000'000)) < p * 1e6; }
  void Say(const std::string& who, const std::string& what);
  void Break(std::string rule);

  // What goes wrong (faults.cc).
  DataServerPtr LineTo(Gateway& gateway, size_t server, bool watch_clock);
  Fault PickFault(const std::string& step, const FaultCounts& met);
  bool AimedAt(const std::string& step) const;
  bool Lies(size_t server, Operation operation, const std::string& path);
  bool MayGoDown(size_t server) const;
  bool TakeDown(size_t server, bool after_the_request);
  void BringBackFor(size_t server);
  void SwitchOff(size_t server, Duration pause, bool after_the_request);
  void SwitchOn(size_t server);
  void SwitchAllOn();
  void Sleep(Gateway& gateway, Duration how_long);
  Duration NapTime(const std::string& step);

  // What servers suffer from (ailments.cc).
  void ChooseAilments();
  void MakeForeignDisk(size_t server);
  void WriteIdentity(size_t server, const std::string& store);
  DataServerPtr Guarded(DataServerPtr line, Gateway& gateway, size_t server, bool watch_clock);
  void ScheduleAilment();
  Duration IllFor();
  void FallIll(size_t server, Fault ailment);
  void TakeDiskAway(size_t server);
  void PutOtherDisk(size_t server);
  void Recover(size_t server);
  Fault AilmentOf(size_t server, Operation operation) const;
  void FallIllUnder(size_t server, const FaultCounts& met, Operation operation, bool rarest);
  void AskWhileServersHang();
  void AskInTime(Op op);
  void StopServers();
  void PutSeveralInTime();

  // A disk that goes back in time (older_disk.cc).
  void ChooseOlderDisk();
  void ScheduleCopy();
  void TakeCopy(size_t server);
  void ScheduleSwap();
  void SwapAfterReturnOf(size_t server);
  void SwitchOffForCopy();
  void PutCopyInPlace();
  bool HasOlderDisk(size_t server) const { return older_.in_place && older_.server == server; }
  bool EverybodyKnowsLater(size_t server, DiskTime reading) const;
  void WatchAllClocks(int round);
  Task<void> WatchClocks(Gateway* gateway);
  Task<bool> LeavesOut(Gateway* gateway);
  void ReadClocksFirst(size_t gateway);
  void CompareDisks();
  void GoBackAtRest();
  void SwitchOffUntilTold(size_t server);

  // Changes of the members (members.cc).
  void ChooseMemberChanges();
  Result<StoreDescriptor> ListToStartWith();
  void GoBy(Gateway& gateway, const StoreDescriptor& list, TimePoint asked);
  void Follow(Gateway& gateway, const StoreDescriptor& next, TimePoint asked);
  void CheckListsInForce();
  void ScheduleRounds(Gateway& gateway);
  Task<void> Hear(Gateway* gateway);
  bool KnowsList(Gateway& gateway);
  Task<void> CarryOutMemberChange(Gateway* gateway);
  void ScheduleMemberChange();
  std::vector<Result<StoreDescriptor>> PossibleLists(Gateway& gateway);
  Task<void> ChangeMembers(Gateway* gateway);
  Task<void> Decide(Gateway* gateway, StoreDescriptor next);
  Task<void> EmptyMember(Gateway* gateway, std::string id);
  void EndMemberChanges();

  // What goes bad on disks (rot.cc).
  void ScheduleRot();
  bool IsOfThinName(size_t server, const std::string& archive) const;
  void RotOnce();
  std::string_view Spoil(size_t server, const std::string& path, uint64_t size);
  void ScheduleRepair(const std::string& name);
  Task<void> RepairSome(Gateway* gateway);
  Task<void> Repair(Gateway* gateway, std::string name);
  Task<void> RebuildSome(Gateway* gateway);
  static bool IsWhole(const Result<RepairReport>& repaired);
  std::optional<Result<RepairReport>> RepairAsAsked(Gateway& gateway, const std::string& name);
  void RepairAll(Gateway& gateway);

  // What is asked (clients.cc).
  void Think(size_t client);
  void Act(size_t client);
  void Ask(size_t client, Gateway* gateway, Op op);
  Op ChooseOp(size_t client);
  Task<void> Perform(Gateway* gateway, size_t client, size_t id);
  Task<Status> Do(Gateway* gateway, size_t id, Duration hold);
  Task<Status> Put(LayoutStore* store, Op op);
  bool WasChangedLate(const std::string& name) const;
  Task<Status> Other(LayoutStore* store, size_t id, Op op);
  Task<Status> List(LayoutStore* store, size_t id, Op op);
  Task<void> Clean(Gateway* gateway);
  void ScheduleCleaner(size_t gateway);
  bool MayFindSomething(size_t gateway) const;
  void Finish(size_t client, size_t id, Status status);
  void Watch(size_t client, size_t id, Duration wait);
  Duration Took(const Client& client) const;

  // What is read of an object (reads.cc).
  struct Part {
    uint64_t offset = 0;
    uint64_t length = 0;
    std::string bytes;
  };
  uint64_t PickOffset(uint64_t size);
  std::vector<Part> ChooseParts(uint64_t size);
  Content ContentOf(const std::vector<Part>& parts, uint64_t size) const;
  Task<void> Hold(Gateway* gateway, Duration how_long);
  Task<Status> ReadPart(std::shared_ptr<ObjectReader> reader, Part* part);
  Task<Status> ReadAsVector(std::shared_ptr<ObjectReader> reader, std::vector<Part>* parts);
  Task<Status> ReadParts(Gateway* gateway, std::shared_ptr<ObjectReader> reader, std::vector<Part>* parts,
                         Duration hold);
  Task<Status> Read(Gateway* gateway, size_t id, std::string name, Duration hold);

  // Names that are too long for a file name (long_names.cc).
  void LengthenNames();
  std::string InStore(const std::string& name) const;
  std::string FromStore(const std::string& component) const;
  const ObjectPath& PathOf(const std::string& name) const;

  // What is asked about directories (directories.cc).
  void UseDirectories();
  Op ChooseDirectoryOp();
  void RememberDirectories(const Op& op);
  void BeginParts(size_t id);
  void EndParts(size_t id, TimePoint since);
  bool MayBeTakenUp(TimePoint since) const;
  Task<void> AskAlone(Gateway* gateway, size_t id);
  void DieWithin(size_t gateway, Duration longest);
  void RenameAlone();
  void CheckRenamedAlone(const std::map<std::string, Content>& before, const Op& rename);

  // What is asked about names that are used as both (kinds.cc).
  void UseBothKinds();
  bool IsBoth(const std::string& name) const;
  bool Races() const { return traits_.kinds || traits_.small; }  // several want one name at the same time
  std::string PickName();
  std::string PickTarget(const std::string& name);
  Op ChooseKindOp();
  uint64_t Bout() const;
  TimePoint NextBout();
  Duration DeciderDelay(Operation operation);
  Duration Hesitation(const std::string& step, const std::string& path);
  bool NodsOff(const Gateway& gateway, const std::string& step, const std::string& path);
  Duration ShortNap();
  void RememberKinds(const Op& op);
  void HoldParts(size_t id, bool hold);
  Task<Status> RenameEither(Gateway* gateway, size_t id);

  // What is asked where there are one or two names (small.cc).
  void UseFewNames();
  Op ChooseSmallOp(size_t client);
  void Challenge(const Op& creation);

  // What only who renames or creates does, while nobody else is there (relay.cc).
  bool PrepareRename(const Op& rename);
  void RenameBesideAnother();
  void LookAtHalfRenamed();
  void RenameInARow();
  std::vector<State> StatesAt(const std::string& name) const;
  std::map<std::string, size_t> MovesAt(const std::string& name) const;
  bool RenameSealAt(const std::string& name) const;
  void CheckHidden(const Op& rename, size_t asked);
  void LetCleanersCome();
  uint64_t CommitsAsked() const;
  void RenameAndDie(const std::string& from, const std::string& to);

  // What others do while one is stopped in the middle of something (preempted.cc).
  void PreemptAtRest();
  bool AllAwake() const;
  void Prepare(const std::string& name, const Op& op);
  bool MaySpoil(const std::string& path) const;
  void SpoilOne(const std::string& name, std::optional<size_t> on = std::nullopt);
  void SwitchOne(size_t server);
  size_t HomeOf(const std::string& name);
  void LetTimePass(Duration time);
  void PreemptOne(const std::string& name, const Op& op);
  void PreemptCopier(const std::string& name);
  // When a gateway is to be stopped, or killed.
  struct Stop {
    uint64_t steps = 0;  // until then: those that change names
    uint64_t requests = 0;  // after these
    bool (*before)(const std::string& step) = nullptr;  // in place of these: before such a step
    uint64_t of_these = 0;  // not before so many of them
    bool dies = false;
    Duration length{0};
    std::string step;  // the last one of these
    std::optional<size_t> changed;  // the server that was last asked to change a name
    bool stopped = false;
  };
  void Tidy(size_t index, const std::string& name, std::optional<Stop> stop);
  void AskOne(size_t index, const Op& op, std::optional<Stop> stop);
  void LookAt(size_t index, const Op& change);
  void Await(size_t index, const std::function<Task<void>(Gateway*)>& start);
  Op ChooseChangeAt(const std::string& name);
  Stop ChooseStop();
  std::optional<Stop> SeldomStop();
  bool StopsBefore(Gateway& gateway, size_t server, Operation operation, const std::string& step);

  // What fewer than a quorum of homes know, or just a quorum (few_homes.cc).
  void AskFewHomesAtRest();
  void KeepOpen(const std::string& name);
  void TellOfFew(const std::string& name);
  void RepairThin(const std::string& name);
  Duration StopRepair(size_t index, const std::string& name, size_t bad);
  Task<void> ReadHeld(Gateway* gateway, size_t id, std::string name);
  std::vector<size_t> HomesAhead(const std::string& name) const;
  std::vector<size_t> BeginOnFew(const Op& before, const Op& begun);
  Op ChangeOf(const std::string& name, bool removes);

  // What is asked about user attributes (attributes.cc).
  Op ChooseAttributeOp(bool writes);
  bool IsRenaming() const;
  AttributeValues AttributesOfPut();
  Task<Status> ChangeAttribute(LayoutStore* store, Op op);
  Task<Status> GetAttributes(LayoutStore* store, size_t id, std::string name);
  void CheckAttributes(Gateway& gateway, const std::string& name);

  // What must hold at rest (rest.cc).
  void ComeToRest();
  void AllIsWell();
  void SetClocksRight();
  bool AnybodyLied() const;
  void TidyUpAndCheck();
  void CleanUp();
  bool CleanAll(Gateway& gateway);
  void PutBesideRemoval();
  // Puts that replace one version only (replace.cc).
  struct Replacement;
  void ReplaceAtOnce();
  Task<void> Replace(Gateway* gateway, std::optional<Version> only, Duration after,
                     std::shared_ptr<Replacement> replacement);
  void JudgeReplacements(const std::vector<std::shared_ptr<Replacement>>& all, Version replaced);
  std::string NotInTree(Gateway& gateway, const std::set<std::string>& names);
  void CheckTree(Gateway& gateway);
  void BringBackLate(Gateway& gateway);
  bool DoAtRest(Gateway& gateway, Op op);
  void TidyGivenUp(Gateway& gateway);
  void CheckEverything();
  void CheckNames(Gateway& gateway);
  void CheckDirectories(Gateway& gateway);
  void CheckDirectoryFiles(Gateway& gateway, const std::string& directory, bool there);
  void CheckNoOtherFiles();
  void CheckCensus(Gateway& gateway);
  void LetBackgroundEnd();
  void CheckSettings(const std::string& name, uint64_t size, const Settings& told);
  void CheckFiles(Gateway& gateway, const std::string& name, const std::optional<NameInfo>& info);
  // Runs the world until the task has ended; nullopt, and a broken rule, if it does not end.
  template <typename T>
  std::optional<T> Wait(Task<T> task, Gateway& gateway);

  const WorldOptions options_;
  Random random_;
  Random rot_random_{options_.seed + 1};  // of its own: worlds without rot are as they were
  Random attribute_random_{Mix64(options_.seed)};  // as well
  Random ailment_random_{Mix64(options_.seed + 1)};
  Random kind_random_{Mix64(options_.seed + 2)};
  Random shape_random_{Mix64(options_.seed + 3)};  // of what the world is made of, and how it is read
  Random clock_random_{Mix64(options_.seed + 4)};
  Random few_random_{Mix64(options_.seed + 5)};
  Random tree_random_{Mix64(options_.seed + 6)};
  Random replace_random_{Mix64(options_.seed + 7)};
  Random member_random_{Mix64(options_.seed + 8)};
  VirtualExecutor executor_;
  History history_;
  StoreDescriptor descriptor_;  // the last one that a gateway goes by
  bool members_settled_ = false;  // they do not change any more
  uint64_t memory_bytes_ = kMiB;  // of a gateway
  std::vector<std::unique_ptr<MemoryServer>> servers_;
  std::vector<bool> down_;  // away or suffering
  std::vector<Illness> illnesses_;
  std::optional<size_t> lost_;  // the server whose disk never comes back
  OlderDisk older_;
  uint64_t clock_series_ = 0;  // of rounds
  size_t repairs_unfinished_ = 0;  // begun and not ended well
  size_t repairs_begun_ = 0;
  std::array<std::unique_ptr<Gateway>, kGateways> gateways_;
  std::vector<std::unique_ptr<Gateway>> graves_;  // what is still under way refers to them
  std::vector<Client> clients_;
  Moment moment_ = 1;
  std::array<Moment, kGateways> cleaned_at_ = {};  // when each gateway's last pass began
  size_t issued_ = 0;
  Content next_content_ = 1;
  uint64_t next_value_ = 1;  // of an attribute
  Traits traits_;
  std::vector<std::string> names_ = kNames;  // of objects
  std::vector<std::string> directories_ = {"/a", "/b"};
  std::vector<std::string> both_;  // names that are used as objects and as directories
  std::map<std::string, Thought> thoughts_;  // of these
  std::vector<std::string> tops_;  // where there are such names: all that are used but for what is below
  mutable std::map<std::string, ObjectPath> paths_;  // by name, as far as asked for
  std::map<std::string, std::string> in_store_;  // what components of names are called there, if longer
  std::set<std::string> likely_;  // directories that were there when one was last told of
  std::map<std::string, Content> resting_;  // what was read of each name at rest
  std::set<std::string> resting_directories_;  // that were listed at rest
  TimePoint emptied_until_ =
      {};  // until then names are only removed, so that what a sleeper knew is forgotten
  // How long those take that are alone.
  struct Paces {
    Duration commit{0}, move{0};  // of a rename: to decide, and for each archive then
    Duration promote{0};  // of an exclusive creation
  };
  std::optional<Paces> paces_;
  std::array<std::optional<Stop>, kGateways> stops_;
  bool may_spoil_ = false;  // while gateways are stopped something may go bad
  bool spoiled_ = false;  // something has, and is not read while others are away
  std::map<std::string, size_t> spoiled_archives_;  // how many have a wrong byte, by object id
  std::set<size_t> never_there_;  // operations that were not told, and did not happen
  bool faults_ = false;
  bool at_rest_ = false;
  Outcome outcome_;
};

template <typename T>
std::optional<T> World::Wait(Task<T> task, Gateway& gateway) {
  auto result = std::make_shared<std::optional<T>>();
  const auto keep = [](Task<T> inner, std::shared_ptr<std::optional<T>> into) -> Task<void> {
    into->emplace(co_await inner);
  };
  gateway.scope->Spawn(keep(std::move(task), result));
  RunUntil([&] { return result->has_value(); }, kLongestOperation);
  if (!*result) Break("an operation on a healthy store does not end");
  return std::move(*result);
}

}  // namespace xec::sim

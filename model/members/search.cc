// SPDX-License-Identifier: LGPL-3.0-or-later
// Breadth first and random walks; from states that they reach everybody dies, and mover and cleaner alone
// must bring the change to its end and the name to rest.
//   ./model CHANGE [put] [create] [rm] [read] [list] [clean] [mover] ... [full=1] [stale=1] [gone=1]
//           [crashes=N] [delays=N] [downs=N] [wipes=N] [rounds=N] [max=N] [walks=N [seed=N]] [trace=1]
//           [VARIANT...]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>

#include "programs.hh"

namespace model {

bool Advance(Context& c) {
  while (c.me.vars.phase < kDead) {
    const Vars before = c.me.vars;
    c.replayed = 0;
    c.wants = Context::kNothing;
    const Program p = c.me.program;
    Task<u8> step = p == kPutter || p == kCreator ? PutStep(c)
                    : p == kRemover               ? RemoveStep(c)
                    : p == kReader                ? ReadStep(c)
                    : p == kLister                ? ListStep(c)
                    : p == kCleaner               ? CleanStep(c)
                                                  : MoveStep(c);
    if (!step.Run()) {
      c.me.vars = before;  // a phase takes effect as a whole
      return true;
    }
    c.me.vars.phase = step.value();
    c.me.logged = 0;
    c.me.log.fill(0);
  }
  c.me.vars = Vars{.phase = kEnd};  // ended processes are all the same
  return false;
}

namespace {

enum : u8 { kCrash = kProcesses, kLateActor, kDownActor, kWipeActor, kActors };
constexpr u8 kGoOn = kServers, kDelay = kServers + 1, kChoices = 2 * kServers + 1;
struct Step {
  u8 actor, choice;
};

bool Lives(const Process& p) { return p.program != kIdle && p.vars.phase < kDead; }

void Die(Process& p) {
  p.vars = Vars{.phase = kEnd};
  p.logged = 0;
  p.log.fill(0);
}

// Lists that are not in force any more: what was sent is executed, but a listing does not count.
void EndLeases(World& w) {
  for (Process& p : w.processes) {
    if (!Lives(p) || p.vars.phase == kStart || variant.noLease) continue;
    if (p.vars.list >= w.low && p.vars.lapsed == 0) continue;
    p.vars.lapsed = 1;
    Context c{w, p};
    if (!Advance(c) || c.wants != Context::kBatch || c.batch.type != kList) continue;
    Die(p);
    if (p.program == kMover) p.vars = Vars{};  // it begins anew, with the list of now
  }
}

const char* Verb(RequestType t) {
  static const char* verbs[] = {"list", "create", "rename", "remove"};
  return verbs[t];
}

std::string Tell(const World& w, const Process& me) {
  static const char* programs[] = {"", "put", "create", "remove", "read", "lister", "cleaner", "mover"};
  return std::string(programs[me.program]) + std::to_string(&me - w.processes.data()) + " (list " +
         std::to_string(me.vars.list) + (me.vars.lapsed ? ", over" : "") + ")";
}

bool StepBatch(World& w, Process& me, const Context& c, Step step, std::string* told) {
  const Batch q = c.batch;
  const int size = std::popcount(q.mask);
  while (me.logged < c.begun + size) me.log[me.logged++] = kPending;
  if (step.choice == kGoOn) {
    int ok = 0, pending = 0;
    for (int i = c.begun; i < c.begun + size; ++i) ok += me.log[i] == kOk, pending += me.log[i] == kPending;
    if (q.type == kList || ok < q.need || pending == 0) return false;
    for (int i = c.begun; i < c.begun + size; ++i)
      if (me.log[i] == kPending) me.log[i] = kSilent;
    if (told) *told += ": goes on";
    return true;
  }
  const bool delay = step.choice >= kDelay;
  const int server = delay ? step.choice - kDelay : step.choice;
  if ((q.mask >> server & 1) == 0) return false;
  u32& reply = me.log[c.begun + std::popcount(static_cast<u8>(q.mask & ((1 << server) - 1)))];
  if (reply != kPending) return false;
  const bool down = w.down == server + 1 || w.wiped == server + 1;
  if (delay) {
    if (down || q.type == kList || w.delays == 0) return false;
    --w.delays;
    w.late[w.lateCount++] = Late{q.type, static_cast<u8>(server), q.file, q.to};
    if (q.file.kind == kDraft) w.late[w.lateCount - 1].file.nonce = static_cast<u8>(100 + w.delays);
  }
  reply = delay ? static_cast<u32>(kLost) : down ? static_cast<u32>(kSilent) : Execute(w, q, server);
  if (told) {
    *told += std::string(": ") + Verb(q.type) + " " + std::to_string(server) + " " + Describe(q.file);
    if (q.type == kRename) *told += " => " + Describe(q.to);
    *told += delay ? " [late]" : down ? " [away]" : reply == kRefused ? " [refused]" : "";
  }
  return true;
}

bool StepProcess(World& w, Step step, std::string* told) {
  Process& me = w.processes[step.actor];
  if (!Lives(me)) return false;
  Context c{w, me};
  if (!Advance(c)) return false;
  if (told) *told = Tell(w, me);
  if (c.wants == Context::kChoice) {
    if (step.choice >= c.choices) return false;
    me.log[me.logged++] = step.choice;
    if (told) *told += ": choice " + std::to_string(step.choice);
  } else if (!StepBatch(w, me, c, step, told)) {
    return false;
  }
  if (me.logged > kReplies - kServers) std::abort();
  Context after{w, me};
  Advance(after);
  EndLeases(w);
  return true;
}

bool StepWorld(World& w, Step step) {
  const u8 n = step.choice;
  switch (step.actor) {
    case kCrash:
      if (n >= kProcesses || w.crashes == 0 || !Lives(w.processes[n])) return false;
      if (w.processes[n].vars.phase == kStart && w.processes[n].program != kMover) return false;
      --w.crashes;
      Die(w.processes[n]);
      return true;
    case kLateActor: {
      if (n >= w.lateCount || w.down == w.late[n].server + 1) return false;
      const Late l = w.late[n];
      for (int i = n; i + 1 < w.lateCount; ++i) w.late[i] = w.late[i + 1];
      w.late[--w.lateCount] = Late{};
      Execute(w, Batch{.type = l.type, .file = l.file, .to = l.to}, l.server);
      return true;
    }
    case kDownActor:
      if (n > kServers || (n < kServers ? w.down != 0 || w.downs == 0 || w.wiped != 0 : w.down == 0))
        return false;
      if (n < kServers) --w.downs;
      w.down = n < kServers ? static_cast<u8>(n + 1) : u8{0};
      return true;
    default:
      if (n >= kServers || w.wipes == 0 || w.down != 0 || w.wiped != 0) return false;
      if ((setup.lists[w.low].homes >> n & 1) == 0) return false;
      --w.wipes;
      w.servers[n] = Server{};
      if (!variant.noCompare) w.wiped = static_cast<u8>(n + 1);
      return true;
  }
}

bool Apply(World& w, Step step, std::string* told = nullptr) {
  static const char* events[] = {"crash of ", "late request ", "away (5: back) ", "replaced "};
  if (step.actor < kProcesses) return StepProcess(w, step, told);
  if (told) *told = events[step.actor - kProcesses] + std::to_string(step.choice);
  return StepWorld(w, step);
}

// Runs the process alone to its end; which server answers first differs from step to step. False: it does not
// come to one.
bool RunAlone(World& w, Program program, int first, bool trace) {
  w.processes[0] = Process{.program = program};
  Context start{w, w.processes[0]};
  Advance(start);
  u32 random = static_cast<u32>(first) + 1;
  for (int i = 0; i < 3000 && Lives(w.processes[0]); ++i) {
    random = random * 1664525 + 1013904223;
    std::string told;
    bool moved = false;
    for (u8 choice = 0; choice < kServers && !moved; ++choice)
      moved =
          StepProcess(w, {0, static_cast<u8>((choice + (random >> 16)) % kServers)}, trace ? &told : nullptr);
    if (!moved) return false;
    if (trace) std::printf("      at rest: %s |%s\n", told.c_str(), Describe(w).c_str());
  }
  return !Lives(w.processes[0]);
}

const char* Recover(World w, bool trace = false) {
  w.down = 0;
  for (Process& p : w.processes) p = Process{};
  while (w.lateCount > 0) StepWorld(w, {kLateActor, 0});
  const int rounds = std::exchange(setup.rounds, 1);
  if (!RunAlone(w, kMover, 0, trace)) w.Fail("the mover does not end");
  w.low = w.high;
  u64 before = 0;
  for (int i = 0, same = 0; i < 60 && same < kServers && w.error == nullptr; ++i) {
    if (!RunAlone(w, kCleaner, i, trace)) w.Fail("the cleaner does not end");
    same = HashOf(w) == before ? same + 1 : 0;
    before = HashOf(w);
  }
  setup.rounds = rounds;
  if (w.error == nullptr) CheckClean(w);
  return w.error;
}

struct Run {
  World first{};
  long walks = 0, max = 3000000;
  u32 seed = 1, sample = 16;
  bool trace = false;
};

bool Report(const Run& run, const char* error, const std::vector<Step>& steps, const std::string& where) {
  std::printf("FAIL %s (%s, %zu steps)\n", error, where.c_str(), steps.size());
  if (!run.trace) return false;
  World w = run.first;
  for (const Step& step : steps) {
    std::string told;
    Apply(w, step, &told);
    std::printf("  %s |%s\n", told.c_str(), Describe(w).c_str());
  }
  if (w.error == nullptr) Recover(w, true);
  return false;
}

// A set of hashes, open addressing.
struct Seen {
  std::vector<u64> slots = std::vector<u64>(1 << 16);
  u64 count = 0;
  bool Add(u64 h) {
    if (count * 2 > slots.size()) {
      std::vector<u64> old(slots.size() * 2);
      old.swap(slots);
      for (u64 x : old)
        if (x != 0) Place(x);
    }
    if (!Place(h)) return false;
    ++count;
    return true;
  }
  bool Place(u64 h) {
    const u64 mask = slots.size() - 1;
    u64 i = h & mask;
    for (; slots[i] != 0; i = (i + 1) & mask)
      if (slots[i] == h) return false;
    slots[i] = h;
    return true;
  }
};

// What may happen next (some of it may turn out not to be possible).
std::vector<Step> StepsOf(const World& w) {
  std::vector<Step> steps;
  World x = w;
  for (u8 actor = 0; actor < kActors; ++actor) {
    u8 choices = kServers + 1;
    u64 mask = ~0ull;
    if (actor < kProcesses) {
      Process& me = x.processes[actor];
      if (!Lives(me)) continue;
      Context c{x, me};
      Advance(c);  // only to learn what it waits for: nothing changes
      choices = c.wants == Context::kChoice ? static_cast<u8>(c.choices) : kChoices;
      if (c.wants == Context::kBatch)
        mask = c.batch.mask | 1u << kGoOn | (w.delays != 0 ? c.batch.mask << kDelay : 0);
    } else if (actor == kCrash       ? w.crashes == 0
               : actor == kLateActor ? w.lateCount == 0
               : actor == kDownActor ? w.downs == 0 && w.down == 0
                                     : w.wipes == 0) {
      continue;
    }
    for (u8 choice = 0; choice < choices; ++choice)
      if (mask >> choice & 1) steps.push_back({actor, choice});
  }
  return steps;
}

bool BreadthFirst(const Run& run) {
  struct Parent {
    u32 state;
    Step step;
  };
  std::vector<Parent> parents{{0, {}}};
  Seen seen;
  seen.Add(HashOf(run.first));
  std::vector<std::pair<u32, World>> level{{0, run.first}}, next;
  int depth = 0;
  for (; !level.empty() && static_cast<long>(seen.count) < run.max; ++depth, level.swap(next), next.clear()) {
    for (const auto& [at, w] : level) {
      if (static_cast<long>(seen.count) >= run.max) break;
      for (const Step step : StepsOf(w)) {
        World x = w;
        if (!Apply(x, step)) continue;
        const u64 h = HashOf(x);
        if (!seen.Add(h) && x.error == nullptr) continue;
        parents.push_back({at, step});
        const u32 index = static_cast<u32>(parents.size() - 1);
        const char* error = x.error;
        if (error == nullptr && (h >> 40) % run.sample == 0) error = Recover(x);
        if (error != nullptr) {
          std::vector<Step> steps;
          for (u32 i = index; i != 0; i = parents[i].state) steps.insert(steps.begin(), parents[i].step);
          return Report(run, error, steps, std::to_string(seen.count) + " states");
        }
        next.emplace_back(index, x);
      }
    }
  }
  std::printf("ok   %zu states, %d deep, %s\n", parents.size(), depth, level.empty() ? "all" : "stopped");
  return true;
}

bool Walk(const Run& run) {
  std::mt19937 random(run.seed);
  long taken = 0;
  for (long walk = 0; walk < run.walks; ++walk) {
    World w = run.first;
    std::vector<Step> steps;
    const u32 stick = random() % 100;
    const char* error = nullptr;
    for (int misses = 0; steps.size() < 600 && misses < 200 && error == nullptr;) {
      const bool event = random() % 24 == 0;
      const u8 last = steps.empty() ? u8{kActors} : steps.back().actor;
      const bool same = last < kProcesses && Lives(w.processes[last]) && random() % 100 < stick;
      Step step{};
      step.actor = static_cast<u8>(event  ? kProcesses + random() % (kActors - kProcesses)
                                   : same ? last
                                          : random() % kProcesses);
      step.choice =
          static_cast<u8>(event || random() % 30 != 0 ? random() % (kServers + 1) : random() % kChoices);
      World x = w;
      if (!Apply(x, step)) {
        ++misses;
        continue;
      }
      w = x;
      misses = 0;
      steps.push_back(step);
      error = w.error;
      if (error == nullptr && random() % 100 == 0) error = Recover(w);
    }
    taken += static_cast<long>(steps.size());
    if (error == nullptr) error = Recover(w);
    if (error != nullptr) return Report(run, error, steps, "walk " + std::to_string(walk));
  }
  std::printf("ok   %ld walks, %ld steps\n", run.walks, taken);
  return true;
}

}  // namespace

// changes.cc
bool SetChange(const std::string& name);
bool SetVariant(const std::string& name);

namespace {

bool AddProcess(World& w, int at, const std::string& name) {
  static const std::map<std::string, Program> programs = {
      {"put", kPutter},  {"create", kCreator}, {"rm", kRemover}, {"read", kReader},
      {"list", kLister}, {"clean", kCleaner},  {"mover", kMover}};
  auto it = programs.find(name);
  if (it == programs.end() || at >= kProcesses) return false;
  Process& p = w.processes[at];
  p.program = it->second;
  if (p.program != kPutter && p.program != kCreator) return true;
  for (const Process& other : w.processes) p.id = std::max(p.id, static_cast<u8>(other.id));
  if (++p.id >= kWriters) return false;
  setup.exclusive[p.id] = p.program == kCreator;
  return true;
}

// `half`: and a removal that died after one home.
void Plant(World& w, bool full, bool stale, bool gone, bool half) {
  if (!full && !gone) return;
  const Version v = MakeVersion(1, 0);
  const File f{.kind = gone ? kTombstone : kPromoted, .ver = gone ? Removed(v) : v};
  int left = std::popcount(setup.lists[w.low].homes) - (stale ? 1 : 0);
  for (int s = 0; s < kServers; ++s)
    if ((setup.lists[w.low].homes >> s & 1) != 0 && left-- > 0) w.servers[s].Add(f);
  if (half) w.servers[0].Add(File{.kind = kTombstone, .ver = Removed(v)});
  w.floor = f.ver;
  w.chosen[0] = v;
}

Run Parse(int argc, char** argv) {
  Run run;
  World& w = run.first;
  bool full = false, stale = false, gone = false, half = false;
  int processes = 0, uploads = 0;
  u8 ready = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i], key = argument.substr(0, argument.find('='));
    const long n = key == argument ? 0 : std::atol(argument.c_str() + key.size() + 1);
    const std::map<std::string, u8*> counts = {
        {"crashes", &w.crashes},         {"delays", &w.delays}, {"downs", &w.downs}, {"wipes", &w.wipes},
        {"placement", &setup.placement}, {"low", &w.low},       {"high", &w.high},   {"ready", &ready}};
    const std::map<std::string, bool*> flags = {
        {"full", &full}, {"stale", &stale}, {"gone", &gone}, {"half", &half}, {"trace", &run.trace}};
    if (auto count = counts.find(key); count != counts.end())
      *count->second = static_cast<u8>(n);
    else if (auto flag = flags.find(key); flag != flags.end())
      *flag->second = n != 0;
    else if (key == "rounds")
      setup.rounds = static_cast<int>(n);
    else if (key == "max")
      run.max = n;
    else if (key == "walks")
      run.walks = n;
    else if (key == "seed")
      run.seed = static_cast<u32>(n);
    else if (key == "sample")
      run.sample = static_cast<u32>(n);
    else if (AddProcess(w, processes, key))
      ++processes;
    else if (!SetVariant(key) && !SetChange(key))
      std::fprintf(stderr, "unknown: %s\n", argv[i]), std::exit(2);
  }
  for (const Process& p : w.processes) uploads = std::max(uploads, static_cast<int>(p.id));
  Plant(w, full, stale, gone, half);
  for (Process& p : w.processes)
    if (ready != 0 && p.id == uploads) MakeReady(w, p, ready);
  for (Process& p : w.processes) {
    Context c{w, p};
    if (p.program != kIdle) Advance(c);
  }
  return run;
}

}  // namespace
}  // namespace model

int main(int argc, char** argv) {
  const model::Run run = model::Parse(argc, argv);
  for (int i = 1; i < argc; ++i) std::printf("%s ", argv[i]);
  std::printf(": ");
  std::fflush(stdout);
  const bool held = run.walks > 0 ? model::Walk(run) : model::BreadthFirst(run);
  return held ? 0 : 1;
}

// SPDX-License-Identifier: LGPL-3.0-or-later
// Breadth first and random walks over the renames of directories; from the states they reach everybody dies,
// and the cleaner alone must bring the world to rest.
//   ./model [mv:de] [clean] [put:d/a] [rm:e/a] [mkdir:d] [rmdir:d] ... [tree=N] [servers=N] [few=N]
//   [faults=N]
//           [crashes=N] [ticks=N] [fences=N] [cuts=N] [ahead=N] [rounds=N] [renew=1] [walks=N [seed=N]]
//           [max=N] [trace=1] [VARIANT...]
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <unordered_set>
#include <vector>

#include "programs.hh"

namespace model {

bool Advance(Context& c) {
  while (c.me.vars.phase != kEnd) {
    const Vars before = c.me.vars;
    c.replayed = 0;
    c.wants = false;
    Task<u8> step = StepOf(c);
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

enum : u8 { kCrash = kProcesses, kFence, kLateCopy, kTick, kCut, kActors };
struct Step {
  u8 actor, choice;
};

bool Lives(const Process& p) { return p.program != kIdle && p.vars.phase != kEnd && p.vars.phase != kDead; }

bool StepProcess(World& w, Step step, std::string* told) {
  Process& me = w.processes[step.actor];
  if (!Lives(me)) return false;
  Context c{w, me};
  if (!Advance(c)) return false;
  const Request q = c.request;
  if (step.choice >= Choices(w, q)) return false;
  u32 reply = 0;
  if (!Execute(w, step.actor, q, step.choice, &reply)) return false;
  if (told) {
    static const char* programs[] = {"", "renamer", "cleaner", "putter", "remover", "maker", "unmaker"};
    *told = std::string(programs[me.program]) + " " + std::to_string(step.actor) + ": " + Describe(q);
    if (step.choice) *told += "  [choice " + std::to_string(step.choice) + "]";
  }
  if (me.logged == kRepliesMax) std::abort();
  me.log[me.logged++] = reply;
  CheckState(w);  // before its ghosts judge what it just learned
  Context after{w, me};
  Advance(after);
  return true;
}

void Unseal(World& w, int process) {
  for (Name& name : w.names) {
    name.out &= static_cast<u8>(~(1 << process));
    name.in &= static_cast<u8>(~(1 << process));
  }
}

bool HasSeals(const World& w, int process) {
  for (const Name& name : w.names)
    if ((name.out | name.in) >> process & 1) return true;
  return false;
}

bool CreateLate(World& w, int log, int server) {
  Log& at = w.logs[log];
  if (!at.late[server]) return false;
  at.late[server] = 0;
  at.copy[server] = kWritten;
  at.written[server] = w.clock;
  return true;
}

// What happens to processes and servers.
bool StepWorld(World& w, Step step) {
  const int process = step.choice;
  switch (step.actor) {
    case kCrash:
      if (process >= kProcesses || w.crashes == 0 || !Lives(w.processes[process])) return false;
      --w.crashes;
      w.processes[process].vars = Vars{.phase = kDead};
      w.processes[process].logged = 0;
      w.processes[process].log.fill(0);
      return true;
    case kFence:  // by the cleaner of the name, long after
      if (process >= kProcesses || !HasSeals(w, process)) return false;
      if (Lives(w.processes[process]) && w.fences == 0) return false;
      if (Lives(w.processes[process])) --w.fences;
      Unseal(w, process);
      return true;
    case kLateCopy:
      return step.choice < kLogs * setup.servers &&
             CreateLate(w, step.choice / setup.servers, step.choice % setup.servers);
    case kTick:
      if (step.choice > 0 || w.ticks == 0) return false;
      --w.ticks;
      ++w.clock;
      return true;
    default:
      if (step.choice > 0 || w.cuts == 0) return false;
      --w.cuts;
      for (Log& log : w.logs)
        for (u8& copy : log.copy)
          if (copy == kWritten) copy = kNone;
      return true;
  }
}

bool Apply(World& w, Step step, std::string* told = nullptr) {
  static const char* events[] = {"crash of ", "fence of ", "late copy ", "time passes ", "power is lost "};
  if (step.actor < kProcesses) return StepProcess(w, step, told);
  if (told) *told = events[step.actor - kProcesses] + std::to_string(step.choice);
  return StepWorld(w, step);
}

// Everybody dies; then the cleaner alone, with all the time it needs. Nothing fails.
void Recover(World& w, bool trace) {
  for (int p = 0; p < kProcesses; ++p) {
    if (Lives(w.processes[p])) w.processes[p].vars.phase = kDead;
    Unseal(w, p);
  }
  for (int i = 0; i < kLogs * setup.servers; ++i) CreateLate(w, i / setup.servers, i % setup.servers);
  w.faults = 0;
  const int live = setup.liveLogs;
  setup.liveLogs = kLogs;
  for (int pass = 0; pass < 3 && w.error == nullptr; ++pass) {
    w.clock = static_cast<u8>(w.clock + kHorizon + 1);
    for (Log& log : w.logs) {
      int copies = 0;
      for (const u8 copy : log.copy) copies += copy != kNone;
      if (copies == 0) log = Log{};
    }
    w.processes[0] = Process{.program = kCleaner};
    Context start{w, w.processes[0]};
    Advance(start);
    std::string told;
    while (Lives(w.processes[0]) && w.error == nullptr) {
      if (!StepProcess(w, Step{0, 0}, trace ? &told : nullptr)) break;
      if (trace) std::printf("      at rest: %s |%s\n", told.c_str(), Describe(w).c_str());
    }
    for (int p = 0; p < kProcesses; ++p) Unseal(w, p);
  }
  setup.liveLogs = live;
  if (w.error == nullptr) CheckRest(w);
}

struct Run {
  World first{};
  long walks = 0, max = 0;
  u32 seed = 1;
  bool trace = false;
};

const char* Rest(const World& w) {
  World x = w;
  Recover(x, false);
  return x.error;
}

// Says what went wrong, and how.
void Report(const Run& run, const char* error, const std::vector<Step>& steps) {
  std::printf("FAIL %s (%zu steps)\n", error, steps.size());
  if (!run.trace) return;
  World w = run.first;
  for (const Step& step : steps) {
    std::string told;
    Apply(w, step, &told);
    std::printf("  %s |%s\n", told.c_str(), Describe(w).c_str());
  }
  if (w.error == nullptr) Recover(w, true);
}

bool BreadthFirst(const Run& run) {
  struct Parent {
    u32 state;
    Step step;
  };
  std::vector<Parent> parents{{0, {}}};
  std::unordered_set<u64> met{HashOf(run.first)};
  std::vector<std::pair<u32, World>> level{{0, run.first}}, next;
  int depth = 0;
  for (; !level.empty() && static_cast<long>(parents.size()) < run.max; ++depth) {
    for (const auto& [at, w] : level) {
      if (static_cast<long>(parents.size()) >= run.max) break;
      for (u8 actor = 0; actor < kActors; ++actor) {
        for (u8 choice = 0; choice < kLogs * kServersMax; ++choice) {
          World x = w;
          if (!Apply(x, {actor, choice})) {
            if (actor < kProcesses && choice >= 5) break;
            continue;
          }
          if (!met.insert(HashOf(x)).second) continue;
          parents.push_back({at, {actor, choice}});
          const u32 index = static_cast<u32>(parents.size() - 1);
          const char* error = x.error != nullptr ? x.error : Rest(x);
          if (error != nullptr) {
            std::vector<Step> steps;
            for (u32 i = index; i != 0; i = parents[i].state) steps.insert(steps.begin(), parents[i].step);
            Report(run, error, steps);
            return false;
          }
          next.emplace_back(index, x);
        }
      }
    }
    level.swap(next);
    next.clear();
  }
  std::printf("ok   %zu states, %d deep, %s\n", parents.size(), depth, level.empty() ? "all" : "stopped");
  return true;
}

bool Walk(const Run& run) {
  std::mt19937 random(run.seed);
  long steps_taken = 0;
  for (long walk = 0; walk < run.walks; ++walk) {
    World w = run.first;
    std::vector<Step> steps;
    const int length = 10 + static_cast<int>(random() % 240);
    for (int misses = 0; static_cast<int>(steps.size()) < length && misses < 60;) {
      // A process mostly does several things in a row, and mostly nothing goes wrong.
      const bool event = random() % 16 == 0;
      const u8 last = steps.empty() ? u8{kActors} : steps.back().actor;
      const bool same = last < kProcesses && Lives(w.processes[last]) && random() % 4 != 0;
      Step step{};
      step.actor = static_cast<u8>(event  ? kProcesses + random() % (kActors - kProcesses)
                                   : same ? last
                                          : random() % kProcesses);
      if (event)
        step.choice =
            static_cast<u8>(random() % (step.actor == kLateCopy ? kLogs * setup.servers : kProcesses));
      if (!event && random() % 8 == 0) step.choice = static_cast<u8>(random() % 5);
      if (!Apply(w, step)) {
        ++misses;
        continue;
      }
      misses = 0;
      steps.push_back(step);
      if (w.error != nullptr) break;
    }
    steps_taken += static_cast<long>(steps.size());
    const char* error = w.error != nullptr ? w.error : Rest(w);
    if (error != nullptr) {
      std::printf("walk %ld: ", walk);
      Report(run, error, steps);
      return false;
    }
  }
  std::printf("ok   %ld walks, %ld steps\n", run.walks, steps_taken);
  return true;
}

int NameFrom(const std::string& text) {
  for (int name = 0; name < kNames; ++name)
    if (NameText(name) == text) return name;
  std::exit(2);
}

bool SetVariant(const std::string& name) {
  const std::pair<const char*, bool*> all[] = {{"nolog", &variant.noLog},
                                               {"unlogearly", &variant.unlogEarly},
                                               {"resumeblind", &variant.resumeBlind},
                                               {"moveblind", &variant.moveBlind},
                                               {"checkfirst", &variant.checkFirst},
                                               {"forgetfirst", &variant.forgetFirst},
                                               {"noanew", &variant.noAnew},
                                               {"fewcopies", &variant.fewCopies},
                                               {"takeyoung", &variant.takeYoung},
                                               {"byname", &variant.byName},
                                               {"notargetlook", &variant.noTargetLook},
                                               {"voidinsilence", &variant.voidInSilence},
                                               {"opencounts", &variant.openCounts},
                                               {"notforgotten", &variant.notForgotten},
                                               {"noalone", &variant.noAlone},
                                               {"alwaysover", &variant.alwaysOver},
                                               {"dropfirst", &variant.dropFirst},
                                               {"keepalone", &variant.keepAlone},
                                               {"clockfirst", &variant.clockFirst},
                                               {"voidlate", &variant.voidLate},
                                               {"frombegun", &variant.fromBegun},
                                               {"countlate", &variant.countLate},
                                               {"kindgoeson", &variant.kindGoesOn}};
  for (const auto& [text, flag] : all) {
    if (name != text) continue;
    *flag = true;
    return true;
  }
  return false;
}

void AddProcess(World& w, int at, const std::string& verb, const std::string& what, int rounds) {
  static const char* verbs[] = {"", "mv", "clean", "put", "rm", "mkdir", "rmdir"};
  if (at >= kProcesses) std::exit(2);
  Process& p = w.processes[at];
  p.id = static_cast<u8>(at);
  for (u8 program = kRenamer; program <= kUnmaker; ++program)
    if (verb == verbs[program]) p.program = program;
  p.rounds = static_cast<u8>(p.program == kCleaner ? rounds - 1 : 0);
  if (p.program == kIdle) std::exit(2);
  if (p.program == kRenamer) {
    for (int other = 0; other < at; ++other) p.op += w.processes[other].program == kRenamer;
    if (p.op >= kOps) std::exit(2);
    setup.clients = setup.clients || p.op > 0;
    p.name = static_cast<u8>(NameFrom(what.substr(0, 1)));
    p.to = static_cast<u8>(NameFrom(what.substr(1, 1)));
  } else if (p.program != kCleaner) {
    setup.clients = true;
    p.name = static_cast<u8>(NameFrom(what));
  }
}

// 1: d/a; 2: and d/s/x; 3: d/a and the object d/s.
void Plant(World& w, int tree) {
  const auto plant = [&](u8 slot, Kind kind) {
    Name& name = w.names[NameOf(0, slot)];
    name.kind = kind;
    name.version = ++w.next;
    if (kind == kObject) w.content[name.version] = name.version;
  };
  plant(kTopSlot, kDirectory);
  plant(kSlotA, kObject);
  if (tree == 2) plant(kSlotS, kDirectory), plant(kSlotX, kObject);
  if (tree == 3) plant(kSlotS, kObject);
}

Run Parse(int argc, char** argv) {
  Run run;
  World& w = run.first;
  int tree = 1, rounds = 1, processes = 0;
  std::vector<std::pair<std::string, std::string>> programs;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const size_t equals = argument.find('='), colon = argument.find(':');
    const std::string key = argument.substr(0, equals);
    const long n = equals == std::string::npos ? 0 : std::atol(argument.c_str() + equals + 1);
    const u8 few = static_cast<u8>(n);
    if (key == "tree")
      tree = few;
    else if (key == "servers")
      setup.servers = few;
    else if (key == "few")
      setup.few = few;
    else if (key == "ahead")
      setup.ahead = few;
    else if (key == "renew")
      setup.renew = n != 0;
    else if (key == "faults")
      w.faults = few;
    else if (key == "crashes")
      w.crashes = few;
    else if (key == "ticks")
      w.ticks = few;
    else if (key == "fences")
      w.fences = few;
    else if (key == "cuts")
      w.cuts = few;
    else if (key == "rounds")
      rounds = few;
    else if (key == "walks")
      run.walks = n;
    else if (key == "seed")
      run.seed = static_cast<u32>(n);
    else if (key == "max")
      run.max = n;
    else if (key == "trace")
      run.trace = n != 0;
    else if (!SetVariant(key))
      programs.emplace_back(argument.substr(0, colon),
                            colon == std::string::npos ? "" : argument.substr(colon + 1));
  }
  for (const auto& [verb, what] : programs) AddProcess(w, processes++, verb, what, rounds);
  Plant(w, tree);
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

// SPDX-License-Identifier: LGPL-3.0-or-later
// The two searches: random walks and breadth first; both let the cleaners alone recover from the states they
// reach.
//   ./model [mv:AB] [put:A] [rm:B] [read] [clean:A] ... [shared=N] [full=1] [stale=1] [downs=N] [delays=N]
//           [rounds=N] [reads=N] [walks=N [seed=N]] [max=N] [trace=N] [VARIANT...]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "common.hh"

namespace model {

bool Advance(Context& c) {
  while (c.me.vars.phase != kEnd) {
    Vars before = c.me.vars;
    c.replayed = 0;
    c.wants = Context::kNothing;
    Task<u8> task = c.me.program == kPut       ? PutStep(c)
                    : c.me.program == kRemover ? RemoveStep(c)
                    : c.me.program == kRenamer ? RenameStep(c)
                    : c.me.program == kReader  ? ReadStep(c)
                                               : CleanStep(c);
    if (!task.Run()) {
      c.me.vars = before;  // a phase takes effect as a whole
      return true;
    }
    c.me.vars.phase = task.value();
    c.me.logged = 0;
    c.me.log.fill(0);
  }
  c.me.vars = Vars{};  // ended clients are all the same
  c.me.vars.phase = kEnd;
  return false;
}

namespace {

constexpr int kDelayedActor = kClients, kServerActor = kClients + 1, kChoices = kNames * kHomes;
struct Step {
  u8 actor, choice;
};

void Push(World& w, Client& me, u32 reply) {
  if (me.logged == kLogMax) std::abort();
  me.log[me.logged++] = reply;
  Context c{w, me};
  Advance(c);
}

std::string Tell(const World& w, const Client& me, const Request& q) {
  static const char* programs[] = {"", "put", "remove", "rename", "reader", "cleaner"};
  static const char* verbs[] = {"list", "create", "rename", "remove"};
  std::string s = std::string(programs[me.program]) + std::to_string(me.id);
  s += ": server" + std::to_string(q.server) + " " + verbs[q.type];
  if (q.type == kList) {
    s += std::string(" ") + static_cast<char>('A' + q.name) + " =";
    for (const File& f : ListOf(w, q.server, q.name)) s += " " + Describe(f);
  } else {
    s += " " + Describe(q.file);
    if (q.type == kRename) s += " => " + Describe(q.to);
  }
  return s;
}

bool StepClient(World& w, Step step, std::string* told) {
  Client& me = w.clients[step.actor];
  if (me.program == kIdle || me.vars.phase == kEnd) return false;
  Context c{w, me};
  Advance(c);  // only to learn what it waits for: nothing changes
  if (c.wants == Context::kChoice) {
    if (step.choice >= c.choices) return false;
    if (told)
      *told = "client " + std::to_string(step.actor) + " begins, choice " + std::to_string(step.choice);
    Push(w, me, step.choice);
    return true;
  }
  Request q = c.request;
  if (told) *told = Tell(w, me, q);
  bool down = w.down == q.server + 1;
  if (step.choice == 1) {
    if (down || q.type == kList || w.delaysLeft == 0) return false;
    --w.delaysLeft;
    // The client saw a timeout: it never uses that nonce again.
    if (q.file.kind == kUnproved) q.file.nonce = static_cast<u8>(100 + w.delaysLeft);
    w.delayed[w.delayedCount++] = q;
    Push(w, me, kLost);
    if (told) *told += "  [delayed]";
    return true;
  }
  if (step.choice != 0) return false;
  u32 reply = down ? static_cast<u32>(kSilent) : Execute(w, q);
  if (told && reply < kListingBase)
    *told += reply == kSilent ? "  [down]" : reply == kRefused ? "  [refused]" : "";
  CheckState(w);  // before the client's ghosts judge what it just learned
  Push(w, me, reply);
  return true;
}

bool Apply(World& w, Step step, std::string* told = nullptr) {
  if (step.actor < kClients) return StepClient(w, step, told);
  if (step.actor == kDelayedActor) {
    if (step.choice >= w.delayedCount || w.down == w.delayed[step.choice].server + 1) return false;
    Request q = w.delayed[step.choice];
    for (int i = step.choice; i + 1 < w.delayedCount; ++i) w.delayed[i] = w.delayed[i + 1];
    w.delayed[--w.delayedCount] = Request{};
    u32 r = Execute(w, q);
    if (told) {
      *told = "delayed request executes: server" + std::to_string(q.server) + " " + Describe(q.file);
      *told += " => " + Describe(q.to) + (r == kRefused ? " [refused]" : "");
    }
    return true;
  }
  if (step.choice < setup.servers) {
    if (w.down != 0 || w.downsLeft == 0) return false;
    --w.downsLeft;
    w.down = static_cast<u8>(step.choice + 1);
  } else if (step.choice == setup.servers && w.down != 0) {
    w.down = 0;
  } else {
    return false;
  }
  if (told)
    *told = w.down != 0 ? "server" + std::to_string(step.choice) + " goes down" : "the server is back";
  return true;
}

// All clients dead, all servers up, delayed requests executed: the cleaners alone must reach a clean state.
bool Recover(World w, const char** why, bool dump = false) {
  w.down = 0;
  for (int i = 0; i < w.delayedCount; ++i) Execute(w, w.delayed[i]);
  w.delayedCount = 0;
  for (Client& c : w.clients) c = Client{};
  int rounds = std::exchange(setup.rounds, 1);
  u64 before = 0;
  for (int sweep = 0; sweep < 24 && HashOf(w) != before && w.error == nullptr; ++sweep) {
    before = HashOf(w);
    for (int n = 0; n < setup.names; ++n) {
      for (int step = 0; step < 2000; ++step) {
        if (step == 0) w.clients[0] = Client{.program = kCleaner, .name = static_cast<u8>(n)};
        if (!StepClient(w, {0, 0}, nullptr)) break;
      }
    }
    w.clients[0] = Client{};
  }
  setup.rounds = rounds;
  if (w.error == nullptr) CheckClean(w);
  if (dump && w.error != nullptr) std::printf("    after recovery:\n"), Dump(w);
  *why = w.error;
  return w.error == nullptr;
}

bool Overflow(const World& w) {
  for (u8 v : w.chosen)
    if ((v >> 4) > 13) return true;
  return false;
}

struct Options {
  long walks = 0, seed = 1, max = 3'000'000, trace = 120, maxSteps = 500;
  std::string label;
};

int Report(const World& start, const std::vector<Step>& path, const char* why, const Options& o,
           const std::string& where) {
  std::printf("FAIL  %s\n      %s, %zu steps: %s\n", o.label.c_str(), where.c_str(), path.size(), why);
  World w = start;
  long left = o.trace;
  std::string told;
  for (Step s : path) {
    Apply(w, s, &told);
    if (left-- > 0) std::printf("      %s\n", told.c_str());
  }
  if (o.trace > 0) {
    Dump(w);
    const char* again = nullptr;
    Recover(w, &again, true);
  }
  return 1;
}

int Walk(const World& start, const Options& o) {
  u64 state = static_cast<u64>(o.seed) * 0x9E3779B97F4A7C15ull + 1;
  auto random = [&state](u64 n) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (state >> 11) % n;
  };
  long steps = 0, recoveries = 0, renamed = 0;
  for (long n = 0; n < o.walks; ++n) {
    World w = start;
    std::vector<Step> path;
    const char* why = nullptr;
    u64 stick = random(100);  // how long a client keeps running before another one does
    int last = -1;
    for (int i = 0; i < o.maxSteps && why == nullptr; ++i) {
      Step step{};
      bool moved = false;
      if (last >= 0 && random(100) < stick) moved = Apply(w, step = {static_cast<u8>(last), 0});
      for (int t = 0; t < 80 && !moved; ++t) {
        u8 actor = static_cast<u8>(random(kServerActor + 1));
        if (actor >= kClients && random(4) != 0) continue;
        bool choice = actor >= kClients || w.clients[actor].program == kReader;
        step = {actor, static_cast<u8>(choice ? random(kChoices) : random(30) == 0)};
        moved = Apply(w, step);
      }
      if (!moved || Overflow(w)) break;
      ++steps;
      path.push_back(step);
      if (step.actor < kClients) last = step.actor;
      CheckState(w);
      why = w.error;
      if (why == nullptr && random(60) == 0) ++recoveries, Recover(w, &why);
    }
    if (why == nullptr) ++recoveries, Recover(w, &why);
    for (const Move& m : w.moves) renamed += m.answered;
    if (why != nullptr) return Report(start, path, why, o, "walk " + std::to_string(n));
  }
  std::printf("WALK  %s\n      %ld walks, %ld steps, %ld recoveries, ", o.label.c_str(), o.walks, steps,
              recoveries);
  std::printf("%ld renames answered OK, no error\n", renamed);
  return 0;
}

// A set of 64-bit hashes, open addressing, grown by doubling.
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
    u64 mask = slots.size() - 1, i = h & mask;
    for (; slots[i] != 0; i = (i + 1) & mask)
      if (slots[i] == h) return false;
    slots[i] = h;
    return true;
  }
};

int Breadth(const World& start, const Options& o) {
  Seen seen;
  std::vector<u32> parent{0};
  std::vector<Step> by{{}};
  std::vector<std::pair<World, u32>> now{{start, 0}}, next;
  seen.Add(HashOf(start));
  long recoveries = 0;
  int depth = 0;
  auto path = [&](u32 id, const Step* last) {
    std::vector<Step> p;
    if (last != nullptr) p.push_back(*last);
    for (; id != 0; id = parent[id]) p.push_back(by[id]);
    std::reverse(p.begin(), p.end());
    return p;
  };
  for (; !now.empty() && static_cast<long>(seen.count) < o.max; ++depth, now.swap(next), next.clear()) {
    for (auto& [w, id] : now) {
      for (u8 actor = 0; actor <= kServerActor; ++actor) {
        for (u8 choice = 0; choice < kChoices; ++choice) {
          World x = w;
          Step step{actor, choice};
          if (!Apply(x, step) || Overflow(x)) continue;
          CheckState(x);
          std::string where = std::to_string(seen.count) + " states";
          if (x.error != nullptr) return Report(start, path(id, &step), x.error, o, where);
          u64 h = HashOf(x);
          if (!seen.Add(h)) continue;
          parent.push_back(id);
          by.push_back(step);
          u32 mine = static_cast<u32>(parent.size() - 1);
          const char* why = nullptr;
          if ((h >> 40) % 16 == 0 && (++recoveries, !Recover(x, &why)))
            return Report(start, path(mine, nullptr), why, o, where);
          next.push_back({x, mine});
        }
      }
    }
  }
  bool all = now.empty();
  std::printf("%s  %s\n      %lu states%s, ", all ? "PASS" : "PART", o.label.c_str(),
              static_cast<unsigned long>(seen.count), all ? " (all)" : " (bound reached)");
  std::printf("depth %d, %ld recoveries, no error\n", depth, recoveries);
  return 0;
}

struct Scenario {
  World world;
  int clients = 0, operations = 0;
  bool full = false, stale = false;
  int shared = 0;
};

bool AddClient(Scenario& s, const std::string& arg) {
  static const std::map<std::string, Program> programs = {
      {"put", kPut}, {"rm", kRemover}, {"mv", kRenamer}, {"read", kReader}, {"clean", kCleaner}};
  size_t colon = arg.find(':');
  auto it = programs.find(arg.substr(0, colon));
  if (it == programs.end()) return false;
  Client& c = s.world.clients[s.clients++];
  c.program = it->second;
  if (colon != std::string::npos) c.name = static_cast<u8>(arg[colon + 1] - 'A');
  if (c.program == kRenamer) c.target = static_cast<u8>(arg[colon + 2] - 'A');
  setup.names = std::max({setup.names, c.name + 1, c.target + 1});
  if (c.program == kReader || c.program == kCleaner) return true;
  c.id = static_cast<u8>(++s.operations);
  s.world.isRemoval[c.id] = c.program == kRemover;
  setup.placement[c.id] = c.name;
  return true;
}

void Fill(Scenario& s) {
  int first = 3 - s.shared;  // of B's homes
  setup.homes[0] = {0, 1, 2};
  setup.homes[1] = {static_cast<u8>(first), static_cast<u8>(first + 1), static_cast<u8>(first + 2)};
  setup.homes[2] = {1, static_cast<u8>(std::max(3, first)), 0};
  setup.servers = std::max(first + 3, setup.names > 2 ? 4 : 3);
  for (int n = 0; n < setup.names; ++n) {
    setup.placement[4 + n] = static_cast<u8>(n);
    bool source = n == 0;
    for (const Client& c : s.world.clients) source = source || (c.program == kRenamer && c.name == n);
    // B as source of a chain begins empty unless full=1.
    if (n == 1 ? !s.full : !source) continue;
    File p{.kind = kPromoted,
           .name = static_cast<u8>(n),
           .ver = MakeVersion(1, 0),
           .oid = static_cast<u8>(4 + n)};
    for (int h = 0; h < kHomes - (s.stale ? 1 : 0); ++h) s.world.servers[setup.homes[n][h]].Add(p);
    s.world.floor[n] = p.ver;
  }
}

std::map<std::string, bool*> VariantNames() {
  Variants& v = variant;
  return {{"earlyfinish", &v.earlyFinish},
          {"nosourceseal", &v.noSourceSeal},
          {"witnessfinish", &v.witnessFinish},
          {"retireearly", &v.retireEarly},
          {"nofinish", &v.noFinish},
          {"nohold", &v.noHold},
          {"rivalblind", &v.rivalBlind},
          {"rivalnox", &v.rivalNoX},
          {"onelook", &v.oneLook},
          {"readnofinish", &v.readNoFinish},
          {"abortmaj", &v.abortMajority},
          {"noverify", &v.noVerify},
          {"nomark", &v.noMark},
          {"notargetseal", &v.noTargetSeal},
          {"collectearly", &v.collectEarly},
          {"noroll", &v.noRoll},
          {"lookbeforeseal", &v.lookBeforeSeal},
          {"leavesealed", &v.leaveSealed},
          {"nomask", &v.noMask},
          {"noinbound", &v.noInbound},
          {"retireremove", &v.retireRemove},
          {"grace", &v.grace},
          {"sink", &v.sink},
          {"dropseal", &v.dropSeal},
          {"leaveseals", &v.leaveSeals}};
}

int Main(int argc, char** argv) {
  Scenario s;
  Options o;
  auto variants = VariantNames();
  for (int i = 1; i < argc; ++i) {
    std::string arg = argv[i];
    o.label += (i > 1 ? " " : "") + arg;
    size_t eq = arg.find('=');
    if (eq == std::string::npos) {
      if (auto it = variants.find(arg); it != variants.end()) {
        *it->second = true;
      } else if (!AddClient(s, arg)) {
        std::fprintf(stderr, "unknown: %s\n", arg.c_str());
        return 2;
      }
      continue;
    }
    std::string key = arg.substr(0, eq);
    long value = std::atol(arg.c_str() + eq + 1);
    if (key == "shared") s.shared = static_cast<int>(value);
    if (key == "full") s.full = value != 0;
    if (key == "stale") s.stale = value != 0;
    if (key == "downs") s.world.downsLeft = static_cast<u8>(value);
    if (key == "delays") s.world.delaysLeft = static_cast<u8>(std::min<long>(value, kDelayedMax));
    if (key == "rounds") setup.rounds = static_cast<int>(value);
    if (key == "reads") setup.reads = static_cast<int>(value);
    if (key == "walks") o.walks = value;
    if (key == "seed") o.seed = value;
    if (key == "max") o.max = value;
    if (key == "trace") o.trace = value;
  }
  Fill(s);
  return o.walks > 0 ? Walk(s.world, o) : Breadth(s.world, o);
}

}  // namespace
}  // namespace model

int main(int argc, char** argv) { return model::Main(argc, argv); }

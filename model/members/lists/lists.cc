// SPDX-License-Identifier: LGPL-3.0-or-later
// Lists of members alone, without names: descriptors on servers, leases, movers. Breadth first shows what the
// model of a name supposes: after the wait nobody goes by the list before, and no two processes go by lists
// that do not follow each other.
//   ./lists [add | remove | three | two] [one] [half] [never] [back=N] [trace]
#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

using u8 = std::uint8_t;
constexpr int kServers = 5, kUsers = 2, kMovers = 2, kEpochs = 5;  // C, J, S, C', J'
constexpr u8 kNoList = 255;

struct World {
  std::array<u8, kServers> shown{};
  std::array<u8, kUsers> list{}, force{},
      old{};  // in force; its lease is older than the wait of a mover, bits
  std::array<u8, kMovers> waiting{}, waited{};  // epochs
  u8 decided = 0, down = kServers, back = 0, beside = 0;
  std::string Key() const { return {reinterpret_cast<const char*>(this), sizeof *this}; }
};

// takes a list up when one server shows it; waits when a majority has it; no wait
bool one, half, never;
std::array<u8, kEpochs> members = {0b01111, 0b11111, 0b11111, 0b11111, 0b11111};

int Size(int e) { return std::popcount(members[e]); }
int Majority(int e) { return Size(e) / 2 + 1; }
int Away(int e) { return std::min(1, Size(e) - Majority(e)); }

// A round that hears these servers: it may go by list e from now on.
bool Confirms(const World& w, u8 heard, int e, bool take_up) {
  int low = 0, same = 0;
  for (int s = 0; s < kServers; ++s) {
    if ((heard >> s & 1) == 0) continue;
    if (w.shown[s] >= e + 2) return false;
    if ((members[e] >> s & 1) == 0) continue;
    low += w.shown[s] <= e;
    same += w.shown[s] == e;
  }
  if (take_up) return low >= Majority(e) && same >= (one ? 1 : Majority(e));
  return low >= Majority(e);
}

bool Copied(const World& w, int e) {
  for (int list : {std::max(0, e - 1), e}) {
    int have = 0;
    for (int s = 0; s < kServers; ++s) have += (members[list] >> s & 1) != 0 && w.shown[s] >= e;
    if (have < (half ? Majority(list) : Size(list) - Away(list))) return false;
  }
  return true;
}

const char* Wrong(const World& w) {
  if (w.beside) return "a lease is renewed although somebody goes by the next list";
  for (int p = 0; p < kUsers; ++p) {
    if (!w.force[p]) continue;
    for (int q = 0; q < kUsers; ++q)
      if (w.force[q] && w.list[p] > w.list[q] + 1) return "lists that do not follow each other are in use";
    for (int m = 0; m < kMovers; ++m)
      if (w.waited[m] > w.list[p]) return "somebody goes by the list before, after the wait";
  }
  return nullptr;
}

void Users(const World& w, std::vector<World>& out) {
  for (int p = 0; p < kUsers; ++p) {
    for (int heard = 1; heard < 1 << kServers; ++heard) {
      if (w.down < kServers && (heard >> w.down & 1) != 0) continue;
      for (int e = 0; e < kEpochs; ++e) {
        const bool renews = w.list[p] == e && w.force[p] != 0;
        if (w.list[p] != kNoList && w.list[p] > e) continue;
        if (!Confirms(w, static_cast<u8>(heard), e, !renews)) continue;
        World x = w;
        x.list[p] = static_cast<u8>(e), x.force[p] = 1, x.old[p] = 0;
        for (int q = 0; q < kUsers; ++q)
          if (w.force[q] && w.list[q] > e) x.beside = 1;
        out.push_back(x);
      }
    }
    if (w.force[p]) {
      World x = w;
      x.force[p] = 0, x.old[p] = 0;
      out.push_back(x);
    }
  }
}

void Movers(const World& w, std::vector<World>& out) {
  for (int s = 0; s < kServers; ++s) {
    // Any mover copies a list that was decided, in any order; those before it are there as well.
    for (u8 e = static_cast<u8>(w.shown[s] + 1); e <= w.decided; ++e) {
      if (s == w.down || ((members[e] | members[e - 1]) >> s & 1) == 0) continue;
      World x = w;
      x.shown[s] = e;
      out.push_back(x);
    }
    if (w.back > 0 && w.shown[s] > 0) {
      World x = w;
      x.shown[s] = 0, --x.back;
      out.push_back(x);
    }
  }
  for (int m = 0; m < kMovers; ++m) {
    World x = w;
    const u8 bit = static_cast<u8>(1 << m);
    if (w.waiting[m] != 0) {
      x.waited[m] = w.waiting[m], x.waiting[m] = 0;
      for (int p = 0; p < kUsers; ++p) {
        if ((w.old[p] & bit) != 0 && !never) x.force[p] = 0;
        x.old[p] &= static_cast<u8>(x.force[p] ? ~bit : 0);
      }
      out.push_back(x);
    } else if (w.waited[m] < w.decided && Copied(w, w.decided)) {
      x.waiting[m] = w.decided;
      for (int p = 0; p < kUsers; ++p)
        if (w.force[p]) x.old[p] |= bit;
      out.push_back(x);
    } else if (w.waited[m] == w.decided && w.decided + 1 < kEpochs) {
      ++x.decided;
      out.push_back(x);
    }
  }
}

void Servers(const World& w, std::vector<World>& out) {
  for (u8 s = 0; s <= kServers; ++s) {
    if (s == w.down || (w.down != kServers && s != kServers)) continue;
    World x = w;
    x.down = s;
    out.push_back(x);
  }
}

void Print(const World& w) {
  std::printf("  decided %d shown", w.decided);
  for (const u8 e : w.shown) std::printf(" %d", e);
  for (int p = 0; p < kUsers; ++p)
    std::printf(" | user %d: list %d%s", p, w.list[p], w.force[p] ? "" : " over");
  for (int m = 0; m < kMovers; ++m)
    std::printf(" | mover %d: waits %d, waited %d", m, w.waiting[m], w.waited[m]);
  std::printf("\n");
}

bool Search(const World& first, bool trace) {
  std::vector<World> states{first};
  std::vector<size_t> parent{0};
  std::unordered_map<std::string, size_t> met{{first.Key(), 0}};
  std::vector<World> next;
  for (size_t at = 0; at < states.size(); ++at) {
    next.clear();
    const World w = states[at];
    Users(w, next), Movers(w, next), Servers(w, next);
    for (const World& x : next) {
      if (!met.emplace(x.Key(), states.size()).second) continue;
      states.push_back(x);
      parent.push_back(at);
      const char* wrong = Wrong(x);
      if (wrong == nullptr) continue;
      std::printf(": FAIL %s (%zu states)\n", wrong, states.size());
      std::vector<size_t> path;
      for (size_t i = states.size() - 1; i != 0; i = parent[i]) path.insert(path.begin(), i);
      if (trace)
        for (const size_t i : path) Print(states[i]);
      return false;
    }
  }
  std::printf(": ok   %zu states, all\n", states.size());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  World w;
  bool trace = false;
  for (int i = 1; i < argc; ++i) {
    const std::string a = argv[i];
    if (a == "remove")
      members = {0b11111, 0b11111, 0b01111, 0b01111, 0b01111};
    else if (a == "three")
      members = {0b00111, 0b01111, 0b01111, 0b01111, 0b01111};
    else if (a == "two")
      members = {0b00011, 0b00111, 0b00111, 0b00111, 0b00111};
    else if (a == "one")
      one = true;
    else if (a == "half")
      half = true;
    else if (a == "never")
      never = true;
    else if (a == "trace")
      trace = true;
    else if (a != "add")
      w.back = static_cast<u8>(std::atoi(a.c_str() + a.size() - 1));
    std::printf("%s ", argv[i]);
  }
  for (int p = 0; p < kUsers; ++p) w.force[p] = 1;
  return Search(w, trace) ? 0 : 1;
}

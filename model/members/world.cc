// SPDX-License-Identifier: LGPL-3.0-or-later
#include "world.hh"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

namespace model {

Setup setup;
Variants variant;

bool Server::Has(File f) const {
  return std::find(files.begin(), files.begin() + count, f) != files.begin() + count;
}

void Server::Add(File f) {
  if (count == kFiles) std::abort();
  int i = count++;
  // Sorted, so that equal contents are equal states.
  for (; i > 0 && files[i - 1].bits() > f.bits(); --i) files[i] = files[i - 1];
  files[i] = f;
}

bool Server::Remove(File f) {
  for (int i = 0; i < count; ++i) {
    if (!(files[i] == f)) continue;
    for (; i + 1 < count; ++i) files[i] = files[i + 1];
    files[--count] = File{};
    return true;
  }
  return false;
}

File Top(const Listing& files) {
  File top;
  for (const File& f : files)
    if (f.accepted() && f.ver > top.ver) top = f;
  return top;
}

const File* SealOf(const Listing& files, int id) {
  for (const File& f : files)
    if (f.seal() && f.id == id) return &f;
  return nullptr;
}

bool HasMark(const Listing& files, int id) {
  return std::any_of(files.begin(), files.end(),
                     [id](const File& f) { return f.kind == kMark && f.id == id; });
}

Listing ListOf(const Server& s) { return {s.files.begin(), s.files.begin() + s.count}; }

namespace {
std::map<std::vector<u32>, u32> internNumber;
std::vector<Listing> internTable;
}  // namespace

u32 Intern(const Server& s) {
  std::vector<u32> key;
  for (int i = 0; i < s.count; ++i) key.push_back(s.files[i].bits());
  auto [it, added] =
      internNumber.try_emplace(std::move(key), kListingBase + static_cast<u32>(internTable.size()));
  if (added) internTable.push_back(ListOf(s));
  return it->second;
}

const Listing& Interned(u32 reply) { return internTable[reply - kListingBase]; }

namespace {

// An exclusive version and another that lived between it and its base.
bool Overrides(const World& w, int exclusive, int other) {
  if (!setup.exclusive[exclusive] || (w.shown >> exclusive & w.shown >> other & 1) == 0) return false;
  const Version v = w.chosen[exclusive], u = w.chosen[other];
  return exclusive != other && u < v && u > w.base[exclusive] && (w.removed >> other & 1) == 0;
}

}  // namespace

void World::Raise(Version v) {
  floor = std::max(floor, v);
  if (v == 0) return;
  u8& mask = Gone(v) ? removed : shown;
  mask |= static_cast<u8>(1 << Writer(v));
  for (int a = 1; a < kWriters; ++a)
    for (int b = 1; b < kWriters; ++b)
      if (Overrides(*this, a, b)) Fail("created exclusively although something lived");
}

u32 Execute(World& w, const Batch& q, int server) {
  Server& s = w.servers[server];
  switch (q.type) {
    case kList: return Intern(s);
    case kCreate:
      if (s.Has(q.file)) return q.file.seal() ? kRefused : kOk;
      if (q.file.kind == kTombstone) w.made[server] = w.high;
      s.Add(q.file);
      return kOk;
    case kRename:
      if (!s.Remove(q.file)) return kRefused;
      if (!s.Has(q.to)) s.Add(q.to);
      return kOk;
    case kRemove:
      if (!s.Remove(q.file)) return kRefused;
      return kOk;
  }
  return kSilent;
}

void CheckClean(World& w) {
  const List& last = setup.lists.back();
  if (w.low + 1 != static_cast<int>(setup.lists.size()) && w.high + 1 != static_cast<int>(setup.lists.size()))
    w.Fail("the change did not end");
  Version top = 0;
  int have = 0;
  for (int s = 0; s < kServers; ++s)
    if (last.homes >> s & 1) top = std::max(top, Top(ListOf(w.servers[s])).ver);
  for (int s = 0; s < kServers; ++s) {
    const bool home = (last.homes >> s & 1) != 0;
    const Listing files = ListOf(w.servers[s]);
    if (home) have += Top(files).ver == top;
    if (!home && (last.members >> s & 1) == 0) continue;
    for (const File& f : files) {
      const bool archive = f.kind == kPromoted && f.ver == top;
      if (f.kind != kMark && !archive && !(home && f.kind == kWitness && f.ver == top))
        w.Fail("not clean: something is left");
    }
  }
  if (top != 0 && have < last.quorum()) w.Fail("not clean: on less than a quorum");
  if (std::max(top, w.collected) < w.floor) w.Fail("the committed version is lost");
  if (top != 0 && top < w.collected) w.Fail("a removed version came back");
  if (top != 0) w.Raise(top);
}

u64 HashOf(const World& w) {
  u64 h = 0x9E3779B97F4A7C15ull;
  auto mix = [&h](const void* data, size_t size) {
    const u8* p = static_cast<const u8*>(data);
    for (; size >= 8; size -= 8, p += 8) {
      u64 x;
      std::memcpy(&x, p, 8);
      h = (h ^ x) * 0xff51afd7ed558ccdull;
      h ^= h >> 32;
    }
    for (; size > 0; --size, ++p) h = (h ^ *p) * 0xc4ceb9fe1a85ec53ull, h ^= h >> 29;
  };
  for (const Server& s : w.servers) {
    mix(&s.count, 1);
    mix(s.files.data(), s.count * sizeof(File));
  }
  for (const Process& p : w.processes) {
    mix(&p.vars, sizeof p.vars);
    mix(&p.logged, 1);
    mix(p.log.data(), p.logged * sizeof(u32));
  }
  for (int i = 0; i < w.lateCount; ++i) {
    const u8 head[2] = {w.late[i].type, w.late[i].server};
    mix(head, 2);
    mix(&w.late[i].file, sizeof(File));
    mix(&w.late[i].to, sizeof(File));
  }
  const u8 rest[] = {w.lateCount, w.low,   w.high,  w.down,  w.wiped,   w.crashes,  w.delays,
                     w.downs,     w.wipes, w.floor, w.shown, w.removed, w.collected};
  mix(rest, sizeof rest);
  mix(&w.chosen, sizeof w.chosen);
  mix(&w.base, sizeof w.base);
  mix(&w.by, sizeof w.by);
  mix(&w.made, sizeof w.made);
  return h != 0 ? h : 1;
}

std::string Describe(const File& f) {
  static const char* kinds[] = {"-", "p", "w", "t", "s", "e", "x", "m", "y"};
  std::string out = kinds[f.kind];
  if (f.ver != 0)
    out += "." + std::to_string(f.ver >> 3) + "." + std::to_string(Writer(f.ver)) +
           ((f.ver & 1) != 0 ? "r" : "");
  if (f.id != 0) out += ".id" + std::to_string(f.id);
  return out;
}

std::string Describe(const World& w) {
  std::string out;
  for (int s = 0; s < kServers; ++s) {
    out += " " + std::to_string(s) + "{";
    for (const File& f : ListOf(w.servers[s])) out += " " + Describe(f);
    out += " }";
  }
  return out + " lists " + std::to_string(w.low) + ".." + std::to_string(w.high);
}

}  // namespace model

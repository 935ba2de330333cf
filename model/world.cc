// SPDX-License-Identifier: LGPL-3.0-or-later
#include "world.hh"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>

namespace model {

Setup setup;
Variants variant;

void Server::Add(File f) {
  if (count == kFilesMax) std::abort();
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

bool Server::Has(File f) const {
  return std::find(files.begin(), files.begin() + count, f) != files.begin() + count;
}

int HomeIndex(int name, int server) {
  for (int i = 0; i < kHomes; ++i)
    if (setup.homes[name][i] == server) return i;
  return -1;
}

const File* Find(const Listing& files, Kind kind, int id) {
  for (const File& f : files)
    if (f.kind == kind && f.id == id) return &f;
  return nullptr;
}

File Top(const Listing& files) {
  File top;
  for (const File& f : files) {
    // Of p and w of one version the witness is preferred: a moved-in one knows where the archives come from.
    if (f.accepted() && (top.kind == kNone || f.ver > top.ver || (f.ver == top.ver && f.kind == kWitness)))
      top = f;
  }
  return top;
}

Listing ListOf(const World& w, int server, int name) {
  Listing out;
  for (int i = 0; i < w.servers[server].count; ++i)
    if (w.servers[server].files[i].name == name) out.push_back(w.servers[server].files[i]);
  return out;
}

namespace {
std::map<std::vector<u64>, u32> internNumber;
std::vector<Listing> internTable;
}  // namespace

u32 Intern(const Listing& files) {
  std::vector<u64> key;
  for (const File& f : files) key.push_back(f.bits());
  auto [it, added] =
      internNumber.try_emplace(std::move(key), kListingBase + static_cast<u32>(internTable.size()));
  if (added) internTable.push_back(files);
  return it->second;
}

const Listing& Interned(u32 reply) { return internTable[reply - kListingBase]; }

namespace {

void NoteMove(World& w, const File& f) {
  Move& m = w.moves[f.id];
  if (m.seen && m.v1 != f.ver) w.Fail("one rename moved two versions");
  for (const Move& o : w.moves)
    if (&o != &m && o.seen && o.src == f.name && o.v1 == f.ver) w.Fail("two renames moved the same version");
  m.seen = 1, m.src = f.name, m.dst = f.peer, m.v1 = f.ver, m.b = f.pver, m.oid = f.oid;
}

}  // namespace

u32 Execute(World& w, const Request& q) {
  Server& s = w.servers[q.server];
  switch (q.type) {
    case kList: return Intern(ListOf(w, q.server, q.name));
    case kCreate:
      if (q.file.kind == kMoved) NoteMove(w, q.file);
      if (s.Has(q.file))
        return q.file.kind == kSealed || q.file.kind == kMoveIn || q.file.kind == kMoveOut ? kRefused : kOk;
      s.Add(q.file);
      return kOk;
    case kRename:
      if (!s.Remove(q.file)) return kRefused;
      if (q.to.kind == kMoved) NoteMove(w, q.to);
      if (!s.Has(q.to)) s.Add(q.to);  // only identical witnesses or tombstones ever share a target name
      return kOk;
    case kRemove:
      if (!s.Remove(q.file)) return kRefused;
      // A collected tombstone: hybrid clocks put every later version above it, and it stays "seen".
      if (q.file.kind == kTombstone && q.file.ver > w.collected[q.file.name]) {
        w.collected[q.file.name] = q.file.ver;
        w.Raise(q.file.name, q.file.ver);
      }
      return kOk;
  }
  return kSilent;
}

namespace {

bool IsGone(const World& w, Version v) { return Sub(v) != 0 || (v != 0 && w.isRemoval[Writer(v)]); }

const Move* MoveInto(const World& w, int name, Version v) {
  for (const Move& m : w.moves)
    if (m.seen && m.dst == name && m.b == v) return &m;
  return nullptr;
}

// Archives of a version, wherever the trail of unfinished moves leads.
int Archives(const World& w, int name, Version v) {
  int n = 0;
  for (const Server& s : w.servers) {
    for (int i = 0; i < s.count; ++i) {
      const File& f = s.files[i];
      if (f.name != name) continue;
      bool sealed = (f.kind == kSealed || f.kind == kAborted) && f.id == Writer(v) && w.chosen[f.id] == v;
      if (sealed || (f.kind == kPromoted && f.ver == v)) {
        ++n;
        break;
      }
    }
  }
  const Move* m = MoveInto(w, name, v);
  return m == nullptr ? n : n + Archives(w, m->src, static_cast<Version>(m->v1 & ~3));
}

bool Readable(const World& w, int name, Version v) {
  return IsGone(w, v) || Archives(w, name, v) >= kDataNeeded;
}

// Version v of the name, or something accepted above it, can be read.
bool Available(const World& w, int name, Version v) {
  if (v == 0 || w.collected[name] >= v || Readable(w, name, v)) return true;
  for (int h : setup.homes[name])
    for (const File& f : ListOf(w, h, name))
      if (f.accepted() && f.ver > v && Readable(w, name, f.ver)) return true;
  return false;
}

}  // namespace

void CheckState(World& w) {
  for (Move& m : w.moves) {
    if (!m.seen || m.committed) continue;
    int have = 0;
    for (int h : setup.homes[m.src])
      for (const File& f : ListOf(w, h, m.src)) have += f.kind == kMoved && f.ver == m.v1;
    if (have < kQuorum) continue;
    m.committed = 1;
    w.Raise(m.src, m.v1);
  }
  for (int n = 0; n < setup.names; ++n)
    if (!Available(w, n, w.floor[n])) w.Fail("fewer than k archives of the committed version are left");
  for (const Move& m : w.moves)
    if (m.committed && !Available(w, m.dst, m.b))
      w.Fail("fewer than k archives of the moved version are left");
}

void CheckClean(World& w) {
  CheckState(w);
  for (int n = 0; n < setup.names; ++n) {
    Version top = Top(ListOf(w, setup.homes[n][0], n)).ver;
    int data = 0;
    for (int s = 0; s < setup.servers; ++s) {
      Listing files = ListOf(w, s, n);
      bool home = HomeIndex(n, s) >= 0;
      if (home && Top(files).ver != top) w.Fail("not clean: homes disagree");
      int accepted = 0;
      for (const File& f : files) {
        if (f.kind == kMark) continue;
        if ((f.kind != kPromoted && f.kind != kWitness) || f.ver != top || ++accepted > 1)
          w.Fail("not clean: debris left");
        data += f.kind == kPromoted;
      }
    }
    if (top != 0 && (data < kDataNeeded || IsGone(w, top)))
      w.Fail("not clean: archives missing or not moved");
    if (std::max(top, w.collected[n]) < w.floor[n]) w.Fail("cleaner lost the committed version");
    if (top != 0 && top < w.collected[n]) w.Fail("a removed version came back");
    for (const Move& m : w.moves)
      if (m.committed && m.dst == n && std::max(top, w.collected[n]) < m.b)
        w.Fail("a committed rename never arrived");
  }
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
  for (const Client& c : w.clients) {
    mix(&c.vars, sizeof c.vars);
    mix(&c.logged, 1);
    mix(c.log.data(), c.logged * sizeof(u32));
  }
  for (int i = 0; i < w.delayedCount; ++i) {
    const Request& q = w.delayed[i];
    u8 head[3] = {q.type, q.server, q.name};
    mix(head, 3);
    mix(&q.file, sizeof(File));
    mix(&q.to, sizeof(File));
  }
  u8 counters[4] = {w.delayedCount, w.delaysLeft, w.down, w.downsLeft};
  mix(counters, sizeof counters);
  mix(&w.floor, sizeof w.floor);
  mix(&w.collected, sizeof w.collected);
  mix(&w.chosen, sizeof w.chosen);
  mix(&w.moves, sizeof w.moves);
  return h != 0 ? h : 1;
}

std::string Describe(const File& f) {
  static const char* names[] = {"-", "p", "w", "t", "t-moved", "s", "r", "q", "x", "xr", "m", "y"};
  char text[80];
  std::snprintf(text, sizeof text, "%c/%s", 'A' + f.name, names[f.kind]);
  std::string out = text;
  auto version = [](Version v) {
    std::string t = std::to_string(v >> 4) + "." + std::to_string(Writer(v));
    return Sub(v) != 0 ? t + (Sub(v) == 1 ? "m" : Sub(v) == 2 ? "d" : "r") : t;
  };
  if (f.ver != 0) out += "." + version(f.ver);
  if (f.id != 0) out += ".id" + std::to_string(f.id);
  if (f.kind == kMoved) out += std::string("->") + static_cast<char>('A' + f.peer) + version(f.pver);
  if (f.kind == kWitness && f.pver != 0)
    out += std::string("<-") + static_cast<char>('A' + f.peer) + version(f.pver);
  return out;
}

void Dump(const World& w) {
  for (int s = 0; s < setup.servers; ++s) {
    std::printf("      server%d:", s);
    for (int i = 0; i < w.servers[s].count; ++i) std::printf(" %s", Describe(w.servers[s].files[i]).c_str());
    std::printf("\n");
  }
}

}  // namespace model

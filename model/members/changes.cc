// SPDX-License-Identifier: LGPL-3.0-or-later
// The changes of members, and the rules that can be left out.
#include <map>

#include "world.hh"

namespace model {

namespace {

u8 Bits(const std::string& servers) {
  u8 mask = 0;
  for (const char c : servers) mask |= static_cast<u8>(1 << (c - '0'));
  return mask;
}

// Each word is a list: kind, homes, members; of a joint one the homes after it.
std::vector<List> Lists(const std::string& text) {
  std::vector<List> lists;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    const size_t first = word.find('/'), second = word.find('/', first + 1);
    List list;
    list.kind = word[0] == 'C' ? kSettled : word[0] == 'J' ? kJoint : kSwept;
    list.homes = Bits(word.substr(1, first - 1));
    list.members = Bits(word.substr(first + 1, second - first - 1));
    if (second != std::string::npos) list.next = Bits(word.substr(second + 1));
    lists.push_back(list);
    at = end + 1;
  }
  return lists;
}

}  // namespace

bool SetChange(const std::string& name) {
  static const std::map<std::string, const char*> changes = {
      {"none", "C012/012"},
      {"add", "C012/012 J0123/0123/013 S013/0123 C013/0123"},
      {"remove", "C013/0123 J0123/0123/012 S012/012 C012/012"},
      {"undo", "C012/012 J0123/0123/012 S012/0123 C012/012"},
      {"grow", "C01/01 J012/012/012 S012/012 C012/012"},
      {"shrink", "C012/012 J012/012/01 S01/01 C01/01"},
      {"shrinkgrow", "C012/012 J012/012/01 S01/01 C01/01 J013/013/013 S013/013 C013/013"},
      {"addback", "C012/012 J0123/0123/013 S013/0123 C013/0123 J0123/0123/012 S012/012 C012/012"},
      {"chain", "C012/012 J0123/0123/013 J0134/01234/034 S034/01234 C034/01234"},
      {"chainback", "C012/012 J0123/0123/013 J0123/0123/012 S012/012 C012/012"},
      {"chainsame", "C012/012 J0123/0123/013 J013/01234/013 S013/01234 C013/01234"}};
  auto it = changes.find(name);
  if (it == changes.end()) return false;
  setup.lists = Lists(it->second);
  return true;
}

bool SetVariant(const std::string& name) {
  Variants& v = variant;
  const std::map<std::string, bool*> all = {
      {"nowaitwalk", &v.noWaitWalk},     {"nowaitsweep", &v.noWaitSweep},   {"nowalk", &v.noWalk},
      {"noquorum", &v.noQuorum},         {"nosweep", &v.noSweep},           {"blindsweep", &v.blindSweep},
      {"collectjoint", &v.collectJoint}, {"fencejoint", &v.fenceJoint},     {"oldcleaner", &v.oldCleaner},
      {"missmore", &v.missMore},         {"nolease", &v.noLease},           {"telllate", &v.tellLate},
      {"nofence", &v.noFence},           {"nosecondwalk", &v.noSecondWalk}, {"nocompare", &v.noCompare},
      {"leavestray", &v.leaveStray},     {"noverify", &v.noVerify}};
  auto it = all.find(name);
  if (it == all.end()) return false;
  *it->second = true;
  return true;
}

}  // namespace model

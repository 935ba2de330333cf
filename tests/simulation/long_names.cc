// SPDX-License-Identifier: LGPL-3.0-or-later
// Names that are too long for a file name on a server, which keeps a shortened one. Here, in histories and in
// traces, they stay as short as the others: they are long only towards the store.
#include "protocol/object_path.hh"
#include "world.hh"

namespace xec::sim {
namespace {

// A name of an object is kept as it is up to this length, with the suffix of its object directory.
constexpr size_t kShortMax = kComponentBytesMax - kObjectSuffix.size();

std::string LastOf(const std::string& name) { return name.substr(name.rfind('/') + 1); }

}  // namespace

// One or two last components of names that are used, be it of directories.
void World::LengthenNames() {
  if (!shape_random_.OneIn(4)) return;
  std::vector<std::string> names = names_;
  names.insert(names.end(), directories_.begin(), directories_.end());
  for (uint64_t left = 1 + shape_random_.Below(2); left > 0; --left) {
    const std::string component = LastOf(names[shape_random_.Below(names.size())]);
    // Of blanks each is three bytes on disk: longer than any plain name, and kept in more parts.
    const bool blank = shape_random_.OneIn(3);
    const size_t least = blank ? kShortMax / 3 + 2 : kShortMax + 1;
    const size_t length = least + shape_random_.Below(kComponentBytesMax - least + 1);
    std::string longer = component;
    longer.resize(length, blank ? ' ' : 'l');
    in_store_[component] = longer;
  }
}

// What the store calls it.
std::string World::InStore(const std::string& name) const {
  if (in_store_.empty()) return name;
  std::string told;
  for (size_t at = 1; at <= name.size();) {
    const size_t end = std::min(name.find('/', at), name.size());
    const std::string component = name.substr(at, end - at);
    const auto longer = in_store_.find(component);
    told += "/" + (longer == in_store_.end() ? component : longer->second);
    at = end + 1;
  }
  return told;
}

// The other way round, for one component.
std::string World::FromStore(const std::string& component) const {
  for (const auto& [name, longer] : in_store_) {
    if (longer == component) return name;
  }
  return component;
}

const ObjectPath& World::PathOf(const std::string& name) const {
  const auto found = paths_.find(name);
  if (found != paths_.end()) return found->second;
  return paths_.emplace(name, *ObjectPath::Parse(InStore(name))).first->second;
}

}  // namespace xec::sim

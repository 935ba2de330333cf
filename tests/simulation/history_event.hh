// SPDX-License-Identifier: LGPL-3.0-or-later
// What an operation means to one name, and what is known before the search. Internal to the judge.
#pragma once

#include <algorithm>

#include "history.hh"

namespace xec::sim {

// What is at a name. Of what a rename has brought nothing is known until somebody looks; then it is known,
// too, what the rename must have taken along.
struct History::Object {
  // What a moved-in content is before somebody reads it: this + the rename's id.
  static constexpr Content kMoved = uint64_t{1} << 62;
  // What a rename has moved out although nobody may see that it is gone.
  static constexpr Content kHidden = uint64_t{1} << 63;
  // A directory: this + the moment at which the first of those that may have made it was answered.
  static constexpr Content kDirectory = uint64_t{1} << 61;
  static constexpr Moment kMadeLast = kDirectory - 1;  // may still be going on
  // An attribute, or a content taken along, that nobody has looked at.
  static constexpr uint64_t kUnseen = UINT64_MAX;

  Content content = kNothing;
  AttributeValues attributes = {};
  // While something of it is unseen: the rename's id, and what it must have taken along.
  std::optional<size_t> brought_by;
  Content carried = kNothing;
  AttributeValues carried_attributes = {};

  static Object Of(Content content, AttributeValues attributes = {}) {
    return {content, attributes, std::nullopt, kNothing, {}};
  }
  static Object DirectoryMade(Moment until) { return Of(kDirectory + std::min(until, kMadeLast)); }
  bool IsDirectory() const { return content >= kDirectory && content < kMoved; }
  Moment MadeUntil() const { return content - kDirectory; }
  bool Unseen() const;  // is anything of it?
  std::string ToString() const;
  auto operator<=>(const Object&) const = default;
};

struct History::Known {
  std::map<std::string, std::set<Content>> contents;  // that may ever have been at each name
  std::array<std::set<uint64_t>, kAttributeNames> values;  // that may ever have been set
  bool attributes = false;  // does anybody ask about them?
  // What was asked about each rename (its id, content and attributes taken along), and is being asked.
  mutable std::map<std::pair<size_t, Object>, bool> carries;
  mutable std::set<size_t> asking;
  size_t follow_max = SIZE_MAX;  // renames in a row; what the next one took along is believed
};

struct History::Event {
  enum Kind {
    kWrite,
    kWriteIfNothing,
    kMake,
    kErase,
    kEraseDirectory,
    kMoveOut,
    kMoveOutHidden,
    kMoveIn,
    kSet,
    kUnset,
    kSeeContent,
    kSeeSize,
    kSeeAttributes,
    kSeeNoAttribute,
    kSeeObject,
    kSeeDirectory,
    kSeeSomething,
    kSeeNothing
  };
  Kind kind;
  const Op* op;
  Moment from, to;
  bool optional;  // it may also not happen
  bool repeated = false;  // it may happen again and again
  bool contested =
      false;  // of kUnset: others remove the same at the same time, and all may be told it is done
  // What a read or stat, or the listing of the directory above, that succeeded has seen of the name.
  static Kind SeenByLook(const Op& op);
  static Kind SeenByListing(const Op& list, const std::string& name);
  const Object* carries = nullptr;  // of kMoveOut and kMoveOutHidden: this was there, as far as it is seen
};

}  // namespace xec::sim

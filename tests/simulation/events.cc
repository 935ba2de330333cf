// SPDX-License-Identifier: LGPL-3.0-or-later
// What the operations mean to each name.
#include <algorithm>

#include "history_event.hh"

namespace xec::sim {
namespace {

std::string Parent(const std::string& name) { return name.substr(0, name.rfind('/')); }
bool IsBelow(const std::string& name, const std::string& directory) {
  return name.starts_with(directory + "/");
}

}  // namespace

// Does somebody else remove the same attribute meanwhile?
bool History::IsContested(const Op& removal) const {
  return std::any_of(ops_.begin(), ops_.end(), [&](const Op& op) {
    const bool same = op.kind == removal.kind && op.name == removal.name &&
                      op.attribute == removal.attribute && op.id != removal.id;
    return same && (!op.error || op.Open()) && op.invoked < LastMoment(removal) &&
           LastMoment(op) > removal.invoked;
  });
}

// Makers of names make what is missing above them, if they are asked to. Who finds a directory that is about
// to be removed makes it anew, though it would make no other.
bool History::MayMakeAbove(const Op& op, const std::string& directory) const {
  switch (op.kind) {
    case OpKind::kRename:
    case OpKind::kRenameDirectory: return IsBelow(op.to, directory);
    case OpKind::kPut:
    case OpKind::kExclusivePut:
    case OpKind::kMakeDirectory:
      return IsBelow(op.name, directory) && (op.parents || IsRemovedBeside(op, directory));
    default: return false;
  }
}

// Does somebody remove or rename the directory meanwhile?
bool History::IsRemovedBeside(const Op& maker, const std::string& directory) const {
  return std::any_of(ops_.begin(), ops_.end(), [&](const Op& op) {
    const bool removes = op.kind == OpKind::kRemoveDirectory || op.kind == OpKind::kRenameDirectory;
    return removes && op.name == directory && op.invoked < LastMoment(maker) &&
           LastMoment(op) > maker.invoked;
  });
}

History::Event::Kind History::Event::SeenByLook(const Op& op) {
  if (op.directory) return kSeeDirectory;
  return op.kind == OpKind::kRead ? kSeeContent : kSeeSize;
}

History::Event::Kind History::Event::SeenByListing(const Op& list, const std::string& name) {
  if (!list.listed.contains(name)) return kSeeNothing;
  return list.listed_directories.contains(name) ? kSeeDirectory : kSeeObject;
}

std::vector<History::Event> History::EventsOf(const std::string& name) const {
  std::vector<Event> events = ObjectEventsOf(name);
  if (!both_.contains(name)) return events;
  std::vector<Event> more = DirectoryEventsOf(name);
  events.insert(events.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  return events;
}

std::vector<History::Event> History::ObjectEventsOf(const std::string& name) const {
  std::vector<Event> events;
  for (const Op& op : ops_) {
    const bool open = op.Open();
    const bool changed = !op.error || open;
    const auto add = [&](Event::Kind kind, bool optional) {
      events.push_back({kind, &op, op.invoked, open ? kNever : op.ended, optional});
    };
    const auto saw = [&](Code code) { return op.error == code && op.ended != kNever; };
    const bool here = op.name == name;
    const bool just_above = Parent(name) == op.name;
    switch (op.kind) {
      case OpKind::kPut:
        if (here && changed) add(Event::kWrite, open);
        if (here && saw(Code::kIsDirectory)) add(Event::kSeeDirectory, false);
        break;
      case OpKind::kExclusivePut:
        if (here && changed) add(Event::kWriteIfNothing, open);
        if (here && saw(Code::kAlreadyExists)) add(Event::kSeeSomething, false);
        if (here && saw(Code::kIsDirectory)) add(Event::kSeeDirectory, false);
        break;
      case OpKind::kRemove:
        if (here && changed) add(Event::kErase, open);
        if (here && saw(Code::kIsDirectory)) add(Event::kSeeDirectory, false);
        if (here && saw(Code::kNotFound)) add(Event::kSeeNothing, false);
        break;
      case OpKind::kRename:
        if (here && changed) add(Event::kMoveOut, open || op.part > 0);
        if (op.to == name && changed) add(Event::kMoveIn, open || op.part > 0);
        // One of the two names is.
        if (op.to == name && saw(Code::kIsDirectory) && !both_.contains(op.name))
          add(Event::kSeeDirectory, false);
        if (here && saw(Code::kNotFound)) add(Event::kSeeNothing, false);
        break;
      case OpKind::kSetAttribute:
        if (here && changed) add(Event::kSet, open);
        if (here && saw(Code::kNotFound)) add(Event::kSeeNothing, false);
        break;
      case OpKind::kRemoveAttribute:
        if (here && changed) add(Event::kUnset, open);
        if (here && changed) events.back().contested = IsContested(op);
        if (here && saw(Code::kNotFound)) add(Event::kSeeNoAttribute, false);
        break;
      case OpKind::kGetAttributes:
        if (here && saw(Code::kNotFound)) add(Event::kSeeNothing, false);
        if (here && !op.error && !open) add(Event::kSeeAttributes, false);
        break;
      case OpKind::kMakeDirectory: break;
      case OpKind::kRemoveDirectory:
      case OpKind::kRenameDirectory:
        // Whoever removes a directory has seen it empty.
        if (just_above && !op.error && !open) add(Event::kSeeNothing, false);
        break;
      case OpKind::kRead:
      case OpKind::kStat:
        if (!here || op.ended == kNever) break;
        if (!op.error) add(Event::SeenByLook(op), false);
        if (saw(Code::kIsDirectory)) add(Event::kSeeDirectory, false);
        if (saw(Code::kNotFound)) add(Event::kSeeNothing, false);
        break;
      case OpKind::kList:
        if (open || op.error || !just_above) break;
        add(Event::SeenByListing(op, name), false);
        break;
    }
  }
  return events;
}

std::vector<History::Event> History::DirectoryEventsOf(const std::string& directory) const {
  std::vector<Event> events;
  for (const Op& op : ops_) {
    const bool open = op.Open();
    const bool changed = !op.error || open;
    const auto add = [&](Event::Kind kind, bool optional) {
      const bool later = open || (optional && op.taken_up);
      events.push_back({kind, &op, op.invoked, later ? kNever : op.ended, optional || open});
    };
    const auto saw = [&](Code code) { return op.error == code && op.ended != kNever; };
    const bool here = op.name == directory;
    // Of names of both kinds ObjectEventsOf says what is seen from above.
    const bool just_above = Parent(directory) == op.name && !both_.contains(directory);
    const auto add_repeated = [&](Event::Kind kind) {
      add(kind, true);
      events.back().repeated = true;
    };
    // Even if they fail; again if it is removed meanwhile.
    if (MayMakeAbove(op, directory)) {
      add_repeated(Event::kMake);
      // Nothing was put since nobody could say whether what is above would be there.
      if (saw(Code::kUnavailable)) events.back().to = kNever;
    }
    switch (op.kind) {
      case OpKind::kPut:
      case OpKind::kExclusivePut:
        if (Parent(op.name) == directory && saw(Code::kNotFound)) add(Event::kSeeNothing, false);
        if (Parent(op.name) == directory && saw(Code::kNotDirectory)) add(Event::kSeeObject, false);
        break;
      case OpKind::kMakeDirectory:
        if (here && changed) add(Event::kMake, false);
        if (here && saw(Code::kAlreadyExists)) add(Event::kSeeSomething, false);
        if (Parent(op.name) == directory && saw(Code::kNotFound)) add(Event::kSeeNothing, false);
        break;
      case OpKind::kRemoveDirectory:
        if (here && changed) add(Event::kEraseDirectory, false);
        if (here && saw(Code::kNotEmpty)) add(Event::kSeeDirectory, false);
        if (here && saw(Code::kNotFound)) add(Event::kSeeNothing, false);
        if (here && saw(Code::kNotDirectory)) add(Event::kSeeObject, false);
        if (just_above && !op.error && !open) add(Event::kSeeNothing, false);
        break;
      case OpKind::kRenameDirectory: {
        const bool moves = changed || saw(Code::kNotEmpty);
        if (here && changed) add(Event::kEraseDirectory, false);
        // Nothing may be in the way any more when a cleaner comes to it.
        if (here && op.taken_up) add(Event::kEraseDirectory, true);
        if (op.to == directory && moves) add(Event::kMake, false);
        // Once by whoever goes on with it: what is below may be made anew each time.
        if (moves && IsBelow(directory, op.name)) add_repeated(Event::kEraseDirectory);
        if (moves && (directory == op.to || IsBelow(directory, op.to))) add_repeated(Event::kMake);
        if (just_above && !op.error && !open) add(Event::kSeeNothing, false);
        if (here && saw(Code::kNotEmpty)) add(Event::kSeeDirectory, false);
        if (here && saw(Code::kNotFound)) add(Event::kSeeNothing, false);
        if (here && saw(Code::kNotDirectory)) add(Event::kSeeObject, false);
        if (op.to == directory && saw(Code::kAlreadyExists)) add(Event::kSeeSomething, false);
        break;
      }
      case OpKind::kList:
        if (open) break;
        if (here && !op.error) add(Event::kSeeDirectory, false);
        if (here && saw(Code::kNotFound)) add(Event::kSeeNothing, false);
        if (here && saw(Code::kNotDirectory)) add(Event::kSeeObject, false);
        if (just_above && !op.error) add(Event::SeenByListing(op, directory), false);
        break;
      default: break;
    }
  }
  return events;
}

}  // namespace xec::sim

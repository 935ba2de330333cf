// SPDX-License-Identifier: LGPL-3.0-or-later
#include "history_search.hh"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/contains.hh"

namespace xec::sim {
namespace {

// The search gives up beyond this and finds nothing wrong; no seed comes near.
constexpr size_t kVisitedMax = 100'000;

}  // namespace

bool History::Object::Unseen() const {
  const bool here = content >= kMoved && content < kHidden;
  return here || Contains(attributes, kUnseen);
}

std::string History::Object::ToString() const {
  if (content == kNothing) return "nothing can be there";
  if (content == kHidden) return "something was moved away";
  std::string text = IsDirectory()       ? "a directory"
                     : content >= kMoved ? fmt::format("what rename #{} moved in", content - kMoved)
                                         : fmt::format("content {}", content);
  for (size_t i = 0; i < kAttributeNames; ++i) {
    if (attributes[i] == kUnseen)
      text += fmt::format(" a{} unseen", i);
    else if (attributes[i] != kNotSet)
      text += fmt::format(" a{}={}", i, attributes[i]);
  }
  return text;
}

History::Search::Search(const History& history, std::vector<Event> events, const Known& known)
    : history_(history),
      events_(std::move(events)),
      known_(known),
      done_(events_.size()),
      told_apart_(events_.size()) {
  for (size_t i = 0; i < events_.size(); ++i) {
    told_apart_.Set(i, !events_[i].optional || events_[i].op->part > 0);
    if (events_[i].op->part < 2) continue;
    const Op* const pass = events_[i].op;
    const auto before = [&](const Event& e) {
      return e.op->first_pass == pass->first_pass && e.op->part == pass->part - 1;
    };
    const auto found = std::find_if(events_.begin(), events_.end(), before);
    if (found != events_.end()) pass_before_[i] = static_cast<size_t>(found - events_.begin());
  }
}

bool History::Search::gave_up() const { return states_ > kVisitedMax; }

std::string History::Search::Stuck() const {
  return fmt::format("{} cannot be explained where {}", stuck_ ? stuck_->op->ToString() : "an operation",
                     stuck_at_.ToString());
}

// Where all of it is seen it does not matter any more how it came.
History::Object History::Search::Settled(Object now) const {
  return now.Unseen() ? now : Object::Of(now.content, now.attributes);
}

bool History::Search::MayHaveContent(const Object& now, Content content) const {
  const Op& rename = history_.ops_[now.content - Object::kMoved];
  return known_.contents.at(rename.name).contains(content);
}

// Can the rename that brought it have taken along what is seen of it by now?
bool History::Search::CanHaveCarried(const Object& now) const {
  return history_.CanCarry(history_.ops_[*now.brought_by], Object::Of(now.carried, now.carried_attributes),
                           known_);
}

std::optional<History::Object> History::Search::SeeContent(Object now, Content content) const {
  if (now.content < Object::kMoved) return now.content == content ? std::optional(now) : std::nullopt;
  if (!MayHaveContent(now, content)) return std::nullopt;
  now.content = content;
  if (!now.brought_by) return now;
  now.carried = content;
  const auto seen = [](uint64_t value) { return value != Object::kUnseen; };
  const bool alone = std::none_of(now.carried_attributes.begin(), now.carried_attributes.end(), seen);
  if (!alone && !CanHaveCarried(now)) return std::nullopt;
  return Settled(now);
}

std::optional<History::Object> History::Search::SeeAttribute(Object now, size_t attribute,
                                                             uint64_t value) const {
  uint64_t& here = now.attributes[attribute];
  if (here != Object::kUnseen) return here == value ? std::optional(now) : std::nullopt;
  if (!known_.values[attribute].contains(value)) return std::nullopt;
  here = now.carried_attributes[attribute] = value;
  return now;
}

// May a rename take along what is there as `wanted`? Both may be known in part only.
bool History::Search::CanBeCarried(const Object& now, const Object& wanted) const {
  Object then = now;
  bool unseen = false;
  if (wanted.content != Object::kUnseen) {
    if (then.content >= Object::kMoved) {
      if (!MayHaveContent(then, wanted.content)) return false;
      then.carried = wanted.content;
      unseen = then.brought_by.has_value();
    } else if (then.content != wanted.content) {
      return false;
    }
  }
  for (size_t i = 0; i < kAttributeNames; ++i) {
    if (wanted.attributes[i] == Object::kUnseen) continue;
    unseen = unseen || then.attributes[i] == Object::kUnseen;
    const std::optional<Object> next = SeeAttribute(then, i, wanted.attributes[i]);
    if (!next) return false;
    then = *next;
  }
  return !unseen || CanHaveCarried(then);
}

// What is at the name after the event; nullopt: it cannot happen now.
std::optional<History::Object> History::Search::After(const Event& event, const Object& now) const {
  const bool replaces =
      event.kind == Event::kWrite || event.kind == Event::kErase || event.kind == Event::kMoveIn;
  if (now.content == Object::kHidden && !replaces) return std::nullopt;
  const bool there = now.content != kNothing;
  const bool of_objects = replaces || event.kind == Event::kMoveOut || event.kind == Event::kMoveOutHidden;
  if (now.IsDirectory() && of_objects) return std::nullopt;
  switch (event.kind) {
    case Event::kWrite: return Object::Of(event.op->content, event.op->attributes);
    case Event::kWriteIfNothing:
      if (there) return std::nullopt;
      return Object::Of(event.op->content, event.op->attributes);
    case Event::kMake: return AfterMaking(event, now);
    case Event::kErase: return Object();
    case Event::kEraseDirectory: return there && !now.IsDirectory() ? std::nullopt : std::optional(Object());
    case Event::kMoveOut:
    case Event::kMoveOutHidden:
      if (!there || (event.carries != nullptr && !CanBeCarried(now, *event.carries))) return std::nullopt;
      return event.kind == Event::kMoveOut ? Object() : Object::Of(Object::kHidden);
    case Event::kMoveIn: {
      Object moved = Object::Of(Object::kMoved + event.op->id);
      if (!known_.attributes) return moved;
      moved.attributes.fill(Object::kUnseen);
      moved.brought_by = event.op->id;
      moved.carried = Object::kUnseen;
      moved.carried_attributes.fill(Object::kUnseen);
      return moved;
    }
    case Event::kSet:
    case Event::kUnset: {
      const bool set = event.kind == Event::kSet;
      const size_t attribute = event.op->attribute;
      const bool gone = !set && now.attributes[attribute] == kNotSet && !event.contested;
      if (!there || gone) return std::nullopt;
      Object next = now;
      next.attributes[attribute] = set ? event.op->attributes[attribute] : kNotSet;
      return Settled(next);
    }
    default: return AfterLook(event, now);
  }
}

// Who makes a directory has seen nothing there; of several who do so at a time all may be told that it is
// done, and the last one's has no attributes yet.
std::optional<History::Object> History::Search::AfterMaking(const Event& event, const Object& now) const {
  if (now.content == kNothing) return Object::DirectoryMade(event.to);
  // A rename takes a directory that is at its target as it is.
  if (now.IsDirectory() && event.op->kind == OpKind::kRenameDirectory && !event.repeated) return now;
  if (!now.IsDirectory() || event.from >= now.MadeUntil()) return std::nullopt;
  return Object::DirectoryMade(std::min(event.to, now.MadeUntil()));
}

// As After, of who only looks: nothing changes but what is known.
std::optional<History::Object> History::Search::AfterLook(const Event& event, const Object& now) const {
  const bool there = now.content != kNothing;
  bool fits = false;
  switch (event.kind) {
    case Event::kSeeSomething: fits = there; break;
    case Event::kSeeNothing: fits = !there; break;
    case Event::kSeeObject: fits = there && !now.IsDirectory(); break;
    case Event::kSeeDirectory: fits = now.IsDirectory(); break;
    case Event::kSeeSize:
      fits = there && !now.IsDirectory() &&
             (now.content >= Object::kMoved || history_.size_of_(now.content) == event.op->size);
      break;
    case Event::kSeeContent: return SeeContent(now, event.op->content);
    case Event::kSeeAttributes: {
      if (!there) return std::nullopt;
      std::optional<Object> next = now;
      for (size_t i = 0; i < kAttributeNames && next; ++i)
        next = SeeAttribute(*next, i, event.op->attributes[i]);
      if (!next || *next == now) return next;
      return CanHaveCarried(*next) ? std::optional(Settled(*next)) : std::nullopt;
    }
    case Event::kSeeNoAttribute: {
      if (!there) return now;
      const std::optional<Object> next = SeeAttribute(now, event.op->attribute, kNotSet);
      if (!next || *next == now) return next;
      return CanHaveCarried(*next) ? std::optional(Settled(*next)) : std::nullopt;
    }
    default: break;
  }
  return fits ? std::optional(now) : std::nullopt;
}

// When the first of the events that must still happen is over: whatever begins after this comes later.
// nullopt: none is left.
std::optional<Moment> History::Search::Horizon() const {
  std::optional<Moment> horizon;
  for (size_t i = 0; i < events_.size(); ++i) {
    if (!done_[i] && !events_[i].optional) horizon = std::min(horizon.value_or(kNever), events_[i].to);
  }
  return horizon;
}

// When the last of the events that are done began: what had to be over before is too late.
Moment History::Search::Reached() const {
  Moment reached = 0;
  for (size_t i = 0; i < events_.size(); ++i) {
    if (done_[i]) reached = std::max(reached, events_[i].from);
  }
  return reached;
}

// Is there something that may happen until `reached` is past, but not after `from`?
bool History::Search::Misses(Moment reached, Moment from) const {
  for (size_t i = 0; i < events_.size(); ++i) {
    if (!done_[i] && events_[i].to >= reached && events_[i].to < from) return true;
  }
  return false;
}

// The same part of an earlier pass may still happen first; which is which makes no difference.
bool History::Search::OutOfOrder(size_t i) const {
  if (events_[i].op->part < 2) return false;
  const auto before = pass_before_.find(i);
  return before != pass_before_.end() && !done_[before->second];
}

size_t History::Search::HashOf(const Object& now) const {
  size_t hash = done_.HashOfCommon(told_apart_) * 31 + std::hash<Content>()(now.content);
  for (size_t i = 0; i < kAttributeNames; ++i)
    hash = hash * 31 + now.attributes[i] + 17 * now.carried_attributes[i];
  return hash;
}

// Was the search here before, with no more of what may also not happen done? Then more could follow.
bool History::Search::IsKnown(const Object& now) const {
  if (visited_.empty()) return false;
  const auto [first, last] = visited_.equal_range(HashOf(now));
  return std::any_of(first, last, [&](const auto& entry) {
    const State& state = entry.second;
    const auto has_less = [&](const Marks& done) { return done.Within(done_); };
    return state.now == now && done_.HasCommon(told_apart_, state.told_apart) &&
           std::any_of(state.done.begin(), state.done.end(), has_less);
  });
}

void History::Search::Remember(const Object& now) {
  ++states_;
  const size_t hash = HashOf(now);
  const auto [first, last] = visited_.equal_range(hash);
  for (auto entry = first; entry != last; ++entry) {
    State& state = entry->second;
    if (state.now == now && done_.HasCommon(told_apart_, state.told_apart))
      return state.done.push_back(done_);
  }
  visited_.emplace(hash, State{done_.Common(told_apart_), now, {done_}});
}

// Can the events that are not done follow, with `now` at the name? `sure`: how many of those that must
// happen are done. `before`: what was there before the last event, if that may have been in vain, or null.
bool History::Search::From(const Object& now, size_t sure, const Object* before) {
  const std::optional<Moment> horizon = Horizon();
  if (!horizon || gave_up()) return true;
  if (IsKnown(now)) return false;
  // Nothing need be remembered where the first way leads to the end, as mostly. But what is not told apart
  // may lead here again.
  bool remembered = false;
  const auto remember = [&] {
    if (!std::exchange(remembered, true)) Remember(now);
  };
  const Moment reached = Reached();
  for (const bool optional : {false, true}) {
    for (size_t i = 0; i < events_.size(); ++i) {
      const Event& event = events_[i];
      if ((done_[i] && !event.repeated) || event.optional != optional) continue;
      if (event.from > *horizon || event.to < reached) continue;
      if (OutOfOrder(i)) continue;
      const std::optional<Object> next = After(event, now);
      if (!next) {
        const bool furthest = !optional && sure >= deepest_ && event.to == *horizon;
        if (furthest) deepest_ = sure, stuck_ = &event, stuck_at_ = now;
        continue;
      }
      // What may not happen and changes nothing might as well come later.
      if (optional && *next == now) continue;
      // Nor need the last event have happened if this one does away with all that it did.
      if (before != nullptr && After(event, *before) == next) continue;
      const bool again = done_[i];
      if (again || !told_apart_[i]) remember();
      const bool may_be_in_vain = optional && !event.repeated && event.op->part == 0;
      done_.Set(i, true);
      const bool found = From(*next, sure + (optional ? 0 : 1), may_be_in_vain ? &now : nullptr);
      done_.Set(i, again);
      if (found) return true;
      // What only looks and fits may as well happen at once, unless something is too late then.
      if (event.kind >= Event::kSeeContent && *next == now && !Misses(reached, event.from)) {
        remember();
        return false;
      }
    }
  }
  remember();
  return false;
}

}  // namespace xec::sim

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "history.hh"

#include <algorithm>
#include <functional>

namespace xec::sim {
namespace {

// Told only by who cannot know whether the change will take effect.
bool Open(const Op& op) {
  if (op.ended == kNever) return true;
  if (!op.error) return false;
  return *op.error == Code::kUnknown || *op.error == Code::kDeadlineExceeded || *op.error == Code::kCancelled;
}

// The search gives up beyond this and finds nothing wrong; no seed comes near.
constexpr size_t kVisitedMax = 400'000;

}  // namespace

const char* OpKindName(OpKind kind) {
  switch (kind) {
    case OpKind::kPut: return "put";
    case OpKind::kExclusivePut: return "exclusive put";
    case OpKind::kRemove: return "remove";
    case OpKind::kRename: return "rename";
    case OpKind::kStat: return "stat";
    case OpKind::kRead: return "read";
    case OpKind::kList: return "list";
  }
  return "?";
}

std::string Op::ToString() const {
  std::string text = fmt::format("#{} {} {}", id, OpKindName(kind), name);
  if (!to.empty()) text += " to " + to;
  if (content != kNothing) text += fmt::format(" content {}", content);
  if (ended == kNever) return text + ": not answered";
  return text + (error ? fmt::format(": {}", CodeName(*error)) : std::string(": ok"));
}

// What one operation means to one name.
struct History::Event {
  enum Kind { kWrite, kWriteIfNothing, kErase, kMoveOut, kMoveIn, kSeeContent, kSeeSize, kSeeSomething, kSeeNothing };
  Kind kind;
  const Op* op;
  Moment from, to;
  bool optional;  // it may also never happen
};

size_t History::Begin(Op op, Moment now) {
  op.id = ops_.size();
  op.invoked = now;
  ops_.push_back(std::move(op));
  return ops_.size() - 1;
}

std::vector<History::Event> History::EventsOf(const std::string& name) const {
  std::vector<Event> events;
  for (const Op& op : ops_) {
    const bool open = Open(op);
    const bool changed = !op.error || open;
    const auto add = [&](Event::Kind kind, bool optional) {
      events.push_back({kind, &op, op.invoked, optional ? kNever : op.ended, optional});
    };
    const auto saw = [&](Code code) { return op.error == code && op.ended != kNever; };
    const bool here = op.name == name;
    switch (op.kind) {
      case OpKind::kPut:
        if (here && changed) add(Event::kWrite, open);
        break;
      case OpKind::kExclusivePut:
        if (here && changed) add(Event::kWriteIfNothing, open);
        if (here && saw(Code::kAlreadyExists)) add(Event::kSeeSomething, false);
        break;
      case OpKind::kRemove:
        if (here && changed) add(Event::kErase, open);
        if (here && saw(Code::kNotFound)) add(Event::kSeeNothing, false);
        break;
      case OpKind::kRename:
        if (here && changed) add(Event::kMoveOut, open);
        if (op.to == name && changed) add(Event::kMoveIn, open);
        if (here && saw(Code::kNotFound)) add(Event::kSeeNothing, false);
        break;
      case OpKind::kRead:
      case OpKind::kStat:
        if (!here || op.ended == kNever) break;
        if (!op.error) add(op.kind == OpKind::kRead ? Event::kSeeContent : Event::kSeeSize, false);
        if (saw(Code::kNotFound)) add(Event::kSeeNothing, false);
        break;
      case OpKind::kList:
        if (op.ended == kNever || op.error || !name.starts_with(op.name + "/")) break;
        add(op.listed.contains(name) ? Event::kSeeSomething : Event::kSeeNothing, false);
        break;
    }
  }
  return events;
}

// What may ever have been at each name: written there, or moved there from where it may have been.
std::map<std::string, std::set<Content>> History::PossibleContents(const std::vector<std::string>& names) const {
  std::map<std::string, std::set<Content>> possible;
  for (const std::string& name : names) possible[name];
  for (bool grown = true; grown;) {
    grown = false;
    for (const Op& op : ops_) {
      if (op.error && !Open(op)) continue;
      if (op.kind == OpKind::kPut || op.kind == OpKind::kExclusivePut) grown |= possible[op.name].insert(op.content).second;
      if (op.kind != OpKind::kRename) continue;
      for (const Content content : std::set<Content>(possible[op.name])) {
        const Op* const put = &*std::find_if(ops_.begin(), ops_.end(), [&](const Op& o) {
          return o.content == content && (o.kind == OpKind::kPut || o.kind == OpKind::kExclusivePut);
        });
        if (put->invoked < op.ended) grown |= possible[op.to].insert(content).second;
      }
    }
  }
  return possible;
}

namespace {

// A state of the search: which events have happened, and what is at the name. A moved-in content is not known until
// somebody reads it: kMoved + the rename's id stands for it.
constexpr Content kMoved = uint64_t{1} << 62;

}  // namespace

std::optional<std::string> History::Judge(const std::vector<std::string>& names) const {
  const auto possible = PossibleContents(names);
  for (const std::string& name : names) {
    const std::vector<Event> events = EventsOf(name);
    const size_t count = events.size();
    std::set<std::pair<std::vector<bool>, Content>> visited;
    size_t deepest = 0;
    const Event* stuck = nullptr;
    Content stuck_at = kNothing;

    // What is at the name after the event; nullopt: it cannot happen now.
    const auto after = [&](const Event& event, Content now) -> std::optional<Content> {
      switch (event.kind) {
        case Event::kWrite: return event.op->content;
        case Event::kWriteIfNothing: return now == kNothing ? std::optional(event.op->content) : std::nullopt;
        case Event::kErase: return kNothing;
        case Event::kMoveOut: return now != kNothing ? std::optional(kNothing) : std::nullopt;
        case Event::kMoveIn: return kMoved + event.op->id;
        case Event::kSeeSomething: return now != kNothing ? std::optional(now) : std::nullopt;
        case Event::kSeeNothing: return now == kNothing ? std::optional(now) : std::nullopt;
        case Event::kSeeSize:
          if (now == kNothing || (now < kMoved && size_of_(now) != event.op->size)) return std::nullopt;
          return now;
        case Event::kSeeContent:
          if (now == event.op->content) return now;
          if (now < kMoved) return std::nullopt;
          return possible.at(ops_[now - kMoved].name).contains(event.op->content) ? std::optional(event.op->content) : std::nullopt;
      }
      return std::nullopt;
    };

    std::function<bool(std::vector<bool>&, Content, size_t, int)> search = [&](std::vector<bool>& done, Content now, size_t sure,
                                                                              int extra) -> bool {
      Moment horizon = kNever;  // whatever begins after this comes later
      bool all = true;
      for (size_t i = 0; i < count; ++i) {
        if (done[i] || events[i].optional) continue;
        all = false;
        horizon = std::min(horizon, events[i].to);
      }
      if (all) return true;
      if (visited.size() > kVisitedMax) return true;
      if (!visited.emplace(done, now).second) return false;
      // What only looks and fits may as well happen at once.
      for (const bool optional : {false, true}) {
        for (size_t i = 0; i < count; ++i) {
          const Event& event = events[i];
          if (done[i] || event.optional != optional || event.from > horizon) continue;
          const std::optional<Content> next = after(event, now);
          if (!next) {
            if (!optional && sure >= deepest && event.to == horizon) deepest = sure, stuck = &event, stuck_at = now;
            continue;
          }
          const bool looks = event.kind >= Event::kSeeContent;
          done[i] = true;
          const bool found = search(done, *next, sure + (optional ? 0 : 1), extra);
          done[i] = false;
          if (found) return true;
          if (looks && *next == now) return false;
        }
      }
      return false;
    };
    std::vector<bool> done(count, false);
    if (search(done, kNothing, 0, 0)) continue;
    std::string there = stuck_at == kNothing  ? "nothing can be there"
                        : stuck_at >= kMoved ? fmt::format("what rename #{} moved in", stuck_at - kMoved)
                                             : fmt::format("content {}", stuck_at);
    return fmt::format("no order of the operations on {} explains all answers: {} cannot be explained where {}", name,
                       stuck ? stuck->op->ToString() : "an operation", there);
  }
  return std::nullopt;
}

}  // namespace xec::sim

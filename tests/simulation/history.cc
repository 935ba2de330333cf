// SPDX-License-Identifier: LGPL-3.0-or-later
#include <algorithm>
#include <unordered_set>

#include "history_event.hh"
#include "marks.hh"

namespace xec::sim {
namespace {

// The search gives up beyond this and finds nothing wrong; no seed comes near.
constexpr size_t kVisitedMax = 400'000;

}  // namespace

const char* OpKindName(OpKind kind) {
  switch (kind) {
    case OpKind::kPut: return "put";
    case OpKind::kExclusivePut: return "exclusive put";
    case OpKind::kRemove: return "remove";
    case OpKind::kRename: return "rename";
    case OpKind::kMakeDirectory: return "make directory";
    case OpKind::kRemoveDirectory: return "remove directory";
    case OpKind::kRenameDirectory: return "rename directory";
    case OpKind::kStat: return "stat";
    case OpKind::kRead: return "read";
    case OpKind::kList: return "list";
  }
  return "?";
}

bool Op::Open() const {
  if (ended == kNever) return true;
  if (!error) return false;
  return *error == Code::kUnknown || *error == Code::kDeadlineExceeded || *error == Code::kCancelled;
}

std::string Op::ToString() const {
  std::string text = fmt::format("#{} {} {}", id, OpKindName(kind), name);
  if (!to.empty()) text += " to " + to;
  if (content != kNothing) text += fmt::format(" content {}", content);
  if (ended == kNever) return text + ": not answered";
  return text + (error ? fmt::format(": {}", CodeName(*error)) : std::string(": ok"));
}

size_t History::Begin(Op op, Moment now) {
  op.id = ops_.size();
  if (op.part == 1) op.first_pass = op.id;
  op.invoked = now;
  ops_.push_back(std::move(op));
  return ops_.size() - 1;
}

// What may ever have been at each name: written there, or moved there from where it may have been.
History::Possible History::PossibleContents(const std::vector<std::string>& names) const {
  Possible possible;
  for (const std::string& name : names) possible[name];
  for (bool grown = true; grown;) {
    grown = false;
    for (const Op& op : ops_) {
      if ((op.error && !op.Open()) || op.part > 1) continue;
      if (op.kind == OpKind::kPut || op.kind == OpKind::kExclusivePut)
        grown |= possible[op.name].insert(op.content).second;
      if (op.kind != OpKind::kRename) continue;
      for (const Content content : std::set<Content>(possible[op.name])) {
        const Op* const put = &*std::find_if(ops_.begin(), ops_.end(), [&](const Op& o) {
          return o.content == content && (o.kind == OpKind::kPut || o.kind == OpKind::kExclusivePut);
        });
        // What goes on after the answer may take what comes later.
        const Moment last = op.part > 0 && op.Open() ? kNever : op.ended;
        if (put->invoked < last) grown |= possible[op.to].insert(content).second;
      }
    }
  }
  return possible;
}

namespace {

// What a moved-in content is before somebody reads it: this + the rename's id.
constexpr Content kMoved = uint64_t{1} << 62;
// What a rename has moved out although nobody may see that it is gone.
constexpr Content kHidden = uint64_t{1} << 63;
// A directory.
constexpr Content kDirectory = uint64_t{1} << 61;

}  // namespace

// Looks for an order of the events of one name that explains all of them.
class History::Search {
 public:
  Search(const History& history, std::vector<Event> events, const Possible& possible)
      : history_(history), events_(std::move(events)), possible_(possible), done_(events_.size()) {
    for (size_t i = 0; i < events_.size(); ++i) {
      if (events_[i].op->part < 2) continue;
      const Op* const pass = events_[i].op;
      const auto before = [&](const Event& e) {
        return e.op->first_pass == pass->first_pass && e.op->part == pass->part - 1;
      };
      const auto found = std::find_if(events_.begin(), events_.end(), before);
      if (found != events_.end()) pass_before_[i] = static_cast<size_t>(found - events_.begin());
    }
  }

  bool Explains() { return From(kNothing, 0); }
  // Explains() said yes without having tried all orders.
  bool gave_up() const { return visited_.size() > kVisitedMax; }

  // After Explains() said no: what got stuck where the search got furthest.
  std::string Stuck() const {
    const std::string there = stuck_at_ == kNothing     ? "nothing can be there"
                              : stuck_at_ == kHidden    ? std::string("something was moved away")
                              : stuck_at_ == kDirectory ? std::string("a directory is there")
                              : stuck_at_ >= kMoved
                                  ? fmt::format("what rename #{} moved in", stuck_at_ - kMoved)
                                  : fmt::format("content {}", stuck_at_);
    return fmt::format("{} cannot be explained where {}", stuck_ ? stuck_->op->ToString() : "an operation",
                       there);
  }

 private:
  // What is at the name after the event; nullopt: it cannot happen now.
  std::optional<Content> After(const Event& event, Content now) const {
    const auto unless = [](bool impossible, Content next) {
      return impossible ? std::nullopt : std::optional(next);
    };
    const bool replaces =
        event.kind == Event::kWrite || event.kind == Event::kErase || event.kind == Event::kMoveIn;
    if (now == kHidden && !replaces) return std::nullopt;
    switch (event.kind) {
      case Event::kWrite: return event.op->content;
      case Event::kWriteIfNothing: return unless(now != kNothing, event.op->content);
      case Event::kMake: return kDirectory;
      case Event::kErase: return kNothing;
      case Event::kMoveOut: return unless(now == kNothing, kNothing);
      case Event::kMoveOutHidden: return unless(now == kNothing, kHidden);
      case Event::kMoveIn: return kMoved + event.op->id;
      case Event::kSeeSomething: return unless(now == kNothing, now);
      case Event::kSeeNothing: return unless(now != kNothing, now);
      case Event::kSeeSize:
        return unless(now == kNothing || (now < kMoved && history_.size_of_(now) != event.op->size), now);
      case Event::kSeeContent:
        if (now < kMoved) return unless(now != event.op->content, now);
        return unless(!possible_.at(history_.ops_[now - kMoved].name).contains(event.op->content),
                      event.op->content);
    }
    return std::nullopt;
  }

  // When the first of the events that must still happen is over: whatever begins after this comes later.
  // nullopt: none is left.
  std::optional<Moment> Horizon() const {
    std::optional<Moment> horizon;
    for (size_t i = 0; i < events_.size(); ++i) {
      if (!done_[i] && !events_[i].optional) horizon = std::min(horizon.value_or(kNever), events_[i].to);
    }
    return horizon;
  }

  // When the last of the events that are done began: what had to be over before is too late.
  Moment Reached() const {
    Moment reached = 0;
    for (size_t i = 0; i < events_.size(); ++i) {
      if (done_[i]) reached = std::max(reached, events_[i].from);
    }
    return reached;
  }

  // Is there something that may happen until `reached` is past, but not after `from`?
  bool Misses(Moment reached, Moment from) const {
    for (size_t i = 0; i < events_.size(); ++i) {
      if (!done_[i] && events_[i].to >= reached && events_[i].to < from) return true;
    }
    return false;
  }

  // The same part of an earlier pass may still happen first; which is which makes no difference.
  bool OutOfOrder(size_t i) const {
    if (events_[i].op->part < 2) return false;
    const auto before = pass_before_.find(i);
    return before != pass_before_.end() && !done_[before->second];
  }

  // Can the events that are not done follow, with `now` at the name? `sure`: how many of those that must
  // happen are done.
  bool From(Content now, size_t sure) {
    const std::optional<Moment> horizon = Horizon();
    if (!horizon || gave_up()) return true;
    if (!visited_.emplace(done_, now).second) return false;
    const Moment reached = Reached();
    for (const bool optional : {false, true}) {
      for (size_t i = 0; i < events_.size(); ++i) {
        const Event& event = events_[i];
        if ((done_[i] && !event.repeated) || event.optional != optional) continue;
        if (event.from > *horizon || event.to < reached) continue;
        if (OutOfOrder(i)) continue;
        const std::optional<Content> next = After(event, now);
        if (!next) {
          const bool furthest = !optional && sure >= deepest_ && event.to == *horizon;
          if (furthest) deepest_ = sure, stuck_ = &event, stuck_at_ = now;
          continue;
        }
        // What may not happen and changes nothing might as well come later.
        if (optional && *next == now) continue;
        const bool before = done_[i];
        done_.Set(i, true);
        const bool found = From(*next, sure + (optional ? 0 : 1));
        done_.Set(i, before);
        if (found) return true;
        // What only looks and fits may as well happen at once, unless something is too late then.
        if (event.kind >= Event::kSeeContent && *next == now && !Misses(reached, event.from)) return false;
      }
    }
    return false;
  }

  struct HashOfState {
    size_t operator()(const std::pair<Marks, Content>& state) const {
      return state.first.Hash() * 31 + std::hash<Content>()(state.second);
    }
  };

  const History& history_;
  const std::vector<Event> events_;
  const Possible& possible_;
  std::map<size_t, size_t> pass_before_;  // of events of later passes
  Marks done_;
  std::unordered_set<std::pair<Marks, Content>, HashOfState> visited_;
  size_t deepest_ = 0;
  const Event* stuck_ = nullptr;
  Content stuck_at_ = kNothing;
};

bool History::ExplainsIf(const std::string& name, const Possible& possible,
                         const Assumption& assumption) const {
  std::vector<Event> events = EventsOf(name);
  const auto moves = [&](const Event& event) {
    const bool kind = event.kind == Event::kMoveOut || event.kind == Event::kMoveIn;
    return kind && event.op->id == assumption.rename;
  };
  // Without a part its later passes do not happen either: else each of them would excuse the other.
  const auto follows = [&](const Event& event) {
    const Op& pass = ops_[assumption.rename];
    return pass.part > 0 && event.op->part > pass.part && event.op->first_pass == pass.first_pass;
  };
  if (assumption.how == Assumption::kNever)
    std::erase_if(events, [&](const Event& event) { return moves(event) || follows(event); });
  for (Event& event : events) {
    if (!moves(event)) continue;
    event.from = assumption.from;
    event.to = assumption.to;
    event.optional = false;
    const bool hidden = event.kind == Event::kMoveOut && assumption.how == Assumption::kHidden;
    if (hidden) event.kind = Event::kMoveOutHidden;
  }
  return Search(*this, std::move(events), possible).Explains();
}

// The earliest moment at which a rename, if it happens, can have happened for one of its names; nullopt: it
// cannot.
std::optional<Moment> History::Earliest(const std::string& name, const Possible& possible, const Op& rename,
                                        Assumption::How how) const {
  const Moment first = rename.invoked;
  Moment low = first, high = LastMoment(rename);
  if (!ExplainsIf(name, possible, {rename.id, how, first, high})) return std::nullopt;
  while (low < high) {
    const Moment middle = low + (high - low) / 2;
    if (ExplainsIf(name, possible, {rename.id, how, first, middle})) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

std::optional<Moment> History::Latest(const std::string& name, const Possible& possible,
                                      const Op& rename) const {
  const Moment last = LastMoment(rename);
  Moment low = rename.invoked, high = last;
  if (!ExplainsIf(name, possible, {rename.id, Assumption::kHappens, low, last})) return std::nullopt;
  while (low < high) {
    const Moment middle = high - (high - low) / 2;
    if (ExplainsIf(name, possible, {rename.id, Assumption::kHappens, middle, last})) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

Moment History::LastMoment(const Op& rename) const {
  if (!rename.Open()) return rename.ended;
  Moment last = rename.invoked;
  for (const Op& op : ops_) last = std::max(last, op.ended == kNever ? op.invoked : op.ended);
  return last;
}

// Can the source lose its content at the moment at which the target gets it, or neither ever happen? What
// somebody else puts at the source in the middle of a rename hides that it is gone; the target gets its
// content later then.
bool History::IsOneStep(const Op& rename, const Possible& possible) const {
  const auto both = [&](Assumption::How how, Moment when) {
    const Assumption assumption{rename.id, how, when, when};
    return ExplainsIf(rename.name, possible, assumption) && ExplainsIf(rename.to, possible, assumption);
  };
  if ((rename.Open() || rename.part > 0) && both(Assumption::kNever, 0)) return true;
  // Mostly one of the ends will do.
  if (both(Assumption::kHappens, LastMoment(rename)) || both(Assumption::kHappens, rename.invoked))
    return true;
  const auto in_last = Latest(rename.to, possible, rename);
  if (!in_last) return false;
  const auto hidden_first = Earliest(rename.name, possible, rename, Assumption::kHidden);
  if (hidden_first && *hidden_first <= *in_last) return true;
  const auto out_first = Earliest(rename.name, possible, rename, Assumption::kHappens);
  if (!out_first) return false;
  if (*out_first <= *in_last && *Earliest(rename.to, possible, rename, Assumption::kHappens) <=
                                    *Latest(rename.name, possible, rename)) {
    return true;
  }
  return IsOverruled(rename) && ExplainsIf(rename.to, possible, {rename.id, Assumption::kNever, 0, 0});
}

// Has somebody changed the target while the rename was under way? The two are ordered by version there, and
// the higher one stays, also if it was answered before the source's name was gone (docs/protocol.md, 4).
bool History::IsOverruled(const Op& rename) const {
  return std::any_of(ops_.begin(), ops_.end(), [&](const Op& op) {
    const bool writes = op.kind == OpKind::kPut || op.kind == OpKind::kExclusivePut ||
                        op.kind == OpKind::kRemove || op.kind == OpKind::kRename;
    const std::string& target = op.kind == OpKind::kRename ? op.to : op.name;
    const bool changed = writes && (!op.error || op.Open()) && op.id != rename.id && target == rename.to;
    return changed && op.invoked < LastMoment(rename) && LastMoment(op) > rename.invoked;
  });
}

History::Verdict History::JudgeAllPasses(const std::vector<std::string>& names,
                                         const std::vector<std::string>& directories) const {
  Verdict verdict;
  const auto possible = PossibleContents(names);
  const auto judge = [&](const std::string& name, std::vector<Event> events) {
    Search search(*this, std::move(events), possible);
    const bool explained = search.Explains();
    if (search.gave_up()) ++verdict.unjudged;
    if (explained || verdict.broken) return;
    verdict.broken =
        fmt::format("no order of the operations on {} explains all answers: {}", name, search.Stuck());
  };
  for (const std::string& name : names) judge(name, EventsOf(name));
  for (const std::string& directory : directories) judge(directory, DirectoryEventsOf(directory));
  if (verdict.broken) return verdict;
  for (const Op& op : ops_) {
    const bool changed = op.kind == OpKind::kRename && (!op.error || op.Open());
    if (!changed || IsOneStep(op, possible)) continue;
    verdict.broken =
        fmt::format("{} has not happened at one moment for both names, nor for neither", op.ToString());
    break;
  }
  return verdict;
}

}  // namespace xec::sim

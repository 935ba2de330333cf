// SPDX-License-Identifier: LGPL-3.0-or-later
#include <algorithm>

#include "history_search.hh"

namespace xec::sim {
const char* OpKindName(OpKind kind) {
  switch (kind) {
    case OpKind::kPut: return "put";
    case OpKind::kExclusivePut: return "exclusive put";
    case OpKind::kRemove: return "remove";
    case OpKind::kRename: return "rename";
    case OpKind::kMakeDirectory: return "make directory";
    case OpKind::kRemoveDirectory: return "remove directory";
    case OpKind::kRenameDirectory: return "rename directory";
    case OpKind::kSetAttribute: return "set attribute";
    case OpKind::kRemoveAttribute: return "remove attribute";
    case OpKind::kStat: return "stat";
    case OpKind::kRead: return "read";
    case OpKind::kGetAttributes: return "get attributes";
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
  const bool one = kind == OpKind::kSetAttribute || kind == OpKind::kRemoveAttribute;
  for (size_t i = 0; i < kAttributeNames; ++i) {
    if (one ? i == attribute : attributes[i] != kNotSet) text += fmt::format(" a{}={}", i, attributes[i]);
  }
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
History::Known History::Learn(const std::vector<std::string>& names) const {
  Known known;
  for (const std::string& name : names) known.contents[name];
  for (bool grown = true; grown;) {
    grown = false;
    for (const Op& op : ops_) {
      if ((op.error && !op.Open()) || op.part > 1) continue;
      if (op.kind == OpKind::kPut || op.kind == OpKind::kExclusivePut)
        grown |= known.contents[op.name].insert(op.content).second;
      if (op.kind != OpKind::kRename) continue;
      for (const Content content : std::set<Content>(known.contents[op.name])) {
        const Op* const put = &*std::find_if(ops_.begin(), ops_.end(), [&](const Op& o) {
          return o.content == content && (o.kind == OpKind::kPut || o.kind == OpKind::kExclusivePut);
        });
        // What goes on after the answer may take what comes later.
        const Moment last = op.part > 0 && op.Open() ? kNever : op.ended;
        if (put->invoked < last) grown |= known.contents[op.to].insert(content).second;
      }
    }
  }
  for (const Op& op : ops_) {
    known.attributes = known.attributes || op.kind == OpKind::kGetAttributes ||
                       op.kind == OpKind::kSetAttribute || op.kind == OpKind::kRemoveAttribute;
    if ((op.error && !op.Open()) || op.kind == OpKind::kGetAttributes) continue;
    for (size_t i = 0; i < kAttributeNames; ++i) known.values[i].insert(op.attributes[i]);
  }
  for (auto& values : known.values) values.insert(kNotSet);
  return known;
}

bool History::ExplainsIf(const std::string& name, const Known& known, const Assumption& assumption) const {
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
    if (event.kind != Event::kMoveIn) event.carries = assumption.carries;
  }
  return Search(*this, std::move(events), known).Explains();
}

// Can that be what the rename has taken along from its source, as far as it is seen?
bool History::CanCarry(const Op& rename, const Object& object, const Known& known) const {
  // A chain of renames that bites its own tail is not followed.
  if (known.asking.contains(rename.id) || known.asking.size() >= known.follow_max) return true;
  const auto asked = known.carries.find({rename.id, object});
  if (asked != known.carries.end()) return asked->second;
  known.asking.insert(rename.id);
  const Moment first = rename.invoked, last = LastMoment(rename);
  const bool can = ExplainsIf(rename.name, known, {rename.id, Assumption::kHappens, first, last, &object}) ||
                   ExplainsIf(rename.name, known, {rename.id, Assumption::kHidden, first, last, &object});
  known.asking.erase(rename.id);
  known.carries.emplace(std::pair(rename.id, object), can);
  return can;
}

// The earliest moment at which a rename, if it happens, can have happened for one of its names; nullopt: it
// cannot.
std::optional<Moment> History::Earliest(const std::string& name, const Known& known, const Op& rename,
                                        Assumption::How how) const {
  const Moment first = rename.invoked;
  Moment low = first, high = LastMoment(rename);
  if (!ExplainsIf(name, known, {rename.id, how, first, high})) return std::nullopt;
  while (low < high) {
    const Moment middle = low + (high - low) / 2;
    if (ExplainsIf(name, known, {rename.id, how, first, middle})) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

std::optional<Moment> History::Latest(const std::string& name, const Known& known, const Op& rename) const {
  const Moment last = LastMoment(rename);
  Moment low = rename.invoked, high = last;
  if (!ExplainsIf(name, known, {rename.id, Assumption::kHappens, low, last})) return std::nullopt;
  while (low < high) {
    const Moment middle = high - (high - low) / 2;
    if (ExplainsIf(name, known, {rename.id, Assumption::kHappens, middle, last})) {
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
bool History::IsOneStep(const Op& rename, const Known& known) const {
  const auto both = [&](Assumption::How how, Moment when) {
    const Assumption assumption{rename.id, how, when, when};
    return ExplainsIf(rename.name, known, assumption) && ExplainsIf(rename.to, known, assumption);
  };
  if ((rename.Open() || rename.part > 0) && both(Assumption::kNever, 0)) return true;
  // Mostly one of the ends will do.
  if (both(Assumption::kHappens, LastMoment(rename)) || both(Assumption::kHappens, rename.invoked))
    return true;
  const auto in_last = Latest(rename.to, known, rename);
  if (!in_last) return false;
  const auto hidden_first = Earliest(rename.name, known, rename, Assumption::kHidden);
  if (hidden_first && *hidden_first <= *in_last) return true;
  const auto out_first = Earliest(rename.name, known, rename, Assumption::kHappens);
  if (!out_first) return false;
  if (*out_first <= *in_last &&
      *Earliest(rename.to, known, rename, Assumption::kHappens) <= *Latest(rename.name, known, rename)) {
    return true;
  }
  return IsOverruled(rename) && ExplainsIf(rename.to, known, {rename.id, Assumption::kNever, 0, 0});
}

// Has somebody changed the target while the rename was under way? The two are ordered by version there, and
// the higher one stays, also if it was answered before the source's name was gone (docs/protocol/rename.md).
bool History::IsOverruled(const Op& rename) const {
  return std::any_of(ops_.begin(), ops_.end(), [&](const Op& op) {
    const bool writes = op.kind == OpKind::kPut || op.kind == OpKind::kExclusivePut ||
                        op.kind == OpKind::kRemove || op.kind == OpKind::kRename;
    const std::string& target = op.kind == OpKind::kRename ? op.to : op.name;
    const bool changed = writes && (!op.error || op.Open()) && op.id != rename.id && target == rename.to;
    return changed && op.invoked < LastMoment(rename) && LastMoment(op) > rename.invoked;
  });
}

// Says what is wrong, at the name where it went wrong: what renames took from there cannot be explained at
// other names either. It is the one that cannot be explained although the most is believed of the others.
std::string History::Culprit(const std::vector<std::string>& unexplained, const Known& known) const {
  Known believing = known;
  for (size_t follow = 0; follow <= ops_.size(); ++follow) {
    believing.carries.clear();
    believing.follow_max = follow;
    for (const std::string& name : unexplained) {
      Search search(*this, EventsOf(name), believing);
      if (!search.Explains())
        return fmt::format("no order of the operations on {} explains all answers: {}", name, search.Stuck());
    }
  }
  return fmt::format("no order of the operations on {} explains all answers", unexplained.front());
}

History::Verdict History::JudgeAllPasses(const std::vector<std::string>& names,
                                         const std::vector<std::string>& directories) const {
  Verdict verdict;
  const Known known = Learn(names);
  const auto explains = [&](Search& search) {
    const bool explained = search.Explains();
    if (search.gave_up()) ++verdict.unjudged;
    return explained;
  };
  std::vector<std::string> unexplained;
  for (const std::string& name : names) {
    Search search(*this, EventsOf(name), known);
    if (!explains(search)) unexplained.push_back(name);
  }
  if (!unexplained.empty()) verdict.broken = Culprit(unexplained, known);
  for (const std::string& directory : directories) {
    if (both_.contains(directory)) continue;
    Search search(*this, DirectoryEventsOf(directory), known);
    if (explains(search) || verdict.broken) continue;
    verdict.broken =
        fmt::format("no order of the operations on {} explains all answers: {}", directory, search.Stuck());
  }
  if (verdict.broken) return verdict;
  for (const Op& op : ops_) {
    const bool changed = op.kind == OpKind::kRename && (!op.error || op.Open());
    if (!changed || IsOneStep(op, known)) continue;
    verdict.broken =
        fmt::format("{} has not happened at one moment for both names, nor for neither", op.ToString());
    break;
  }
  return verdict;
}

}  // namespace xec::sim

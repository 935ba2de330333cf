// SPDX-License-Identifier: LGPL-3.0-or-later
// Looks for an order of the events of one name that explains all of them. Internal to the judge.
#pragma once

#include <unordered_map>

#include "history_event.hh"
#include "marks.hh"

namespace xec::sim {

class History::Search {
 public:
  Search(const History& history, std::vector<Event> events, const Known& known);

  bool Explains() { return From({}, 0, nullptr); }
  // Explains() said yes without having tried all orders.
  bool gave_up() const;

  // After Explains() said no: what got stuck where the search got furthest.
  std::string Stuck() const;

 private:
  std::optional<Object> After(const Event& event, const Object& now) const;
  std::optional<Object> AfterMaking(const Event& event, const Object& now) const;
  std::optional<Object> AfterLook(const Event& event, const Object& now) const;
  std::optional<Object> SeeContent(Object now, Content content) const;
  std::optional<Object> SeeAttribute(Object now, size_t attribute, uint64_t value) const;
  bool CanBeCarried(const Object& now, const Object& wanted) const;
  bool CanHaveCarried(const Object& now) const;
  bool MayHaveContent(const Object& now, Content content) const;
  Object Settled(Object now) const;

  std::optional<Moment> Horizon() const;
  Moment Reached() const;
  bool Misses(Moment reached, Moment from) const;
  bool OutOfOrder(size_t i) const;
  size_t HashOf(const Object& now) const;
  bool IsKnown(const Object& now) const;
  void Remember(const Object& now);
  bool From(const Object& now, size_t sure, const Object* before);

  // What is at the name when of those that are told apart these are done, and each time all that was done.
  struct State {
    Marks told_apart;
    Object now;
    std::vector<Marks> done;
  };

  const History& history_;
  const std::vector<Event> events_;
  const Known& known_;
  std::map<size_t, size_t> pass_before_;  // of events of later passes
  Marks done_;
  Marks told_apart_;  // of those that must happen, and of passes, each of which waits for the one before
  std::unordered_multimap<size_t, State> visited_;  // by HashOf
  size_t states_ = 0;
  size_t deepest_ = 0;
  const Event* stuck_ = nullptr;
  Object stuck_at_;
};

}  // namespace xec::sim

// SPDX-License-Identifier: LGPL-3.0-or-later
// What an operation means to one name. Internal to the judge.
#pragma once

#include "history.hh"

namespace xec::sim {

struct History::Event {
  enum Kind {
    kWrite,
    kWriteIfNothing,
    kMake,
    kErase,
    kMoveOut,
    kMoveOutHidden,
    kMoveIn,
    kSeeContent,
    kSeeSize,
    kSeeSomething,
    kSeeNothing
  };
  Kind kind;
  const Op* op;
  Moment from, to;
  bool optional;  // it may also not happen
  bool repeated = false;  // it may happen again and again
};

}  // namespace xec::sim

// SPDX-License-Identifier: LGPL-3.0-or-later
// What kinds of worlds there are.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "run_seed.hh"

namespace xec::sim {

// What kind of world a seed is. Each trait is drawn by itself, so that seeds differ in kind.
struct Traits {
  bool calm = false;  // nothing goes wrong
  std::optional<size_t> ahead;  // the gateway whose clock is often far ahead
  double intensity = 1;  // of all faults
  std::optional<Fault> favourite;  // met by steps that are rare in this seed
  std::optional<Fault> aimed;  // met often by some kinds of steps, chosen by `aim`
  uint64_t aim = 0;
  size_t aimed_left = 24;  // so often
  bool failovers = false;  // writes of archives often fail in the middle
  bool crowded = false;  // many writers on gateways with little memory
  bool blackouts = false;  // more servers may be away at once than the protocol can do without
  bool absences = false;  // servers that go away may stay away for hours
  bool sleepy = false;  // gateways stop more often, and for longer than anything is remembered
  bool forgetful = false;  // tombstones are collected soon
  bool gives_up_soon = false;  // uploads of which nothing was heard are given up soon
  size_t naps_left = 3;  // so often a gateway there stops before it copies a version to a home
  bool unhurried = false;  // clients often wait for the next hour
  bool attributes = false;  // user attributes are set, removed and read
  bool directories = false;  // they are made, removed and renamed, and objects do not always make them
  bool kinds = false;  // some names are used as objects and as directories
  bool small = false;  // one or two names, for which all race
  uint64_t below = 0;  // there: one in so many operations is about what is below these
  std::vector<bool> liars;  // servers that answer reads with wrong bytes: at most m
  bool rot = false;  // what those servers keep goes bad on their disks, too
  bool ailments = false;  // servers suffer from what ailments.cc knows
  bool loses_disk = false;  // one of them never gets its own disk back
  bool older_disk = false;  // one of them gets an older copy of it for good
  bool members = false;  // servers join and leave
  std::array<uint64_t, 5> op_weights = {35, 12, 15, 18, 20};  // put, exclusive put, remove, rename, look
  size_t names = 4;  // that are used
};

}  // namespace xec::sim

// SPDX-License-Identifier: LGPL-3.0-or-later
// What operators change about the data servers of a store (`xec server`).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "placement/store_descriptor.hh"

namespace xec {

// For how long it is still to be waited. False: stop.
using ReplaceProgress = std::function<bool(std::chrono::seconds left)>;

struct ReplaceOptions {
  std::string server;  // a member: its id, or its address
  // The empty directory or data server that takes its place; "": where the member was.
  std::string with;
  // The member is there, but a part of what it had is lost: it has to learn its names again.
  bool lost_a_part = false;
  bool dry_run = false;  // looks at everything and changes nothing
  ReplaceProgress waiting = [](std::chrono::seconds) { return true; };
};

struct ReplacedServer {
  MemberIndex member = 0;
  std::string address;  // of what takes its place
  // An earlier call had given it the identity of the member already.
  bool was_there = false;
  bool moved = false;  // the list has another address of the member now
};

// A change of the list of members; one at a time, by whichever process.
struct ChangeOptions {
  enum Kind {
    kAdd,     // `place` becomes a member
    kDrain,   // `server` is to be home of no name any more, and gets no archives
    kEmpty,   // what it held is elsewhere
    kRemove,  // a member that was emptied
    kUndo,    // the change under way
    kMaintain,  // `server` is in maintenance for `time`; zero: not any more
    kLabel,   // `server` fails together with those of `host`
  } kind = kAdd;
  std::string server;  // a member: its id, or its address; not of kAdd and kUndo
  std::string place;   // of kAdd: an empty directory or data server
  std::string host;    // of kAdd and kLabel: servers that fail together have the same; "": the place's own
  std::chrono::seconds time{};  // of kMaintain
  // Of kMaintain: also where too few servers would be left.
  bool forced = false;
  bool dry_run = false;
};

// What a change does now, how many names it has looked at. False: stop; gateways go on with it.
using ChangeProgress = std::function<bool(uint64_t names, const std::string& at)>;

// How far the comparison of a disk with the others is. False: stop.
using CompareProgress = std::function<bool(uint64_t names, const std::string& at)>;

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// One seed of the simulator: the real engine on memory servers in virtual time, clients that use it, and
// everything that goes wrong meanwhile. One thread; the same options, the same run.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "history.hh"
#include "protocol/settings.hh"

namespace xec::sim {

enum class Fault {
  kNone,
  kCrashBefore,  // the gateway dies instead of sending the request
  kCrashAfter,   // the gateway dies with the request on its way
  kServerDown,  // the server goes away, before or after the request; comes back having missed what followed
  kPowerLoss,  // the server loses what was not synced, and restarts at once
  kLostReply,  // the request is executed, the answer does not arrive
  kDelayed,  // the request is executed up to a minute later
  kError,  // the request is refused: no space, or the connection
  kSleepBefore,  // the gateway stops for minutes before it sends the request
  kSleepAfter,  // the gateway stops for minutes as the answer arrives
  kWrongBytes,  // the server answers a read with a wrong byte
  kShortRead,  // or with fewer bytes than there are
  kWrongError,  // or says that an archive is not there, or may not be read
  // What a server suffers from for a while:
  kNoSpace,
  kReadOnly,
  kHangs,  // nothing is answered until it goes on, or is killed
  kSlow,  // each request takes a hundred times as long
  kEmptyDisk,  // its disk was replaced by an empty one
  kForeignDisk,  // or by one of another store
};
inline constexpr size_t kFaultCount = 19;
const char* FaultName(Fault fault);

using FaultCounts = std::array<uint64_t, kFaultCount>;
// protocol step -> how often each fault met it.
using Coverage = std::map<std::string, FaultCounts>;

struct WorldOptions {
  uint64_t seed = 1;
  size_t trace_lines = 0;  // keep that many of the last events
  bool renames = true;
  size_t operations = 200;
};

struct Outcome {
  std::optional<std::string> broken;  // the rule that does not hold, in a sentence
  std::deque<std::string> trace;  // the last lines, if asked for
  Coverage coverage;
  size_t answered = 0, succeeded = 0, open = 0;
  size_t unjudged = 0;  // names on which the oracle gave up
};

// The bytes of a content carry its number.
uint64_t SizeOf(Content content);
std::string BytesOf(Content content);
// Those with which an object of this size is put.
Settings SettingsOf(uint64_t size);
// As a store takes and tells them.
std::map<std::string, std::string> AttributesText(const AttributeValues& values);

Outcome RunSeed(const WorldOptions& options);

}  // namespace xec::sim

// SPDX-License-Identifier: LGPL-3.0-or-later
// What every call of a front end carries besides its own words: the caller, and how long the answer matters.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "runtime/executor.hh"

namespace xec {

// The client behind a request, as the door has found out. Empty texts: not known.
struct Caller {
  std::string subject;              // of the token, or the name of the user
  std::vector<std::string> groups;  // names of VOMS, token or unix groups
  std::string host;                 // from which the request came
  std::string door;                 // the front end, in a word: "root", "https", "s3", "mount", "cli"
  std::string dn = {};              // of the certificate
};

// Copied with each call; cheap.
struct CallOptions {
  // Once it is past the call answers kDeadlineExceeded, by the clock of the store's executor.
  TimePoint deadline = TimePoint::max();
  // Once it is requested the call answers kCancelled.
  std::stop_token stop = {};
  std::shared_ptr<const Caller> caller = nullptr;  // null: the process itself

  // Can the call be answered before it has ended? What it was to change may have changed then, or may yet.
  // The bytes of such a call are copied once more, since its caller's memory may be gone.
  bool Limited() const { return deadline != TimePoint::max() || stop.stop_possible(); }
};

}  // namespace xec

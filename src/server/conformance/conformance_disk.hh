// SPDX-License-Identifier: LGPL-3.0-or-later
// What the conformance suite does to the disk below a data server, behind the server's back, and what it
// finds wrong then. The findings are functions of their own, so that a test of the suite can ask for them on
// servers that are wrong on purpose (conformance_mutants_test.cc).
#pragma once

#include <string>
#include <vector>

#include "server/calls.hh"

namespace xec {

class ConformanceDisk {
 public:
  virtual ~ConformanceDisk() = default;

  // The disk goes, as one that is unmounted, until BringBack: its place is gone, or, with `mount_point`, an
  // empty folder is there. (A server without places: as it is when its disk is lost, or replaced by an empty
  // one.)
  virtual void TakeAway(bool mount_point) = 0;
  virtual void BringBack() = 0;

  // A power cut as bad as it may be: of the names that were made since the disk object was, those are gone
  // whose making was not brought to stable storage. Then the server goes on.
  virtual void CutPower() = 0;
};

// The server that is looked at, and where.
struct ConformanceSubject {
  DataServerPtr server;
  std::string directory;  // there already, empty, and on stable storage
  Executor* executor = nullptr;
  Duration limit{0};  // of every single call
  bool attributes = true;

  CallContext Call() const { return {executor, executor->Now() + limit}; }
};

// A sentence for each request that is answered as if the disk were there and empty (promise P6), and if all
// is not as before once it is back.
std::vector<std::string> ProblemsWithoutItsDisk(const ConformanceSubject& subject, ConformanceDisk& disk);

// A sentence for each change that policy commit promises and that a power cut undoes (promise P1).
std::vector<std::string> ProblemsAfterPowerCuts(const ConformanceSubject& subject, ConformanceDisk& disk);

}  // namespace xec

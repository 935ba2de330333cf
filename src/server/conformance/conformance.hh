// SPDX-License-Identifier: LGPL-3.0-or-later
// The one suite that every DataServer must pass: the contract of data_server.hh as tests, with the facts
// the commit protocol stands on (exclusive creation, one winner of a rename, listings with sizes, old bytes
// of renamed and removed files). Link the target xec_conformance (DEPS conformance in xec_test) and write
//
//   INSTANTIATE_TEST_SUITE_P(Xrootd, ConformanceTest, testing::Values(ConformanceTarget{...}),
//   ConformanceName);
//
// Every test works in a directory of its own below `base`, so one long-lived server can serve all of them.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/thread_pool.hh"
#include "server/calls.hh"
#include "server/conformance/conformance_disk.hh"

namespace xec {

struct ConformanceTarget {
  std::string name;                         // letters and digits, for the test's name
  std::function<DataServerPtr()> make;      // called once per test; the server may be shared or fresh
  std::string base = "/";                   // where tests make their directories; exists
  bool attributes = true;                   // offers attributes (a layout without them may not)
  uint64_t large_bytes = 70 * 1024 * 1024;  // size of the large-file test
  bool question_marks = true;               // takes '?' in names (root:// URLs do not)
  int racers = 50;                          // concurrent creators and renamers
  std::chrono::seconds deadline{60};        // of every single call
  // The disk below the server that `make` gives; called at the start of each test that needs it. Needed, but
  // where the two below say why not.
  std::function<std::unique_ptr<ConformanceDisk>()> disk = {};
  std::string proves_no_disk = {};  // not empty: why the server cannot notice that its disk is gone
  std::string syncs_no_names = {};  // not empty: why names need not be durable here
  // Not empty: why the whole suite is skipped here (a server that could not be started).
  std::function<std::string()> skip_reason = {};
};

inline std::string ConformanceName(const testing::TestParamInfo<ConformanceTarget>& info) {
  return info.param.name;
}

// gtest prints parameters of failing tests.
void PrintTo(const ConformanceTarget& target, std::ostream* out);

class ConformanceTest : public testing::TestWithParam<ConformanceTarget> {
 protected:
  void SetUp() override;
  // Removes the test's directory with all that is in it.
  void TearDown() override;

  CallContext context() const;
  ConformanceSubject Subject() const {
    return {server_, directory_, pool_.get(), GetParam().deadline, GetParam().attributes};
  }
  // `name` below the test's directory.
  std::string Path(const std::string& name) const { return directory_ + "/" + name; }

  // The operations, blocking.
  Result<ArchiveFilePtr> OpenFile(const std::string& path, OpenMode mode);
  Result<std::vector<Entry>> ListDirectory(const std::string& path);
  Status RenameTo(const std::string& from, const std::string& to);
  Status RemoveFile(const std::string& path);
  Status Make(const std::string& path, const std::string& content);
  Result<std::string> Content(const std::string& path, uint64_t size_max = 1 << 20);
  // Reads the ranges of an open file; the answer holds as many bytes as were read.
  Result<std::string> ReadRanges(const ArchiveFilePtr& file, std::vector<ByteRange> ranges);
  Status WriteAt(const ArchiveFilePtr& file, uint64_t offset, const std::string& bytes);
  // Starts all of them at once and waits for all; the results are in the order of the tasks.
  std::vector<Status> RunAll(std::vector<Task<Status>> tasks);

  std::unique_ptr<ThreadPool> pool_;
  DataServerPtr server_;
  std::string directory_;

 private:
  void RemoveTree(const std::string& path);
};

// Deterministic bytes for contents, different for each seed.
std::string ConformanceBytes(uint64_t seed, size_t count);

}  // namespace xec

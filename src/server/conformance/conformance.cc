// SPDX-License-Identifier: LGPL-3.0-or-later
// The fixture of the conformance suite. The tests are in conformance_names.cc and conformance_files.cc.
#include "server/conformance/conformance.hh"

#include <atomic>
#include <unistd.h>

#include "base/random.hh"
#include "runtime/sync_wait.hh"

namespace xec {

void PrintTo(const ConformanceTarget& target, std::ostream* out) { *out << target.name; }

std::string ConformanceBytes(uint64_t seed, size_t count) {
  Random random(seed);
  std::string bytes(count, '\0');
  for (size_t at = 0; at < count; at += sizeof(uint64_t)) {
    const uint64_t word = random.Next();
    std::memcpy(bytes.data() + at, &word, std::min(sizeof(word), count - at));
  }
  return bytes;
}

void ConformanceTest::SetUp() {
  const ConformanceTarget& target = GetParam();
  if (target.skip_reason) {
    if (const std::string reason = target.skip_reason(); !reason.empty()) GTEST_SKIP() << reason;
  }
  static std::atomic<int> number = 0;
  const std::string base = target.base == "/" ? "" : target.base;
  directory_ = fmt::format("{}/conformance-{}-{}", base, getpid(), ++number);
  pool_ = std::make_unique<ThreadPool>("conformance", 2);
  server_ = target.make();
  ASSERT_NE(server_, nullptr);
  const Status made = SyncWait(MakeDirectory(context(), server_, directory_));
  ASSERT_TRUE(made) << made.error().ToString();
}

void ConformanceTest::TearDown() {
  if (server_) RemoveTree(directory_);
  server_.reset();
  pool_.reset();
}

void ConformanceTest::RemoveTree(const std::string& path) {
  const Result<std::vector<Entry>> entries = ListDirectory(path);
  if (!entries) return;
  for (const Entry& entry : *entries) {
    const std::string child = path + "/" + entry.name;
    if (entry.directory) {
      RemoveTree(child);
    } else if (const Status removed = RemoveFile(child); !removed) {
      ADD_FAILURE() << removed.error().ToString();
    }
  }
  const Status removed = SyncWait(RemoveDirectory(context(), server_, path));
  if (!removed) ADD_FAILURE() << removed.error().ToString();
}

CallContext ConformanceTest::context() const { return {pool_.get(), pool_->Now() + GetParam().deadline}; }

Result<ArchiveFilePtr> ConformanceTest::OpenFile(const std::string& path, OpenMode mode) {
  return SyncWait(Open(context(), server_, path, mode));
}
Result<std::vector<Entry>> ConformanceTest::ListDirectory(const std::string& path) {
  return SyncWait(List(context(), server_, path));
}
Status ConformanceTest::RenameTo(const std::string& from, const std::string& to) {
  return SyncWait(Rename(context(), server_, from, to));
}
Status ConformanceTest::RemoveFile(const std::string& path) {
  return SyncWait(Remove(context(), server_, path));
}
Status ConformanceTest::Make(const std::string& path, const std::string& content) {
  return SyncWait(CreateFile(context(), server_, path, content, true));
}
Result<std::string> ConformanceTest::Content(const std::string& path, uint64_t size_max) {
  return SyncWait(ReadFile(context(), server_, path, size_max));
}

Result<std::string> ConformanceTest::ReadRanges(const ArchiveFilePtr& file, std::vector<ByteRange> ranges) {
  uint64_t sum = 0;
  for (const ByteRange& range : ranges) sum += range.length;
  const Slice into(Buffer::Allocate(sum + 1));
  XEC_ASSIGN_OR_RETURN(const uint64_t got, SyncWait(Read(context(), file, std::move(ranges), into)));
  return std::string(AsText(into.span().first(got)));
}

Status ConformanceTest::WriteAt(const ArchiveFilePtr& file, uint64_t offset, const std::string& bytes) {
  return SyncWait(Write(context(), file, offset, Slice::Copy(AsBytes(bytes))));
}

namespace {

Task<void> Keep(Task<Status> task, Status* into) { *into = co_await task; }

}  // namespace

std::vector<Status> ConformanceTest::RunAll(std::vector<Task<Status>> tasks) {
  std::vector<Status> results(tasks.size(), Status(Fail(Code::kInternal, "not run")));
  TaskScope scope;
  for (size_t i = 0; i < tasks.size(); ++i) scope.Spawn(Keep(std::move(tasks[i]), &results[i]));
  scope.Drain();
  return results;
}

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// Conformance of what concerns contents and calls: reading, writing, open files, deadlines, completions.
#include <algorithm>
#include <atomic>
#include <thread>

#include "base/mutex.hh"
#include "base/random.hh"
#include "runtime/sync_wait.hh"
#include "server/conformance/conformance.hh"
#include "server/test/expect_status.hh"

namespace xec {
namespace {

TEST_P(ConformanceTest, WriteSyncCloseReadOfManySizes) {
  for (const size_t size : {0, 1, 4095, 4096, 4097, 65536, 1048577}) {
    SCOPED_TRACE(size);
    const std::string bytes = ConformanceBytes(size, size);
    const std::string path = Path(fmt::format("f{}", size));
    EXPECT_OK(Make(path, bytes));
    const Result<ArchiveFilePtr> file = OpenFile(path, OpenMode::kRead);
    ASSERT_TRUE(file) << file.error().ToString();
    EXPECT_EQ((*file)->size(), size);
    EXPECT_EQ(*ReadRanges(*file, {{0, size}}), bytes);
    EXPECT_OK(SyncWait(Close(context(), *file)));
  }
}

TEST_P(ConformanceTest, OpenOfWhatIsNoFile) {
  EXPECT_CODE(OpenFile(Path("missing"), OpenMode::kRead), Code::kNotFound);
  EXPECT_CODE(OpenFile(Path("no/such/directory/f"), OpenMode::kRead), Code::kNotFound);
  EXPECT_CODE(OpenFile(directory_, OpenMode::kRead), Code::kIsDirectory);
}

TEST_P(ConformanceTest, ANewFileHasSizeZeroAndIsThereAtOnce) {
  const Result<ArchiveFilePtr> file = OpenFile(Path("f"), OpenMode::kCreate);
  ASSERT_TRUE(file) << file.error().ToString();
  EXPECT_EQ((*file)->size(), 0u);
  const Result<std::vector<Entry>> entries = ListDirectory(directory_);
  ASSERT_EQ(entries->size(), 1u);
  EXPECT_EQ((*entries)[0].name, "f");
  EXPECT_OK(SyncWait(Close(context(), *file)));
}

TEST_P(ConformanceTest, WritesInAnyOrderWithAGap) {
  const Result<ArchiveFilePtr> file = OpenFile(Path("f"), OpenMode::kCreate);
  ASSERT_TRUE(file) << file.error().ToString();
  EXPECT_OK(WriteAt(*file, 10000, "end"));
  EXPECT_OK(WriteAt(*file, 0, "begin"));
  EXPECT_OK(WriteAt(*file, 5, "-more"));
  EXPECT_OK(SyncWait(Sync(context(), *file)));
  EXPECT_OK(SyncWait(Close(context(), *file)));
  std::string expected(10003, '\0');
  expected.replace(0, 10, "begin-more");
  expected.replace(10000, 3, "end");
  EXPECT_EQ(*Content(Path("f")), expected);
}

TEST_P(ConformanceTest, OverlappingCallsOnOneFile) {
  const Result<ArchiveFilePtr> file = OpenFile(Path("f"), OpenMode::kCreate);
  ASSERT_TRUE(file) << file.error().ToString();
  constexpr size_t kPiece = 10000;
  const std::string bytes = ConformanceBytes(3, kPiece * 64);
  std::vector<Task<Status>> writes;
  for (size_t i = 0; i < 64; ++i) {
    const Slice piece = Slice::Copy(AsBytes(bytes).subspan(i * kPiece, kPiece));
    writes.push_back(Write(context(), *file, i * kPiece, piece));
  }
  for (const Status& result : RunAll(std::move(writes))) EXPECT_OK(result);
  EXPECT_OK(SyncWait(Close(context(), *file)));
  EXPECT_EQ(*Content(Path("f"), bytes.size()), bytes);
}

TEST_P(ConformanceTest, ReadsEndWithTheFile) {
  EXPECT_OK(Make(Path("f"), "0123456789"));
  const Result<ArchiveFilePtr> file = OpenFile(Path("f"), OpenMode::kRead);
  ASSERT_TRUE(file) << file.error().ToString();
  EXPECT_EQ(*ReadRanges(*file, {{8, 100}}), "89");
  EXPECT_EQ(*ReadRanges(*file, {{10, 5}}), "");
  EXPECT_EQ(*ReadRanges(*file, {{5000000000, 5}}), "");
  EXPECT_EQ(*ReadRanges(*file, {{3, 0}}), "");
  EXPECT_OK(SyncWait(Close(context(), *file)));
}

TEST_P(ConformanceTest, AReadOfManyRanges) {
  const std::string bytes = ConformanceBytes(5, 300000);
  EXPECT_OK(Make(Path("f"), bytes));
  const Result<ArchiveFilePtr> file = OpenFile(Path("f"), OpenMode::kRead);
  ASSERT_TRUE(file) << file.error().ToString();
  for (const size_t count : {1, 2, 3, 16, 17, 255, 1023, 1024}) {
    SCOPED_TRACE(count);
    std::vector<ByteRange> ranges;
    std::string expected;
    for (size_t i = 0; i < count; ++i) {
      // Backwards, with neighbours, repetitions and different lengths.
      const uint64_t offset = i % 3 == 0 ? 290000 - i * 250 : i * 271;
      const uint64_t length = 1 + i % 97;
      ranges.push_back({offset, length});
      expected += bytes.substr(offset, length);
    }
    const Result<std::string> got = ReadRanges(*file, ranges);
    EXPECT_OK(got);
    EXPECT_TRUE(got && *got == expected);
  }
  EXPECT_OK(SyncWait(Close(context(), *file)));
}

TEST_P(ConformanceTest, NeighbouringRangesAreReadAsWritten) {
  EXPECT_OK(Make(Path("f"), "abcdefghij"));
  const Result<ArchiveFilePtr> file = OpenFile(Path("f"), OpenMode::kRead);
  ASSERT_TRUE(file) << file.error().ToString();
  EXPECT_EQ(*ReadRanges(*file, {{0, 2}, {2, 3}, {5, 1}, {0, 1}}), "abcdefa");
  EXPECT_OK(SyncWait(Close(context(), *file)));
}

// XrdCl cannot answer a vector read that has a piece twice.
TEST_P(ConformanceTest, TheSameRangeTwice) {
  EXPECT_OK(Make(Path("f"), "0123456789"));
  const Result<ArchiveFilePtr> file = OpenFile(Path("f"), OpenMode::kRead);
  ASSERT_TRUE(file) << file.error().ToString();
  EXPECT_EQ(*ReadRanges(*file, {{0, 2}, {4, 2}, {0, 2}, {8, 1}, {4, 2}, {4, 1}}), "0145018454");
  EXPECT_OK(SyncWait(Close(context(), *file)));
}

TEST_P(ConformanceTest, ARangeBeyondTheEndEndsTheRead) {
  EXPECT_OK(Make(Path("f"), "0123456789"));
  const Result<ArchiveFilePtr> file = OpenFile(Path("f"), OpenMode::kRead);
  ASSERT_TRUE(file) << file.error().ToString();
  const Result<std::string> got = ReadRanges(*file, {{0, 4}, {8, 4}, {1, 1}});
  EXPECT_OK(got);
  EXPECT_EQ(*got, "012389");
  EXPECT_OK(SyncWait(Close(context(), *file)));
}

TEST_P(ConformanceTest, ALargeFile) {
  const size_t size = GetParam().large_bytes;
  const Slice out(Buffer::Allocate(size));
  Random random(9);
  for (size_t at = 0; at + 8 <= size; at += 8) {
    const uint64_t word = random.Next();
    std::memcpy(out.span().data() + at, &word, sizeof(word));
  }
  const Result<ArchiveFilePtr> file = OpenFile(Path("large"), OpenMode::kCreate);
  ASSERT_TRUE(file) << file.error().ToString();
  EXPECT_OK(SyncWait(Write(context(), *file, 0, out)));
  EXPECT_OK(SyncWait(Sync(context(), *file)));
  EXPECT_OK(SyncWait(Close(context(), *file)));

  const Result<ArchiveFilePtr> again = OpenFile(Path("large"), OpenMode::kRead);
  ASSERT_TRUE(again) << again.error().ToString();
  EXPECT_EQ((*again)->size(), size);
  const Slice in(Buffer::Allocate(size));
  std::vector<ByteRange> whole = {{0, size}};
  const Result<uint64_t> got = SyncWait(Read(context(), *again, whole, in));
  EXPECT_OK(got);
  EXPECT_EQ(*got, size);
  EXPECT_TRUE(std::memcmp(in.span().data(), out.span().data(), size / 8 * 8) == 0);
  EXPECT_OK(SyncWait(Close(context(), *again)));
}

TEST_P(ConformanceTest, AFileRenamedWhileOpenKeepsItsBytes) {
  const std::string bytes = ConformanceBytes(11, 200000);
  EXPECT_OK(Make(Path("s"), bytes));
  const Result<ArchiveFilePtr> file = OpenFile(Path("s"), OpenMode::kRead);
  ASSERT_TRUE(file) << file.error().ToString();
  EXPECT_EQ(*ReadRanges(*file, {{0, 100}}), bytes.substr(0, 100));
  EXPECT_OK(RenameTo(Path("s"), Path("p")));
  EXPECT_EQ(*ReadRanges(*file, {{100000, 100000}}), bytes.substr(100000));
  // A new file under the old name is another file, for old and new readers.
  EXPECT_OK(Make(Path("s"), "another"));
  EXPECT_EQ(*ReadRanges(*file, {{5, 50}}), bytes.substr(5, 50));
  EXPECT_OK(SyncWait(Close(context(), *file)));
  EXPECT_EQ(*Content(Path("p"), bytes.size()), bytes);
}

TEST_P(ConformanceTest, AFileRemovedWhileOpenKeepsItsBytes) {
  const std::string bytes = ConformanceBytes(12, 200000);
  EXPECT_OK(Make(Path("f"), bytes));
  const Result<ArchiveFilePtr> file = OpenFile(Path("f"), OpenMode::kRead);
  ASSERT_TRUE(file) << file.error().ToString();
  EXPECT_OK(RemoveFile(Path("f")));
  EXPECT_EQ(*ReadRanges(*file, {{0, 200000}}), bytes);
  EXPECT_CODE(OpenFile(Path("f"), OpenMode::kRead), Code::kNotFound);
  EXPECT_OK(SyncWait(Close(context(), *file)));
}

// Sealing ends with close, promotion is a rename: nothing may be lost between them.
TEST_P(ConformanceTest, AFileRenamedWhileWrittenIsWhole) {
  const Result<ArchiveFilePtr> file = OpenFile(Path("s"), OpenMode::kCreate);
  ASSERT_TRUE(file) << file.error().ToString();
  EXPECT_OK(WriteAt(*file, 0, "one"));
  EXPECT_OK(RenameTo(Path("s"), Path("d/p")));
  EXPECT_OK(WriteAt(*file, 3, "two"));
  EXPECT_OK(SyncWait(Close(context(), *file)));
  EXPECT_EQ(*Content(Path("d/p")), "onetwo");
}

// Calls with hardly any time: each is answered, and what was given up on touches no freed memory (seen by
// the sanitizers) and disturbs nothing else.
TEST_P(ConformanceTest, CallsGivenUpOnKeepTheirBuffers) {
  const std::string bytes = ConformanceBytes(13, 4 << 20);
  EXPECT_OK(Make(Path("f"), bytes));
  for (int i = 0; i < 10; ++i) {
    const CallContext hurried{pool_.get(), pool_->Now() + std::chrono::microseconds(i * 100)};
    const Result<ArchiveFilePtr> out = OpenFile(Path(fmt::format("out{}", i)), OpenMode::kCreate);
    ASSERT_TRUE(out) << out.error().ToString();
    const Status written = SyncWait(Write(hurried, *out, 0, Slice::Copy(AsBytes(bytes))));
    if (!written) {
      EXPECT_EQ(written.code(), Code::kDeadlineExceeded) << written.error().message;
    }
    const Result<ArchiveFilePtr> in = OpenFile(Path("f"), OpenMode::kRead);
    ASSERT_TRUE(in) << in.error().ToString();
    std::vector<ByteRange> whole = {{0, bytes.size()}};
    const Result<uint64_t> got = SyncWait(Read(hurried, *in, whole, Slice(Buffer::Allocate(bytes.size()))));
    if (!got) {
      EXPECT_EQ(got.code(), Code::kDeadlineExceeded) << got.error().message;
    }
    EXPECT_OK(SyncWait(Close(context(), *out)));
    EXPECT_OK(SyncWait(Close(context(), *in)));
  }
  EXPECT_EQ(*Content(Path("f"), bytes.size()), bytes);
}

// Counts the completions of raw calls and sees on which thread they run.
struct Completions {
  Mutex mutex;
  CondVar changed;
  int count = 0;
  bool inline_seen = false;
  const std::thread::id caller = std::this_thread::get_id();

  template <typename T>
  Done<T> Expect() {
    return [this](Result<T>) {
      MutexLock lock(mutex);
      ++count;
      if (std::this_thread::get_id() == caller) inline_seen = true;
      changed.NotifyAll();
    };
  }
  bool WaitFor(int expected, std::chrono::seconds limit) {
    MutexLock lock(mutex);
    const auto until = std::chrono::steady_clock::now() + limit;
    while (count < expected && changed.WaitUntil(mutex, until)) {
    }
    return count >= expected;
  }
};

TEST_P(ConformanceTest, EveryCallCompletesOnceAndNeverInline) {
  EXPECT_OK(Make(Path("f"), "0123456789"));
  const Result<ArchiveFilePtr> opened = OpenFile(Path("f"), OpenMode::kRead);
  ASSERT_TRUE(opened) << opened.error().ToString();
  const ArchiveFilePtr file = *opened;
  Completions seen;
  const OpContext op{pool_->Now() + GetParam().deadline};
  int calls = 0;
  for (const std::string& name : {Path("f"), Path("missing"), Path("f/below")}) {
    server_->Open(op, name, OpenMode::kRead, seen.Expect<ArchiveFilePtr>());
    server_->Open(op, name, OpenMode::kCreate, seen.Expect<ArchiveFilePtr>());
    server_->List(op, name, seen.Expect<std::vector<Entry>>());
    server_->MakeDirectory(op, name, seen.Expect<void>());
    server_->GetAttributes(op, name, "", seen.Expect<Attributes>());
    server_->RemoveDirectory(op, name, seen.Expect<void>());
    calls += 6;
  }
  server_->Rename(op, Path("nothing"), Path("g"), seen.Expect<void>());
  server_->Remove(op, Path("nothing"), seen.Expect<void>());
  server_->GetSpace(op, seen.Expect<Space>());
  file->Read(op, {{0, 5}, {20, 1}}, Slice(Buffer::Allocate(6)), seen.Expect<uint64_t>());
  file->Read(op, {}, Slice(Buffer::Allocate(1)), seen.Expect<uint64_t>());
  calls += 5;
  EXPECT_TRUE(seen.WaitFor(calls, GetParam().deadline)) << seen.count << " of " << calls;
  file->Close(op, seen.Expect<void>());
  ++calls;
  EXPECT_TRUE(seen.WaitFor(calls, GetParam().deadline));
  // A request behind all of them: a second completion of one of them would have been seen before it.
  EXPECT_OK(ListDirectory(directory_));
  EXPECT_EQ(seen.count, calls);
  EXPECT_FALSE(seen.inline_seen);
}

Task<Status> WorkOnOneFile(CallContext context, DataServerPtr server, std::string path, std::string bytes) {
  Status made = co_await CreateFile(context, server, path, bytes, false);
  if (!made) co_return made.error();
  Result<std::string> got = co_await ReadFile(context, server, path, bytes.size());
  if (!got) co_return got.error();
  if (*got != bytes) co_return Fail(Code::kCorruption, "{} has other bytes", path);
  Status renamed = co_await Rename(context, server, path, path + ".p");
  if (!renamed) co_return renamed.error();
  Result<std::vector<Entry>> listed = co_await List(context, server, path.substr(0, path.rfind('/')));
  if (!listed) co_return listed.error();
  co_return co_await Remove(context, server, path + ".p");
}

TEST_P(ConformanceTest, SixtyFourAtOnce) {
  std::vector<Task<Status>> workers;
  for (uint64_t i = 0; i < 64; ++i) {
    workers.push_back(WorkOnOneFile(context(), server_, Path(fmt::format("d{}/f{}", i % 4, i)),
                                    ConformanceBytes(i, 100 + i * 1000)));
  }
  for (const Status& result : RunAll(std::move(workers))) EXPECT_OK(result);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(ListDirectory(Path(fmt::format("d{}", i)))->size(), 0u);
}

// A user that gives a file up closes it, while another one may be about to use it.
TEST_P(ConformanceTest, WhatIsStartedAfterCloseIsCancelled) {
  EXPECT_OK(Make(Path("f"), "0123456789"));
  for (const OpenMode mode : {OpenMode::kRead, OpenMode::kCreate}) {
    const Result<ArchiveFilePtr> file = OpenFile(Path(mode == OpenMode::kRead ? "f" : "g"), mode);
    ASSERT_TRUE(file) << file.error().ToString();
    EXPECT_OK(SyncWait(Close(context(), *file)));
    EXPECT_CODE(ReadRanges(*file, {{0, 1}}), Code::kCancelled);
    EXPECT_CODE(ReadRanges(*file, {{0, 1}, {3, 1}}), Code::kCancelled);
    EXPECT_CODE(WriteAt(*file, 0, "x"), Code::kCancelled);
    EXPECT_CODE(SyncWait(Sync(context(), *file)), Code::kCancelled);
    EXPECT_CODE(SyncWait(Close(context(), *file)), Code::kCancelled);
  }
}

TEST_P(ConformanceTest, AFileOutlivesItsServerObject) {
  EXPECT_OK(Make(Path("f"), "still here"));
  const Result<ArchiveFilePtr> file = OpenFile(Path("f"), OpenMode::kRead);
  ASSERT_TRUE(file) << file.error().ToString();
  server_.reset();
  EXPECT_EQ(*ReadRanges(*file, {{0, 10}}), "still here");
  EXPECT_OK(SyncWait(Close(context(), *file)));
  server_ = GetParam().make();
}

}  // namespace
}  // namespace xec

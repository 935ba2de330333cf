// SPDX-License-Identifier: LGPL-3.0-or-later
// What the conformance suite cannot show: the XRootD data server against servers that die, hang and return,
// its requests as the server counts them, and its limits.
#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "conformance_xrootd_process.hh"
#include "runtime/sync_wait.hh"
#include "runtime/thread_pool.hh"
#include "server/calls.hh"
#include "server_xrootd/xrootd_server.hh"

namespace xec {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class XrootdServerTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!NoServersReason()->empty()) GTEST_SKIP() << *NoServersReason();
  }

  CallContext Within(Duration limit) { return CallContext{&pool_, pool_.Now() + limit}; }
  CallContext Soon() { return Within(seconds(20)); }

  DataServerPtr Connect(const XrootdProcess& process) { return Connect(process.url()); }
  DataServerPtr Connect(const std::string& url) {
    auto server = MakeXrootdServer({.url = url, .executor = &pool_});
    XEC_CHECK(server.has_value());
    return *server;
  }

  Status Put(const DataServerPtr& server, const std::string& path, const std::string& content) {
    return SyncWait(CreateFile(Soon(), server, path, content, true));
  }

  ArchiveFilePtr MustOpen(const DataServerPtr& server, const std::string& path, OpenMode mode) {
    auto file = SyncWait(Open(Soon(), server, path, mode));
    XEC_CHECK(file.has_value(), "{}", file.error().ToString());
    return *file;
  }

  Duration Elapsed(const std::function<void()>& work) {
    const TimePoint start = pool_.Now();
    work();
    return pool_.Now() - start;
  }

  // Calls until it succeeds; the time that took.
  Duration UntilOk(Duration limit, const std::function<Status()>& call) {
    const TimePoint start = pool_.Now();
    while (!call() && pool_.Now() - start < limit) {
    }
    return pool_.Now() - start;
  }

  ThreadPool pool_{"xrdtest", 4};
};

Slice Filled(size_t bytes, unsigned char seed) {
  Slice slice(Buffer::Allocate(bytes));
  for (size_t i = 0; i < bytes; ++i)
    slice.span()[i] = static_cast<std::byte>((i * 131 + (i >> 12) + seed) & 0xff);
  return slice;
}

size_t OpenDescriptors() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

TEST_F(XrootdServerTest, EveryOperationIsOneRequest) {
  XrootdProcess process({.trace = true});
  const DataServerPtr server = Connect(process);
  ASSERT_TRUE(Put(server, "/o/s.1", "content"));
  EXPECT_EQ(process.RequestCount("open"), 1);
  EXPECT_EQ(process.RequestCount("write"), 1);
  EXPECT_EQ(process.RequestCount("sync"), 1);
  EXPECT_EQ(process.RequestCount("close"), 1);
  ASSERT_TRUE(SyncWait(List(Soon(), server, "/o")));
  EXPECT_EQ(process.RequestCount("dirlist"), 1);
  ASSERT_TRUE(SyncWait(Rename(Soon(), server, "/o/s.1", "/o/p.1")));
  EXPECT_EQ(process.RequestCount("mv"), 1);
  const ArchiveFilePtr file = MustOpen(server, "/o/p.1", OpenMode::kRead);
  EXPECT_EQ(file->size(), 7u);
  const Slice into(Buffer::Allocate(7));
  ASSERT_TRUE(SyncWait(Read(Soon(), file, {{0, 2}, {4, 3}}, into)));
  EXPECT_EQ(AsText(into.span().first(5)), "coent");
  EXPECT_EQ(process.RequestCount("readv"), 1);
  EXPECT_EQ(process.RequestCount("read"), 0);
  ASSERT_TRUE(SyncWait(Close(Soon(), file)));
  EXPECT_EQ(process.RequestCount("open"), 2);
  EXPECT_EQ(process.RequestCount("close"), 2);
  EXPECT_EQ(process.RequestCount("stat"), 0);
}

TEST_F(XrootdServerTest, ServerThatIsDownIsUnavailableAtOnce) {
  const DataServerPtr server = Connect("root://127.0.0.1:20999");
  for (int i = 0; i < 3; ++i) {
    const Duration took = Elapsed([&] {
      const auto listed = SyncWait(List(Soon(), server, "/"));
      ASSERT_FALSE(listed);
      EXPECT_EQ(listed.code(), Code::kUnavailable) << listed.error().message;
      EXPECT_NE(listed.error().message.find("root://127.0.0.1:20999"), std::string::npos);
    });
    EXPECT_LT(took, milliseconds(500));
  }
  const Duration took = Elapsed([&] { EXPECT_EQ(Put(server, "/a", "x").code(), Code::kUnavailable); });
  EXPECT_LT(took, milliseconds(500));
}

TEST_F(XrootdServerTest, ServerKilledDuringAWriteAndStartedAgain) {
  XrootdProcess process;
  const DataServerPtr server = Connect(process);
  const ArchiveFilePtr file = MustOpen(server, "/victim", OpenMode::kCreate);
  process.Signal(SIGSTOP);
  std::promise<Status> written;
  file->Write(OpContext{pool_.Now() + seconds(20)}, 0, Filled(64 << 20, 1),
              [&](Status status) { written.set_value(std::move(status)); });
  process.Kill();
  EXPECT_EQ(written.get_future().get().code(), Code::kUnavailable);
  EXPECT_FALSE(SyncWait(Sync(Soon(), file)));
  // Nobody can say that this file is whole.
  const Status closed = SyncWait(Close(Soon(), file));
  EXPECT_FALSE(closed);
  process.Start();
  EXPECT_LT(UntilOk(seconds(10), [&] { return Put(server, "/after-restart", "x"); }), seconds(3));
  EXPECT_EQ(*SyncWait(ReadFile(Soon(), server, "/after-restart", 10)), "x");
}

TEST_F(XrootdServerTest, CloseAfterTheServerDiedIsNotSuccess) {
  XrootdProcess process;
  const DataServerPtr server = Connect(process);
  const ArchiveFilePtr file = MustOpen(server, "/f", OpenMode::kCreate);
  ASSERT_TRUE(SyncWait(Write(Soon(), file, 0, Filled(1000, 1))));
  process.Kill();
  // Only after the loss is noticed does XrdCl pretend; a failed listing proves that it was, on this
  // connection.
  while (SyncWait(Write(Soon(), file, 1000, Filled(10, 1)))) {
  }
  EXPECT_EQ(SyncWait(Close(Soon(), file)).code(), Code::kUnavailable);
}

TEST_F(XrootdServerTest, HungServerMeetsTheDeadlineAndIsUsedAgain) {
  XrootdProcess process;
  const DataServerPtr server = Connect(process);
  ASSERT_TRUE(Put(server, "/f", std::string(100'000, 'a')));
  const ArchiveFilePtr file = MustOpen(server, "/f", OpenMode::kRead);
  process.Signal(SIGSTOP);
  for (int i = 0; i < 5; ++i) {
    const Duration took = Elapsed([&] {
      const auto got =
          SyncWait(Read(Within(milliseconds(300)), file, {{0, 100'000}}, Slice(Buffer::Allocate(100'000))));
      ASSERT_FALSE(got);
      EXPECT_EQ(got.code(), Code::kDeadlineExceeded);
      EXPECT_EQ(SyncWait(List(Within(milliseconds(300)), server, "/")).code(), Code::kDeadlineExceeded);
    });
    EXPECT_LT(took, milliseconds(900));
  }
  process.Signal(SIGCONT);
  const Slice into(Buffer::Allocate(100'000));
  EXPECT_LT(UntilOk(seconds(10),
                    [&]() -> Status {
                      auto got = SyncWait(Read(Soon(), file, {{0, 100'000}}, into));
                      return got ? OkStatus() : Status(got.error());
                    }),
            seconds(3));
  EXPECT_EQ(AsText(into.span()), std::string(100'000, 'a'));
  EXPECT_TRUE(SyncWait(List(Soon(), server, "/")));
}

TEST_F(XrootdServerTest, ServerThatHangsBeforeTheFirstConnection) {
  XrootdProcess process;
  const DataServerPtr server = Connect(process);
  process.Signal(SIGSTOP);
  const Duration took = Elapsed([&] {
    EXPECT_EQ(SyncWait(List(Within(milliseconds(300)), server, "/")).code(), Code::kDeadlineExceeded);
  });
  EXPECT_LT(took, milliseconds(500));
  process.Signal(SIGCONT);
  const Duration back = UntilOk(seconds(20), [&]() -> Status {
    auto listed = SyncWait(List(Soon(), server, "/"));
    return listed ? OkStatus() : Status(listed.error());
  });
  EXPECT_LT(back, seconds(5));
}

TEST_F(XrootdServerTest, CloseWaitsForAWriteThatWasGivenUpOn) {
  XrootdProcess process;
  const DataServerPtr server = Connect(process);
  const ArchiveFilePtr file = MustOpen(server, "/f", OpenMode::kCreate);
  process.Signal(SIGSTOP);
  EXPECT_EQ(SyncWait(Write(Within(milliseconds(200)), file, 0, Filled(8 << 20, 3))).code(),
            Code::kDeadlineExceeded);
  std::promise<Status> closed;
  file->Close(OpContext{pool_.Now() + seconds(20)},
              [&](Status status) { closed.set_value(std::move(status)); });
  process.Signal(SIGCONT);
  EXPECT_TRUE(closed.get_future().get());
}

TEST_F(XrootdServerTest, ServerAndExecutorGoWhileRequestsAreInFlight) {
  XrootdProcess process;
  {
    ThreadPool pool("short", 2);
    auto server = *MakeXrootdServer({.url = process.url(), .executor = &pool});
    auto file = SyncWait(Open(CallContext{&pool, pool.Now() + seconds(20)}, server, "/f", OpenMode::kCreate));
    ASSERT_TRUE(file);
    process.Signal(SIGSTOP);
    const CallContext hasty{&pool, pool.Now() + milliseconds(100)};
    EXPECT_FALSE(SyncWait(Write(hasty, *file, 0, Filled(1 << 20, 4))));
    EXPECT_FALSE(SyncWait(List(hasty, server, "/")));
    AbandonXrootdRequests(pool);
  }
  process.Signal(SIGCONT);
  // The late answers come on the same connections before this one's; nothing must crash.
  const DataServerPtr server = Connect(process);
  EXPECT_TRUE(Put(server, "/g", "x"));
  EXPECT_TRUE(Put(server, "/h", "x"));
}

// Whatever forks in a gateway (programs for copies, checksums), XrdCl must not stop its threads for it: they
// are cancelled in mid-callback, and answers are lost.
TEST_F(XrootdServerTest, ForksWhileRequestsAreInFlight) {
  XrootdProcess process;
  const DataServerPtr server = Connect(process);
  ASSERT_TRUE(Put(server, "/f", std::string(1000, 'f')));
  std::atomic<bool> enough = false;
  std::vector<std::future<Status>> readers;
  for (int i = 0; i < 4; ++i) {
    readers.push_back(std::async(std::launch::async, [&]() -> Status {
      while (!enough) {
        auto got = SyncWait(ReadFile(Soon(), server, "/f", 1000));
        if (!got) return got.error();
      }
      return OkStatus();
    }));
  }
  for (int i = 0; i < 200; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    EXPECT_EQ(waitpid(child, nullptr, 0), child);
  }
  enough = true;
  for (auto& reader : readers) {
    const Status status = reader.get();
    EXPECT_TRUE(status) << status.error().message;
  }
}

TEST_F(XrootdServerTest, ManyFilesAtOnceAndNoDescriptorsLeft) {
  XrootdProcess process;
  const DataServerPtr server = Connect(process);
  ASSERT_TRUE(Put(server, "/d/first", "x"));
  ASSERT_TRUE(Put(server, "/d/second", "x"));
  const size_t before = OpenDescriptors();
  for (int round = 0; round < 3; ++round) {
    std::vector<std::promise<Status>> results(64);
    TaskScope scope;
    for (size_t i = 0; i < results.size(); ++i) {
      auto run = [](XrootdServerTest* test, CallContext context, DataServerPtr to, std::string path,
                    bool abandon, std::promise<Status>* result) -> Task<void> {
        (void)test;
        const std::string content(30'000, static_cast<char>('a' + path.size() % 20));
        Status status = co_await CreateFile(context, to, path, content, false);
        if (status) {
          auto file = co_await Open(context, to, path, OpenMode::kRead);
          if (!file) {
            status = file.error();
          } else {
            Slice into(Buffer::Allocate(content.size()));
            std::vector<ByteRange> whole = {ByteRange{0, content.size()}};
            auto got = co_await Read(context, *file, std::move(whole), into);
            if (!got) status = got.error();
            if (got && AsText(into.span()) != content) status = Fail(Code::kCorruption, "wrong bytes");
            if (!abandon) {
              Status closed = co_await Close(context, *file);
              if (status) status = closed;
            }
          }
        }
        result->set_value(status);
      };
      scope.Spawn(run(this, Soon(), server, fmt::format("/d/{}-{}", round, i), i % 2 == 0, &results[i]));
    }
    scope.Drain();
    for (auto& result : results) {
      const Status status = result.get_future().get();
      EXPECT_TRUE(status) << status.error().message;
    }
  }
  EXPECT_EQ(OpenDescriptors(), before);
  auto listed = SyncWait(List(Soon(), server, "/d"));
  ASSERT_TRUE(listed);
  EXPECT_EQ(listed->size(), 2u + 3 * 64);
  // Files abandoned without Close are closed on the server all the same.
  EXPECT_LT(UntilOk(seconds(10),
                    [&]() -> Status {
                      return process.OpenDataFiles() == 0 ? OkStatus()
                                                          : Status(Fail(Code::kUnavailable, "open"));
                    }),
            seconds(5));
}

TEST_F(XrootdServerTest, TwoHundredMebibytesThroughOneFile) {
  XrootdProcess process;
  const DataServerPtr server = Connect(process);
  constexpr uint64_t kPiece = 4 << 20;
  constexpr uint64_t kPieces = 50;
  const ArchiveFilePtr file = MustOpen(server, "/big", OpenMode::kCreate);
  for (uint64_t i = 0; i < kPieces; ++i) {
    ASSERT_TRUE(SyncWait(Write(Soon(), file, i * kPiece, Filled(kPiece, static_cast<unsigned char>(i)))));
  }
  ASSERT_TRUE(SyncWait(Close(Soon(), file)));
  const ArchiveFilePtr reader = MustOpen(server, "/big", OpenMode::kRead);
  EXPECT_EQ(reader->size(), kPiece * kPieces);
  const Slice into(Buffer::Allocate(kPiece));
  for (uint64_t i = 0; i < kPieces; ++i) {
    // In one range, and as a vector read with large and small pieces.
    std::vector<ByteRange> ranges = {{i * kPiece, kPiece}};
    if (i % 2 == 1) ranges = {{i * kPiece, 10}, {i * kPiece + 20, kPiece - 20}};
    const auto got = SyncWait(Read(Soon(), reader, ranges, into));
    ASSERT_TRUE(got) << got.error().message;
    const Slice want = Filled(kPiece, static_cast<unsigned char>(i));
    if (i % 2 == 0) {
      ASSERT_EQ(*got, kPiece);
      ASSERT_TRUE(AsText(into.span()) == AsText(want.span()));
    } else {
      ASSERT_EQ(*got, kPiece - 10);
      ASSERT_TRUE(AsText(into.span().subspan(10, kPiece - 20)) == AsText(want.span().subspan(20)));
    }
  }
}

TEST_F(XrootdServerTest, VectorReadsBeyondTheLimitsOfOneRequest) {
  XrootdProcess process;
  const DataServerPtr server = Connect(process);
  const Slice content = Filled(100'000, 9);
  ASSERT_TRUE(Put(server, "/f", std::string(AsText(content.span()))));
  const ArchiveFilePtr file = MustOpen(server, "/f", OpenMode::kRead);
  std::vector<ByteRange> ranges;
  std::string want;
  for (uint64_t i = 0; i < 2500; ++i) {
    ranges.push_back({i * 40, 7});
    want += AsText(content.span().subspan(i * 40, 7));
  }
  const Slice into(Buffer::Allocate(want.size()));
  auto got = SyncWait(Read(Soon(), file, ranges, into));
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(*got, want.size());
  EXPECT_TRUE(AsText(into.span()) == want);
  // Ranges that leave the file: short there, nothing after it.
  got = SyncWait(Read(Soon(), file, {{0, 5}, {99'990, 20}, {50, 5}}, into));
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(*got, 15u);
  got = SyncWait(Read(Soon(), file, {{200'000, 5}}, into));
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(*got, 0u);
}

TEST_F(XrootdServerTest, RenameOfAMissingSourceOntoAnExistingTargetIsNotProof) {
  XrootdProcess process;
  const DataServerPtr server = Connect(process);
  ASSERT_TRUE(Put(server, "/there", "x"));
  EXPECT_EQ(SyncWait(Rename(Soon(), server, "/missing", "/nowhere")).code(), Code::kNotFound);
  EXPECT_EQ(SyncWait(Rename(Soon(), server, "/missing", "/there")).code(), Code::kUnknown);
}

TEST_F(XrootdServerTest, ReaderAfterAFailedCreateIsNotTurnedAway) {
  XrootdProcess process;
  const DataServerPtr server = Connect(process);
  ASSERT_TRUE(Put(server, "/f", "x"));
  for (int i = 0; i < 300; ++i) {
    ASSERT_EQ(SyncWait(Open(Soon(), server, "/f", OpenMode::kCreate)).code(), Code::kAlreadyExists);
    const auto got = SyncWait(ReadFile(Soon(), server, "/f", 10));
    ASSERT_TRUE(got) << got.error().message;
  }
  // But a writer that stays is a conflict.
  const ArchiveFilePtr writer = MustOpen(server, "/w", OpenMode::kCreate);
  EXPECT_EQ(SyncWait(ReadFile(Soon(), server, "/w", 10)).code(), Code::kConflict);
}

TEST_F(XrootdServerTest, NamesThatSurvive) {
  XrootdProcess process;
  const DataServerPtr server = Connect(process);
  for (const std::string name :
       {"plain",    "with space", "two  spaces", "per%20cent", "100%",      "%41",         "ünïcödé",
        "a&b=c",    "plus+plus",  "quote'\"",    "semi;colon", "[x]{y}",    "back\\slash", "~tilde",
        "@at",      "a:b",        "comma,",      "star*",      "(p)",       "!",           "$x",
        "hash#tag", "%00%2F",     " lead",       "trail ",     "tab\there", "cr\rx",       "\x01\x7f",
        "\xff\xfe", "...",        "-dash",       "<a|b>"}) {
    SCOPED_TRACE(name);
    const Status put = Put(server, "/n/" + name, name);
    EXPECT_TRUE(put) << put.error().message;
    EXPECT_TRUE(std::filesystem::exists(process.data_directory() + "/n/" + name));
    const auto got = SyncWait(ReadFile(Soon(), server, "/n/" + name, 100));
    EXPECT_TRUE(got && *got == name);
    EXPECT_TRUE(SyncWait(Rename(Soon(), server, "/n/" + name, "/m/" + name + "2")));
    const auto listed = SyncWait(List(Soon(), server, "/m"));
    ASSERT_TRUE(listed);
    ASSERT_EQ(listed->size(), 1u);
    EXPECT_EQ(listed->front().name, name + "2");
    EXPECT_TRUE(SyncWait(Remove(Soon(), server, "/m/" + name + "2")));
    std::filesystem::remove_all(process.data_directory() + "/m");
  }
}

// What the conformance suite asks of a new file under an open name is not to be had from a stock server.
TEST_F(XrootdServerTest, FilesRenamedOrRemovedWhileOpenKeepTheirBytesAndBlockTheirNames) {
  XrootdProcess process;
  const DataServerPtr server = Connect(process);
  const std::string content(200'000, 'c');
  for (const bool rename : {true, false}) {
    ASSERT_TRUE(Put(server, "/s", content));
    const ArchiveFilePtr file = MustOpen(server, "/s", OpenMode::kRead);
    ASSERT_TRUE(rename ? SyncWait(Rename(Soon(), server, "/s", "/p"))
                       : SyncWait(Remove(Soon(), server, "/s")));
    EXPECT_EQ(Put(server, "/s", "x").code(), Code::kAlreadyExists);
    const Slice into(Buffer::Allocate(content.size()));
    EXPECT_TRUE(SyncWait(Read(Soon(), file, {{0, content.size()}}, into)));
    EXPECT_TRUE(AsText(into.span()) == content);
    EXPECT_TRUE(SyncWait(Close(Soon(), file)));
  }
  EXPECT_TRUE(Put(server, "/s", "x"));
}

TEST_F(XrootdServerTest, RemoveDirectoryOnlyWhenEmptyAndOkWhenMissing) {
  XrootdProcess process;
  const DataServerPtr server = Connect(process);
  ASSERT_TRUE(Put(server, "/d/f", "x"));
  EXPECT_EQ(SyncWait(RemoveDirectory(Soon(), server, "/d")).code(), Code::kNotEmpty);
  ASSERT_TRUE(SyncWait(Remove(Soon(), server, "/d/f")));
  EXPECT_TRUE(SyncWait(RemoveDirectory(Soon(), server, "/d")));
  EXPECT_TRUE(SyncWait(RemoveDirectory(Soon(), server, "/d")));
  EXPECT_EQ(SyncWait(List(Soon(), server, "/d")).code(), Code::kNotFound);
}

TEST_F(XrootdServerTest, PrefixAndBadUrls) {
  XrootdProcess process;
  const DataServerPtr server = Connect(process.url() + "//pre/fix/");
  EXPECT_TRUE(Put(server, "/f", "x"));
  EXPECT_TRUE(std::filesystem::exists(process.data_directory() + "/pre/fix/f"));
  const auto space = SyncWait(GetSpace(Soon(), server));
  ASSERT_TRUE(space) << space.error().message;
  EXPECT_GT(space->total_bytes, space->free_bytes);
  for (const char* url : {"", "http://h:1", "/a/b", "root://"}) {
    EXPECT_FALSE(MakeXrootdServer({.url = url, .executor = &pool_})) << url;
  }
}

TEST_F(XrootdServerTest, DiscoveryListsAServer) {
  XrootdProcess process;
  const auto found = SyncWait(DiscoverServers(process.url(), pool_, pool_.Now() + seconds(10)));
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(*found, std::vector<std::string>{fmt::format("127.0.0.1:{}", process.port())});
  const auto down = SyncWait(DiscoverServers("root://127.0.0.1:20998", pool_, pool_.Now() + seconds(10)));
  EXPECT_EQ(down.code(), Code::kUnavailable);
}

}  // namespace
}  // namespace xec

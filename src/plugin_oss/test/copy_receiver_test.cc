// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/copy_receiver.hh"

#include <atomic>
#include <cstring>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace xec {
namespace {

class CopyReceiverTest : public testing::Test {
 protected:
  CopyReceiverTest() {
    const Status started = receiver_.Start(path_);
    EXPECT_TRUE(started) << started.error().message;
  }

  // A program that says this first; its socket.
  int Program(const std::string& greeting) const {
    const int program = socket(AF_UNIX, SOCK_STREAM, 0);
    Greet(program, greeting);
    return program;
  }
  void Greet(int program, const std::string& greeting) const {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path_.c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(connect(program, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    Send(program, greeting);
  }
  static void Send(int program, const std::string& bytes) {
    EXPECT_EQ(send(program, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  static bool IsExpected(int program) {
    char answer = 0;
    return recv(program, &answer, 1, 0) == 1;
  }
  // Until the receiver has closed it.
  static void WaitForEnd(int program) {
    EXPECT_FALSE(IsExpected(program));
    close(program);
  }

  std::shared_ptr<CopyReceiver::Expected> Expect(const std::string& client, const std::string& path,
                                                 std::string& into) {
    return receiver_.Expect(client, path, [this, &into](const void* bytes, off_t offset, size_t size) {
      EXPECT_EQ(static_cast<size_t>(offset), into.size());
      into.append(static_cast<const char*>(bytes), size);
      came_ += size;
      return static_cast<ssize_t>(size);
    });
  }

  const std::string path_ = testing::TempDir() + "copies.sock";
  std::atomic<size_t> came_ = 0;  // bytes of all programs
  CopyReceiver receiver_;
};

TEST_F(CopyReceiverTest, TheBytesComeIntoTheUploadThatIsNamed) {
  std::string first, second;
  auto a = Expect("alice.1:2@host", "/a", first);
  auto b = Expect("bob.1:3@host", "/a", second);
  const int program = Program("bob.1:3@host\n/a\n");
  EXPECT_TRUE(IsExpected(program));
  const std::string content(5'000'000, 'x');
  Send(program, content);
  close(program);
  // The program is gone, as it is when XRootD tells the client that the copy has ended.
  b->End();
  EXPECT_EQ(second, content);
  a->End();
  EXPECT_EQ(first, "");
}

TEST_F(CopyReceiverTest, AProgramThatNobodyWaitsForIsSentAway) {
  std::string bytes;
  auto expected = Expect("alice.1:2@host", "/a", bytes);
  WaitForEnd(Program("alice.1:2@host\n/b\n"));
  WaitForEnd(Program("\n\n"));
  WaitForEnd(Program(std::string(10'000, 'a')));
  expected.reset();
  WaitForEnd(Program("alice.1:2@host\n/a\n"));
  EXPECT_EQ(bytes, "");
}

TEST_F(CopyReceiverTest, TheEndDoesNotWaitForAProgramThatHangs) {
  std::string bytes;
  auto expected = Expect("alice.1:2@host", "/a", bytes);
  const int program = Program("alice.1:2@host\n/a\n");
  EXPECT_TRUE(IsExpected(program));
  Send(program, "12345");
  while (came_ < 5) std::this_thread::yield();
  expected->End();
  EXPECT_EQ(bytes, "12345");
  WaitForEnd(program);
  WaitForEnd(Program("alice.1:2@host\n/a\n"));
}

TEST_F(CopyReceiverTest, ProgramsAreLetInAgainAfterTooManyOpenFiles) {
  std::string bytes;
  auto a = Expect("c", "/a", bytes), b = Expect("c", "/b", bytes);
  const int first = socket(AF_UNIX, SOCK_STREAM, 0), second = socket(AF_UNIX, SOCK_STREAM, 0);
  rlimit old_limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &old_limit), 0);
  const rlimit none_more = {static_cast<rlim_t>(second) + 1, old_limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none_more), 0);
  Greet(first, "c\n/a\n");
  poll(nullptr, 0, 50);
  setrlimit(RLIMIT_NOFILE, &old_limit);
  Greet(second, "c\n/b\n");
  const timeval patience = {20, 0};
  for (const int program : {first, second}) {
    setsockopt(program, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    EXPECT_TRUE(IsExpected(program));
  }
  close(first);
  close(second);
}

TEST_F(CopyReceiverTest, AnUploadThatFailsWantsNoMore) {
  int calls = 0;
  auto expected = receiver_.Expect("c", "/a", [&calls](const void*, off_t, size_t) {
    ++calls;
    return ssize_t{-28};
  });
  const int program = Program("c\n/a\n");
  EXPECT_TRUE(IsExpected(program));
  Send(program, "12345");
  expected->End();
  EXPECT_LE(calls, 1);
  close(program);
}

}  // namespace
}  // namespace xec

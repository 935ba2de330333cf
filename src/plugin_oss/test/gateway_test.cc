// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/gateway.hh"

#include <new>
#include <vector>

#include <gtest/gtest.h>

#include "base/log.hh"

namespace xec {
namespace {

TEST(PluginErrors, EveryCodeHasANumberAndRetryableOnesDoNotStallClients) {
  for (int i = 0; i < kCodeCount; ++i) {
    const Code code = static_cast<Code>(i);
    const int number = ErrnoOf(code);
    EXPECT_GT(number, 0) << CodeName(code);
    EXPECT_EQ(number == ENOENT, code == Code::kNotFound) << CodeName(code);
    const bool other_is_there = code == Code::kAlreadyExists || code == Code::kNotCurrent;
    EXPECT_EQ(number == EEXIST, other_is_there) << CodeName(code);
    EXPECT_EQ(number == kRetryErrno, IsRetryable(code)) << CodeName(code);
    // XrdOfs makes "wait and ask again" of these, or promotes them to something else.
    for (const int special : {EBUSY, ETIMEDOUT, EUSERS, ETXTBSY, EINPROGRESS, EDESTADDRREQ, ESRCH, ESTALE}) {
      EXPECT_NE(number, special) << CodeName(code);
    }
  }
}

TEST(PluginErrors, LostAndDamagedDataIsLoggedAsAnError) {
  std::vector<LogLevel> levels;
  SetLogSink([&](LogLevel level, std::string_view) { levels.push_back(level); });
  for (const Code code : {Code::kDataLoss, Code::kCorruption, Code::kInternal, Code::kNoQuorum}) {
    Failed({"read", "/a", ""}, Error{code, "injected"});
  }
  SetLogSink({});
  EXPECT_EQ(levels, (std::vector{LogLevel::kError, LogLevel::kError, LogLevel::kError, LogLevel::kWarning}));
}

TEST(PluginErrors, ExceptionsBecomeErrors) {
  EXPECT_EQ(Guarded("test", []() -> int { throw std::bad_alloc(); }), -EIO);
}

TEST(PluginConfiguration, PersistOnClose) {
  EXPECT_TRUE(PersistsOnClose("a\n ofs.persist auto hold 0\nb"));
  EXPECT_TRUE(PersistsOnClose("ofs.persist off\nofs.persist hold 0 auto"));
  EXPECT_FALSE(PersistsOnClose(""));
  EXPECT_FALSE(PersistsOnClose("# ofs.persist auto"));
  EXPECT_FALSE(PersistsOnClose("ofs.persist auto\nofs.persist manual"));
}

}  // namespace
}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server_xrootd/client_settings.hh"

#include <cstdlib>

#include <gtest/gtest.h>

namespace xec {
namespace {

// XrdCl reads the environment once for each process.
class ClientSettingsDeathTest : public testing::Test {
 protected:
  ClientSettingsDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  static int ExitsWith(const std::string& parameters) { return ChannelParameters() == parameters ? 0 : 1; }
};

TEST_F(ClientSettingsDeathTest, ChannelsNeedNoParametersAsARule) {
  EXPECT_EXIT(std::exit(ExitsWith("")), testing::ExitedWithCode(0), "");
}

TEST_F(ClientSettingsDeathTest, WhatTheUserHasSetForOthersDoesNotCount) {
  ::setenv("XRD_CONNECTIONRETRY", "5", 1);
  EXPECT_EXIT(
      std::exit(ExitsWith("?XrdCl.ConnectionWindow=3&XrdCl.ConnectionRetry=0&XrdCl.StreamErrorWindow=0")),
      testing::ExitedWithCode(0), "");
  ::unsetenv("XRD_CONNECTIONRETRY");
}

}  // namespace
}  // namespace xec

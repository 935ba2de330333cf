// SPDX-License-Identifier: LGPL-3.0-or-later
#include "cli/exit_code.hh"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

namespace xec {
namespace {

TEST(ExitCodeTest, EveryCodeHasADocumentedExitCode) {
  for (int i = 0; i < kCodeCount; ++i) {
    const int exit = ExitCodeOf(static_cast<Code>(i));
    EXPECT_NE(exit, kExitOk) << CodeName(static_cast<Code>(i));
    EXPECT_TRUE(
        std::any_of(kExitCodes.begin(), kExitCodes.end(), [&](const auto& row) { return row.code == exit; }));
  }
}

TEST(ExitCodeTest, RetryMeansRetry) {
  for (int i = 0; i < kCodeCount; ++i) {
    const Code code = static_cast<Code>(i);
    if (ExitCodeOf(code) == kExitRetry) {
      EXPECT_TRUE(IsRetryable(code)) << CodeName(code);
    }
  }
  // Promise P6: never merged.
  const std::set<int> three = {ExitCodeOf(Code::kNotFound), ExitCodeOf(Code::kNoQuorum),
                               ExitCodeOf(Code::kDataLoss)};
  EXPECT_EQ(three.size(), 3u);
}

}  // namespace
}  // namespace xec

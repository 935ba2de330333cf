// SPDX-License-Identifier: LGPL-3.0-or-later
#include "load/statistics.hh"

#include <gtest/gtest.h>

namespace xec::load {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Quantile, IsAValueThatWasMeasured) {
  std::vector<double> sorted;
  for (int i = 1; i <= 100; ++i) sorted.push_back(i);
  EXPECT_EQ(Quantile(sorted, 0), 1);
  EXPECT_EQ(Quantile(sorted, 0.5), 50);
  EXPECT_EQ(Quantile(sorted, 0.99), 99);
  EXPECT_EQ(Quantile(sorted, 0.991), 100);
  EXPECT_EQ(Quantile(sorted, 1), 100);
  EXPECT_EQ(Quantile({3}, 0.5), 3);
  EXPECT_EQ(Quantile({3, 4}, 0.5), 3);
  EXPECT_EQ(Quantile({3, 4}, 0.51), 4);
  EXPECT_EQ(Quantile({}, 0.5), 0);
}

TEST(Statistics, CountsOperationsBytesAndTime) {
  Statistics statistics;
  // Not in order of their length.
  for (const int ms : {40, 10, 30, 20}) statistics.Add(milliseconds(ms), 1 << 20);
  const auto json = statistics.ToJson(seconds(2), 0.5);
  EXPECT_EQ(json["operations"], 4);
  EXPECT_EQ(json["failures"], 0);
  EXPECT_TRUE(json["first_failure"].is_null());
  EXPECT_EQ(json["bytes"], 4 << 20);
  EXPECT_EQ(json["seconds"], 2.0);
  EXPECT_EQ(json["operations_per_second"], 2.0);
  EXPECT_EQ(json["mib_per_second"], 2.0);
  EXPECT_EQ(json["cpu_seconds"], 0.5);
  EXPECT_GT(json["peak_rss_mib"], 1.0);
  EXPECT_NEAR(json["latency_ms"]["p50"], 20, 1e-9);
  EXPECT_NEAR(json["latency_ms"]["p90"], 40, 1e-9);
  EXPECT_NEAR(json["latency_ms"]["p99"], 40, 1e-9);
  EXPECT_NEAR(json["latency_ms"]["max"], 40, 1e-9);
  EXPECT_NEAR(json["latency_ms"]["mean"], 25, 1e-9);
}

TEST(Statistics, OfARunWithoutAnyOperation) {
  const auto json = Statistics().ToJson(Duration::zero(), 0);
  EXPECT_EQ(json["operations"], 0);
  EXPECT_EQ(json["operations_per_second"], 0.0);
  EXPECT_EQ(json["latency_ms"]["p99"], 0.0);
}

TEST(Statistics, KeepsTheFirstFailure) {
  Statistics statistics;
  statistics.AddFailure(Fail(Code::kUnavailable, "first"));
  statistics.AddFailure(Fail(Code::kUnavailable, "second"));
  const auto json = statistics.ToJson(seconds(1), 0);
  EXPECT_EQ(json["failures"], 2);
  EXPECT_EQ(json["first_failure"], "first");
  EXPECT_EQ(json["operations"], 0);
}

TEST(Cpu, OnlyGrows) {
  const double before = CpuSeconds();
  EXPECT_GT(before, 0);
  EXPECT_GE(CpuSeconds(), before);
}

}  // namespace
}  // namespace xec::load

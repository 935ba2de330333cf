// SPDX-License-Identifier: LGPL-3.0-or-later
#include "jobs/job_orders.hh"

#include <algorithm>

#include <gtest/gtest.h>

namespace xec {
namespace {

TEST(JobMarkTest, NamesAreReadAsTheyAreWritten) {
  for (const JobVerb verb : {JobVerb::kPause, JobVerb::kResume, JobVerb::kCancel}) {
    const JobMark mark{"clean", verb, 1700000000123};
    EXPECT_EQ(ParseJobMark(FormatJobMark(mark)), mark);
  }
  EXPECT_EQ(FormatJobMark({"clean", JobVerb::kPause, 17}), "clean.pause.17");
}

TEST(JobMarkTest, OtherEntriesAreNone) {
  for (const char* entry : {"", "clean", "clean.pause", "clean.pause.", "clean.pause.x", "clean.stop.1",
                            ".pause.1", "Clean.pause.1", "clean.pause.1.2", "clean.pause.-1",
                            "clean.pause.99999999999999999999", "at.0123456789abcdef.17"})
    EXPECT_FALSE(ParseJobMark(entry)) << entry;
}

TEST(RecordNameTest, NamesAreReadAsTheyAreWritten) {
  const RecordName name{"0123456789abcdef", 17};
  EXPECT_EQ(FormatRecordName(name), "at.0123456789abcdef.17");
  EXPECT_EQ(ParseRecordName("at.0123456789abcdef.17"), name);
  for (const char* entry : {"", "at.0123.17", "at.0123456789abcdeg.17", "at.0123456789abcdef.",
                            "at.0123456789abcdef", "by.0123456789abcdef.17", "clean.pause.17"})
    EXPECT_FALSE(ParseRecordName(entry)) << entry;
}

TEST(JobOrdersTest, TheLatestCountsInWhateverOrderTheyAreSeen) {
  const std::vector<JobMark> marks = {{"clean", JobVerb::kPause, 10},  {"clean", JobVerb::kResume, 20},
                                      {"clean", JobVerb::kPause, 30},  {"clean", JobVerb::kCancel, 40},
                                      {"repair", JobVerb::kPause, 10}, {"repair", JobVerb::kResume, 11}};
  std::vector<size_t> order = {0, 1, 2, 3, 4, 5};
  do {
    JobOrders orders;
    for (const size_t i : order) orders.Take(marks[i]);
    EXPECT_TRUE(orders.Of("clean").paused);
    EXPECT_EQ(orders.Of("clean").since_ms, 30);
    EXPECT_EQ(orders.Of("clean").cancelled_ms, 40);
    EXPECT_FALSE(orders.Of("repair").paused);
    EXPECT_EQ(orders.Paused(), std::vector<std::string>{"clean"});
    EXPECT_TRUE(orders.Outdated(marks[0]));
    EXPECT_TRUE(orders.Outdated(marks[1]));
    EXPECT_FALSE(orders.Outdated(marks[2]));
    EXPECT_FALSE(orders.Outdated(marks[3]));
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(JobOrdersTest, WhoPausesAtTheSameTimeHasAReason) {
  for (const bool pause_first : {false, true}) {
    JobOrders orders;
    orders.Take({"clean", pause_first ? JobVerb::kPause : JobVerb::kResume, 10});
    orders.Take({"clean", pause_first ? JobVerb::kResume : JobVerb::kPause, 10});
    EXPECT_TRUE(orders.Of("clean").paused);
  }
}

TEST(JobOrdersTest, ALaterOrderHasALaterTimeWhateverTheClockSays) {
  JobOrders orders;
  EXPECT_EQ(orders.NextTime("clean", 5), 5);
  orders.Take({"clean", JobVerb::kPause, 100});
  EXPECT_EQ(orders.NextTime("clean", 5), 101);
  orders.Take({"clean", JobVerb::kCancel, 200});
  EXPECT_EQ(orders.NextTime("clean", 5), 201);
  EXPECT_EQ(orders.NextTime("clean", 500), 500);
  EXPECT_EQ(orders.NextTime("repair", 5), 5);
}

}  // namespace
}  // namespace xec

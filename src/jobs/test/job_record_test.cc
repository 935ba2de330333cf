// SPDX-License-Identifier: LGPL-3.0-or-later
#include "jobs/job_record.hh"

#include <gtest/gtest.h>

namespace xec {
namespace {

ProcessRecord Sample() {
  ProcessRecord record{"gw1.site.org:1094", 1000, 2000, {}};
  JobReport clean{"clean", JobState::kRunning, 1500};
  clean.unit = "names";
  clean.progress = {.done = 12, .total = 40, .at = "/a b/%\n\xff"};
  clean.cursor = "/a b/c";
  clean.problem = "/x cannot be cleaned now";
  clean.problem_ms = 1700;
  JobReport repair{"repair", JobState::kPaused, 1600};
  JobReport tidy{"tidy", JobState::kWaiting, 1000};
  tidy.next_ms = 2500;
  record.jobs = {clean, repair, tidy};
  return record;
}

TEST(JobRecordTest, IsReadAsItIsWritten) {
  const std::string text = FormatRecord(Sample());
  const auto parsed = ParseRecord(text);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->process, "gw1.site.org:1094");
  EXPECT_EQ(parsed->started_ms, 1000);
  EXPECT_EQ(parsed->told_ms, 2000);
  EXPECT_EQ(parsed->jobs, Sample().jobs);
}

TEST(JobRecordTest, EveryStateHasAName) {
  for (const JobState state : {JobState::kWaiting, JobState::kRunning, JobState::kPaused, JobState::kDone}) {
    ProcessRecord record{"p", 1, 1, {{"clean", state}}};
    EXPECT_EQ(ParseRecord(FormatRecord(record))->jobs[0].state, state) << JobStateName(state);
  }
}

TEST(JobRecordTest, WhatIsCutOffOrForeignIsNoRecord) {
  const std::string text = FormatRecord(Sample());
  for (size_t length = 0; length < text.size(); ++length)
    EXPECT_FALSE(ParseRecord(text.substr(0, length))) << length;
  EXPECT_FALSE(ParseRecord(text + "x"));
  EXPECT_FALSE(ParseRecord("jobs 2" + text.substr(6)));
  EXPECT_FALSE(ParseRecord("jobs 1\nprocess\nend\n"));
  EXPECT_FALSE(ParseRecord("jobs 1\nprocess %\nend\n"));
}

TEST(JobRecordTest, KeysOfLaterVersionsArePassedOver) {
  const auto parsed =
      ParseRecord("jobs 1\nprocess p\ncolour red\njob clean\nflavour sour\nstate paused\nend\n");
  ASSERT_TRUE(parsed);
  ASSERT_EQ(parsed->jobs.size(), 1u);
  EXPECT_EQ(parsed->jobs[0].state, JobState::kPaused);
}

TEST(JobRecordTest, LinesOfTheSpaceAreToldWhereTheyFit) {
  const std::string line = "of 100 % and more";
  ProcessRecord record = Sample();
  record.space.assign(kSpaceBytesMax / SpaceLineBytes(line), line);
  EXPECT_EQ(ParseRecord(FormatRecord(record))->space, record.space);
  record.space.push_back(line);
  EXPECT_TRUE(ParseRecord(FormatRecord(record))->space.empty());
}

TEST(JobRecordTest, LongWordsAreCutAndNothingGetsTooLong) {
  ProcessRecord record = Sample();
  record.jobs[0].progress.at.assign(5000, ' ');
  record.jobs[0].problem.assign(5000, ' ');
  record.jobs[0].cursor.assign(kCursorBytesMax, ' ');
  record.jobs[1].cursor.assign(kCursorBytesMax + 1, ' ');
  const auto parsed = ParseRecord(FormatRecord(record));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->jobs[0].progress.at.size(), kJobWordsMax);
  EXPECT_EQ(parsed->jobs[0].problem.size(), kJobWordsMax);
  EXPECT_EQ(parsed->jobs[0].cursor.size(), kCursorBytesMax);
  EXPECT_EQ(parsed->jobs[1].cursor, "");
  std::string many = "jobs 1\n";
  for (size_t i = 0; i <= kJobsOfRecordMax; ++i) many += "job clean\n";
  EXPECT_FALSE(ParseRecord(many + "end\n"));
}

}  // namespace
}  // namespace xec

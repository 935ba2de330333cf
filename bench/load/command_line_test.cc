// SPDX-License-Identifier: LGPL-3.0-or-later
#include "load/command_line.hh"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xec::load {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ParsedCommand Parse(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return ParseCommandLine(words);
}

template <typename Options>
Options Parsed(const std::string& line) {
  const ParsedCommand parsed = Parse(line);
  EXPECT_TRUE(parsed.command) << line << ": " << parsed.text;
  if (!parsed.command) return {};
  EXPECT_TRUE(std::holds_alternative<Options>(parsed.command->scenario)) << line;
  return std::get<Options>(parsed.command->scenario);
}

void ExpectRefused(const std::string& line, const std::string& why) {
  const ParsedCommand parsed = Parse(line);
  EXPECT_FALSE(parsed.command) << line;
  EXPECT_EQ(parsed.exit_code, 2) << line;
  EXPECT_THAT(parsed.text, HasSubstr(why)) << line;
}

constexpr char kUrl[] = " --url root://localhost:1094 ";

TEST(CommandLine, SizesHaveUnits) {
  const auto stream =
      Parsed<StreamOptions>(std::string("stream") + kUrl +
                            "--operation write --folder /f --sizes 5,1KiB,1KB,2MiB,3GiB --request 1MiB");
  EXPECT_TRUE(stream.write);
  EXPECT_THAT(stream.sizes, ElementsAre(5, 1024, 1000, 2 << 20, uint64_t{3} << 30));
  EXPECT_EQ(stream.transfer.request_bytes, uint64_t{1} << 20);
  EXPECT_TRUE(stream.transfer.page_reads);
  EXPECT_TRUE(stream.transfer.page_writes);
  ExpectRefused(std::string("stream") + kUrl + "--operation read --folder /f --sizes 5x", "5x");
  ExpectRefused(std::string("stream") + kUrl + "--operation read --folder /f --sizes 5 --request 1GiB",
                "--request");
}

TEST(CommandLine, EveryScenarioIsUnderstood) {
  const std::string url = kUrl;
  EXPECT_EQ(Parsed<SmallOptions>("small" + url + "--operation delete --folder /f --objects 3").operation,
            SmallOptions::Operation::kDelete);
  EXPECT_EQ(Parsed<SmallOptions>("small" + url + "--operation put --folder /f --count 3 --size 27KB").size,
            27'000u);
  EXPECT_EQ(Parsed<RereadOptions>("reread" + url + "--folder /f --sizes 5 --files 2 --rounds 7").rounds, 7u);
  const auto copy = Parsed<CopyOptions>("copy" + url +
                                        "--folder /f --out /g --sizes 5 --files 2 --each 2 --no-page-writes");
  EXPECT_EQ(copy.out, "/g");
  EXPECT_TRUE(copy.transfer.page_reads);
  EXPECT_FALSE(copy.transfer.page_writes);
  EXPECT_EQ(
      Parsed<IngestOptions>("ingest" + url + "--size 5 --interval 0.5 --seconds 3 --folder /f").interval_s,
      0.5);
  EXPECT_EQ(Parsed<SparseOptions>("sparse" + url + "--size 5MiB --piece 4KiB --path /f").piece, 4096u);
  EXPECT_EQ(Parsed<VectorOptions>("vector" + url + "--size 1GiB --span 800MiB --path /f").pieces.count,
            1024u);
  EXPECT_TRUE(Parsed<ListOptions>("list" + url + "--path / --stat").stat);
  EXPECT_FALSE(Parse("list" + url + "--path /").command->common.clients != 1);
  EXPECT_FALSE(Parse("sparse" + url + "--size 5 --piece 5 --path /f --no-compare").command->common.compare);
}

TEST(CommandLine, HelpIsNoError) {
  const ParsedCommand parsed = Parse("vector --help");
  EXPECT_FALSE(parsed.command);
  EXPECT_EQ(parsed.exit_code, 0);
  EXPECT_THAT(parsed.text, HasSubstr("--pieces"));
}

TEST(CommandLine, WhatMakesNoSenseIsRefused) {
  const std::string url = kUrl;
  ExpectRefused("", "no scenario: say one of small, stream");
  ExpectRefused("juggle", "there is no scenario juggle: say one of small, stream");
  ExpectRefused("list --path /", "--url");
  ExpectRefused("list --url http://localhost --path /", "root://HOST:PORT");
  ExpectRefused("list --url root://localhost:1094//a --path /", "root://HOST:PORT");
  ExpectRefused("list" + url + "--path a", "'a' is not a path");
  ExpectRefused("list" + url + "--path /a//b", "is not a path");
  ExpectRefused("small" + url + "--operation get --folder /f", "--objects");
  ExpectRefused("small" + url + "--operation put --folder /f --clients 1001", "--clients");
  ExpectRefused("small" + url + "--operation put --folder /f --seconds 1 --count 1", "--count");
  ExpectRefused("small" + url + "--operation push --folder /f", "push");
  ExpectRefused("copy" + url + "--folder /f --out /g --sizes 5 --files 2 --each 3",
                "--each 3 is more than --files 2");
  ExpectRefused("ingest" + url + "--size 5 --interval 0.001 --seconds 1000 --folder /f",
                "more than 10000 files");
  ExpectRefused("sparse" + url + "--size 5 --piece 6 --path /f", "--piece 6 is more than --size 5");
  ExpectRefused("vector" + url + "--size 5MiB --span 6MiB --path /f", "--span is more than --size");
  ExpectRefused("vector" + url + "--size 5MiB --span 5MiB --path /f", "do not fit into --span");
  ExpectRefused("vector" + url + "--size 5GiB --span 5GiB --max 2MiB --path /f", "--max");
  ExpectRefused("vector" + url + "--size 5GiB --span 5GiB --pieces 1025 --path /f", "--pieces");
}

TEST(CommandLine, BuffersAreBounded) {
  const std::string read =
      std::string("stream") + kUrl + "--operation read --folder /f --sizes 1GiB --clients 10";
  EXPECT_EQ(BufferBytes(*Parse(read + " --request 16KiB").command), 10u * 4 * 16 * 1024);
  // A file that is smaller than the window.
  EXPECT_EQ(BufferBytes(*Parse(std::string("reread") + kUrl + "--folder /f --sizes 1000,10").command), 2000u);
  ExpectRefused(std::string("stream") + kUrl +
                    "--operation read --folder /f --sizes 1TiB --clients 1000 --window 64 --request 16MiB",
                "--request");
}

}  // namespace
}  // namespace xec::load

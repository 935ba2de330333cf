// SPDX-License-Identifier: LGPL-3.0-or-later
// Documents that are made from the tables are what the tables say. XEC_REWRITE=1 brings them up to date.
#include "cli/manual.hh"

#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>

#include "assembly/configuration/options.hh"
#include "base/units.hh"
#include "cli/command_line.hh"
#include "cli/command_table.hh"

namespace xec {
namespace {

std::string ReadText(const std::string& path) {
  std::ifstream file(std::string(XEC_SOURCE) + "/" + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void Compare(const std::string& path, const std::string& wanted) {
  if (std::getenv("XEC_REWRITE"))
    std::ofstream(std::string(XEC_SOURCE) + "/" + path, std::ios::trunc) << wanted;
  EXPECT_EQ(ReadText(path), wanted) << path << " is out of date: run cli_test with XEC_REWRITE=1";
}

TEST(ManualTest, ManPage) { Compare("man/xec.1", ManPage()); }

TEST(ManualTest, Completion) { Compare("completion/xec.bash", BashCompletion()); }

TEST(ManualTest, TableOfOptions) {
  const std::string begin = "<!-- options: made from src/assembly/configuration/options.cc -->\n",
                    end = "<!-- end of options -->";
  const std::string document = ReadText("docs/configuration.md");
  const size_t from = document.find(begin), to = document.find(end);
  ASSERT_NE(from, std::string::npos);
  ASSERT_NE(to, std::string::npos);
  Compare("docs/configuration.md",
          document.substr(0, from) + begin + "\n" + OptionsMarkdown() + document.substr(to));
}

// The command line.

Result<CommandLine> Parse(std::vector<std::string> words) {
  words.insert(words.begin(), "xec");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  return ParseCommandLine(static_cast<int>(argv.size()), argv.data());
}

std::string HelpOf(const std::string& command) {
  testing::internal::CaptureStdout();
  EXPECT_TRUE(Parse({command, "--help"}));
  return testing::internal::GetCapturedStdout();
}

TEST(CommandLineTest, HelpNamesEveryOption) {
  for (const CommandText& command : kCommands) {
    const std::string help = HelpOf(command.name);
    EXPECT_NE(help.find(std::string("Usage: xec ") + command.name), std::string::npos) << help;
    for (const OwnOption& option : kOwnOptions) {
      if (TakesOption(option, command.name)) {
        EXPECT_NE(help.find(option.flag), std::string::npos) << command.name << option.flag;
      }
    }
    for (const OptionRow& row : OptionTable()) {
      const bool taken =
          command.store && (row.group != OptionGroup::kGateway || std::string_view(command.name) == "serve");
      if (taken) {
        EXPECT_NE(help.find("--" + std::string(row.name) + " "), std::string::npos)
            << command.name << row.name;
      }
    }
  }
}

TEST(CommandLineTest, OperandsAreTakenAsTheyAre) {
  const auto line = Parse({"put", "--data", "/d1", "[a,b]", "ls", "--data=/d2", "-", "--geometry", "1+1",
                           "--", "-x", "--", "/to"});
  ASSERT_TRUE(line) << line.error().message;
  EXPECT_EQ(line->command, "put");
  EXPECT_EQ(line->operands, (std::vector<std::string>{"[a,b]", "ls", "-", "-x", "--", "/to"}));
  EXPECT_EQ(line->configuration.data.size(), 2u);
}

TEST(CommandLineTest, FlagsOverrideTheFile) {
  const std::string path = testing::TempDir() + "command_line_test.cf";
  std::ofstream(path) << "xec.data /f1\nxec.data /f2\nxec.data /f3\nxec.geometry 2+1\nxec.sync none\n";
  const auto line = Parse({"ls", "-c", path, "--data", "/d1", "--data", "/d2", "--geometry", "1+1"});
  ASSERT_TRUE(line) << line.error().message;
  EXPECT_EQ(line->configuration.data, (std::vector<Site>{{"/d1", ""}, {"/d2", ""}}));
  EXPECT_EQ(line->configuration.chunks->ToString(), "1+1");
  EXPECT_EQ(line->configuration.sync, SyncPolicy::kNone);
}

TEST(CommandLineTest, AStoreIsDescribedInPlaceOfOneThatThereIs) {
  const auto line =
      Parse({"plan", "--servers", "12", "--hosts", "6", "--geometry", "4+3", "--capacity", "2TiB"});
  ASSERT_TRUE(line) << line.error().message;
  EXPECT_EQ(line->planned_servers, 12u);
  EXPECT_EQ(line->planned_hosts, 6u);
  EXPECT_EQ(line->capacity_bytes, 2048 * kGiB);
  EXPECT_EQ(line->configuration.chunks->ToString(), "4+3");
  // Of another command that is a switch.
  EXPECT_TRUE(Parse({"health", "--servers", "--data", "/d1"})->servers_only);
}

TEST(CommandLineTest, WrongUseIsOneSentence) {
  const auto error = [](std::vector<std::string> words) {
    const auto line = Parse(std::move(words));
    if (line) return std::string("no error");
    EXPECT_EQ(line.code(), Code::kInvalidArgument);
    return line.error().message;
  };
  EXPECT_EQ(error({"put", "/a", "/b", "--frob"}), "unknown option --frob (see xec put --help)");
  EXPECT_EQ(error({"put", "/a"}), "usage: xec put [OPTION]... SRC... DST");
  EXPECT_EQ(error({"ls", "--chunk-size", "0"}),
            "--chunk-size: '0' is no chunk size: a multiple of 4KiB from 4KiB to 64MiB");
  EXPECT_EQ(error({"ls", "--geometry", "1+1", "--geometry", "2+1"}),
            "--geometry: it was given already (--geometry)");
  EXPECT_EQ(error({"recover", "x"}), "say -o FILE, once: where to write the object");
  EXPECT_EQ(error({"plan"}),
            "say which store (-c FILE, --data, --server, --origin), or describe one: --servers 12 --hosts 6");
  EXPECT_EQ(error({"plan", "--servers", "12", "--data", "/d1"}),
            "--servers: that describes a store, and one is given");
  EXPECT_EQ(error({"plan", "--servers", "0"}), "--servers: '0' is no number from 1 to 1024");
  EXPECT_EQ(error({"plan", "--hosts", "3"}),
            "--hosts and --capacity are of a store that --servers N describes");
  EXPECT_NE(error({"frob"}), "no error");
  EXPECT_NE(error({}), "no error");
}

}  // namespace
}  // namespace xec

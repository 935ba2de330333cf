// SPDX-License-Identifier: LGPL-3.0-or-later
#include "mount/mount_status.hh"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace xec {
namespace {

TEST(MountStatusTest, AllOfItIsTold) {
  const MountStatus status = {.identity = {"root://h", "/mnt/a", "1.2"},
                              .since_ms = 5,
                              .threads = 16,
                              .requests = 2,
                              .open_files = 3,
                              .changed = {{"/a", 10}},
                              .tree = {.silent_servers = {"root://s"}, .workers = 4}};
  const auto json = nlohmann::json::parse(FormatMountStatus(status));
  EXPECT_EQ(json["source"], "root://h");
  EXPECT_EQ(json["changed_files"], 1);
  EXPECT_EQ(json["changed"][0]["path"], "/a");
  EXPECT_EQ(json["silent_servers"][0], "root://s");
  EXPECT_EQ(json["workers"], 4);
  EXPECT_FALSE(json.contains("scratch_bytes"));
}

// An attribute has 64 KiB, and names are bytes.
TEST(MountStatusTest, ItFitsWhateverFilesThereAre) {
  MountStatus status;
  MountFlushed flushed;
  for (int i = 0; i < 1000; ++i) {
    status.changed.push_back({"/" + std::string(1600, '\xff'), 1});
    status.tree.silent_servers.push_back(std::string(1000, 's'));
    flushed.failed.push_back({std::string(1600, '"'), Fail(Code::kConflict, "{}", std::string(300, '\n'))});
  }
  for (const std::string& text : {FormatMountStatus(status), FormatMountFlushed(flushed)}) {
    EXPECT_LE(text.size(), kAttributeBytesMax);
    EXPECT_TRUE(nlohmann::json::accept(text));
  }
  EXPECT_EQ(nlohmann::json::parse(FormatMountStatus(status))["changed_files"], 1000);
  EXPECT_EQ(nlohmann::json::parse(FormatMountFlushed(flushed))["not_committed"], 1000);
}

}  // namespace
}  // namespace xec

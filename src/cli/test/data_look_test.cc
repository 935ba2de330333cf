// SPDX-License-Identifier: LGPL-3.0-or-later
// Looks at data directories that answer; those that hang are in tests/component/test_hanging_directory.py.
#include "cli/data_look.hh"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <gtest/gtest.h>

namespace xec {
namespace {

namespace fs = std::filesystem;

class DataLookTest : public testing::Test {
 protected:
  DataLookTest() {
    std::string folder = testing::TempDir() + "data-look-XXXXXX";
    folder_ = mkdtemp(folder.data());
    fs::create_directories(folder_ + "/empty");
    fs::create_directories(folder_ + "/begun/.xec");
    fs::create_directories(folder_ + "/store/.xec");
    std::ofstream(folder_ + "/store/.xec/store") << "x";
    std::ofstream(folder_ + "/file") << "x";
  }
  ~DataLookTest() override { fs::remove_all(folder_); }

  std::vector<Site> Sites(std::vector<std::string> names) const {
    std::vector<Site> sites;
    for (const std::string& name : names) sites.push_back(Site{folder_ + "/" + name, ""});
    return sites;
  }

  std::string folder_;
};

TEST_F(DataLookTest, SaysWhatIsThere) {
  const auto shown = LookAtData(Sites({"missing", "file", "empty", "begun", "store"}));
  ASSERT_EQ(shown.size(), 5u);
  const auto words = [](const ShownData& data) {
    std::string text;
    if (data.exists) text += "exists ";
    if (data.directory) text += "directory ";
    if (data.empty) text += "empty ";
    if (data.reserved) text += "reserved ";
    if (data.holds_store) text += "store ";
    return text;
  };
  const char* const expected[] = {"", "exists ", "exists directory empty ", "exists directory reserved ",
                                  "exists directory reserved store "};
  for (size_t i = 0; i < shown.size(); ++i) {
    ASSERT_TRUE(shown[i]) << i;
    EXPECT_EQ(words(*shown[i]), expected[i]);
    // A file that nobody may execute is closed to root as well.
    EXPECT_EQ(shown[i]->closed_to_owner, i == 1 && geteuid() == 0 ? EACCES : 0) << i;
    EXPECT_EQ(shown[i]->uid, i == 0 ? 0 : geteuid());
  }
}

TEST_F(DataLookTest, WaitsForNoMoreThanWhatIsEnough) {
  size_t heard = 0, heard_after = 0;
  const auto shown = LookAtData(Sites({"empty", "store", "begun"}), [&](const auto& data) {
    ++heard;
    if (data.holds_store) heard_after = heard;
    return data.holds_store;
  });
  ASSERT_EQ(shown.size(), 3u);
  EXPECT_TRUE(shown[1]);
  EXPECT_EQ(heard_after, heard) << "nobody is asked after what is enough";
  EXPECT_EQ(std::count_if(shown.begin(), shown.end(), [](const auto& one) { return one.has_value(); }),
            static_cast<std::ptrdiff_t>(heard));
  EXPECT_TRUE(LookAtData({}).empty());
}

}  // namespace
}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "inventory/lost_links.hh"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

namespace xec {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

class LostLinksTest : public testing::Test {
 protected:
  LostLinksTest() {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    root_ = fs::path(testing::TempDir()) / (std::string("lost_links_") + info->name());
    fs::remove_all(root_);
    fs::create_directories(root_ / "ns");
  }
  ~LostLinksTest() override { fs::remove_all(root_); }

  // A file of the server's in the space, under that name.
  void File(const std::string& name, const std::string& space) {
    const fs::path target = root_ / space / fmt::format("{:04}", ++files_), link = root_ / "ns" / name;
    fs::create_directories(target.parent_path());
    fs::create_directories(link.parent_path());
    std::ofstream(target) << "x";
    fs::create_symlink(target, link);
  }

  void File(const ObjectPath& path, const std::string& space, const Version& version = kVersion) {
    const State state = PromotedState(version, kOid, 100);
    File(path.ObjectDirectory().substr(1) + "/" + FormatState(state), space);
    for (const std::string& part : path.LongNameEntries())
      fs::create_directories(root_ / "ns" / path.ObjectDirectory().substr(1) / part);
  }

  LostLinks Find(const std::string& disk) {
    names_.clear();
    const std::string where = disk.empty() ? "" : (root_ / disk).string();
    const Result<LostLinks> found = FindLostLinks((root_ / "ns").string(), where, [&](LostFile file) {
      names_.push_back(file.path);
      EXPECT_EQ(file.state.oid, kOid);
    });
    EXPECT_TRUE(found) << found.error().ToString();
    std::sort(names_.begin(), names_.end());
    return *found;
  }

  static ObjectPath Path(const std::string& text) { return *ObjectPath::Parse(text); }

  static constexpr Version kVersion{uint64_t{7} << kLogicalBits, 5, 0};
  const std::string kOid = std::string(kObjectIdBytes, '1');
  fs::path root_;
  int files_ = 0;
  std::vector<std::string> names_;
};

TEST_F(LostLinksTest, OfALostSpaceTheArchivesAreNamed) {
  File(Path("/a/run 1"), "space1");
  File(Path("/a/run 2"), "space2");
  File(Path("/c 100%/\u00e9"), "space1");
  File(".xec/server", "space1");
  File("a/b.~xo/s." + kOid, "space1");
  File("a/b.~xo/" + FormatState(WitnessState(kVersion, kOid, 100)), "space1");
  File("foreign", "space1");
  LostLinks links = Find("space1");
  EXPECT_EQ(links.links, 7u);
  EXPECT_EQ(links.into_disk, 6u);
  EXPECT_EQ(links.dangling, 0u) << "it is there";
  EXPECT_THAT(names_, IsEmpty());

  fs::remove_all(root_ / "space1");
  links = Find("space1");
  EXPECT_EQ(links.dangling, 6u);
  EXPECT_THAT(names_, ElementsAre("/a/run 1", "/c 100%/\u00e9"));
  EXPECT_EQ(links.archives, 2u);
  EXPECT_EQ(links.uploads, 1u);
  EXPECT_EQ(links.others, 1u);
  EXPECT_EQ(links.foreign, 2u);
  EXPECT_TRUE(links.identity);
  EXPECT_EQ(Find("space2").dangling, 0u);
  EXPECT_EQ(Find("space").into_disk, 0u) << "the beginning of a name is not a directory";
  EXPECT_EQ(Find("space1/").archives, 2u);

  fs::remove_all(root_ / "space2");
  EXPECT_EQ(Find("").archives, 3u) << "of any space";
}

TEST_F(LostLinksTest, LongNamesAreWhole) {
  const std::string folder(200, 'f'), name = std::string(248, 'n') + "#";
  const std::string long_folder = std::string(100, '#');  // 300 bytes on disk
  ASSERT_FALSE(Path("/" + long_folder).LongNameEntries().empty());
  File(Path("/" + folder + "/" + name), "space1");
  File(Path("/" + long_folder + "/x"), "space1");
  // The object directory of the directory knows its name.
  const ObjectPath directory = Path("/" + long_folder);
  for (const std::string& part : directory.LongNameEntries())
    fs::create_directories(root_ / "ns" / directory.ObjectDirectory().substr(1) / part);
  fs::remove_all(root_ / "space1");
  Find("space1");
  EXPECT_THAT(names_, ElementsAre("/" + long_folder + "/x", "/" + folder + "/" + name));
}

TEST_F(LostLinksTest, ASpaceMayBeNamedByAnotherWay) {
  File(Path("/a"), "disks/7");
  fs::create_directory_symlink(root_ / "disks", root_ / "by-name");
  fs::remove_all(root_ / "disks/7");
  fs::create_directories(root_ / "disks/7");  // an empty mount point
  EXPECT_EQ(Find("by-name/7").archives, 1u);
}

TEST_F(LostLinksTest, WhatCannotBeLookedAtIsAnError) {
  EXPECT_EQ(FindLostLinks((root_ / "none").string(), "", [](LostFile) {}).code(), Code::kNotFound);
}

}  // namespace
}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "protocol/object_path.hh"

#include <gtest/gtest.h>

namespace xec {
namespace {

TEST(ObjectPath, NamesOfTheRegisterAreForXecOnly) {
  const ObjectPath path = ObjectPath::Parse("/a/b c")->Registered();
  EXPECT_EQ(path.text(), "/.xec/names/a/b c");
  EXPECT_EQ(path.ObjectDirectory(), "/.xec/names/a/b%20c.~xo");
  EXPECT_EQ(path.Last(), "b c");
  EXPECT_FALSE(ObjectPath::Parse(path.text()));
  EXPECT_EQ(ObjectPath::ParseStored(path.text())->text(), path.text());
  EXPECT_EQ(path.Parent().Child("x")->text(), "/.xec/names/a/x");
  EXPECT_EQ(ObjectPath::Parse("/")->Registered().Child("x")->text(), "/.xec/names/x");
  EXPECT_FALSE(ObjectPath::ParseStored("/.xec/moves"));
  EXPECT_FALSE(ObjectPath::ParseStored("/.xec/names/a/../b"));
  EXPECT_FALSE(ObjectPath::Parse("/")->Child(".xec"));
}

TEST(ObjectPath, NormalisesAndRefuses) {
  EXPECT_EQ(ObjectPath::Parse("//a///b/")->text(), "/a/b");
  EXPECT_TRUE(ObjectPath::Parse("/")->IsRoot());
  const std::string long_part(256, 'x');
  for (const std::string& bad :
       {std::string(""), std::string("a"), std::string("/a/../b"), std::string("/./a"),
        std::string("/.xec/store"), std::string("/a.~xo"), "/" + long_part, std::string("/a\nb"),
        std::string("/a\0b", 4), std::string(5000, '/')}) {
    EXPECT_FALSE(ObjectPath::Parse(bad)) << bad;
  }
}

TEST(ObjectPath, KnowsItsRelatives) {
  const ObjectPath path = *ObjectPath::Parse("/a/b/c");
  EXPECT_EQ(path.Last(), "c");
  EXPECT_EQ(path.Parent().text(), "/a/b");
  EXPECT_EQ(ObjectPath::Parse("/a")->Parent().text(), "/");
  EXPECT_TRUE(path.IsBelow(*ObjectPath::Parse("/a")));
  EXPECT_FALSE(ObjectPath::Parse("/ab/c")->IsBelow(*ObjectPath::Parse("/a")));
  EXPECT_EQ(path.Child("d")->text(), "/a/b/c/d");
  EXPECT_FALSE(path.Child("d/e"));
}

TEST(ObjectPath, DiskNamesRoundTrip) {
  const ObjectPath path = *ObjectPath::Parse("/run 1/a%b?c#d&\xc3\xa9");
  EXPECT_EQ(path.ObjectDirectory(), "/run%201/a%25b%3Fc%23d%26\xc3\xa9.~xo");
  EXPECT_EQ(path.Parent().Folder(), "/run%201");
  const FolderEntryName entry = ParseFolderEntry("a%25b%3Fc%23d%26\xc3\xa9.~xo");
  EXPECT_EQ(entry.kind, FolderEntryName::kObject);
  EXPECT_EQ(entry.component, path.Last());
  EXPECT_EQ(ParseFolderEntry("plain").kind, FolderEntryName::kOther);
  EXPECT_EQ(ParseFolderEntry(".~xo").kind, FolderEntryName::kOther);
}

// The cleaner knows the folder of a shortened name that is forgotten by nothing else.
TEST(ObjectPath, AShortenedFolderStandsForItself) {
  const ObjectPath directory = *ObjectPath::Parse("/a/d" + std::string(200, ' '));
  const std::string folder = directory.Folder();
  EXPECT_TRUE(folder.ends_with(kLongFolderSuffix));
  EXPECT_FALSE(ObjectPath::Parse(folder)) << "reserved";
  const Result<ObjectPath> stored = directory.Parent().Child(folder.substr(folder.rfind('/') + 1));
  ASSERT_TRUE(stored);
  EXPECT_EQ(stored->Folder(), folder);
  EXPECT_EQ(stored->Child("x y")->ObjectDirectory(), directory.Child("x y")->ObjectDirectory());
  EXPECT_FALSE(ObjectPath::ParseStored("/a/d.~xo"));
}

TEST(ObjectPath, ALongNameLeavesRoomInTheLinesOfCmsd) {
  std::string name;
  while (name.size() < kPathBytesMax) name += "/" + std::string(199, 'y');
  ASSERT_EQ(name.size(), 1600u);
  EXPECT_TRUE(ObjectPath::Parse(name));
  EXPECT_EQ(ObjectPath::Parse(name + "z").error().message, "a name of 1601 bytes is longer than 1600");
  // Its folder, its longest entry and a folder of the server's own.
  EXPECT_LE(ObjectPath::Parse(name)->ObjectDirectory().size() + 1 + 255 + 100, 2000u);
}

TEST(ObjectPath, LongNamesAreShortenedAndRecovered) {
  const std::string name(255, '%');
  const ObjectPath path = *ObjectPath::Parse("/" + name + "/" + name);
  EXPECT_LE(path.ObjectDirectory().size(), 2 * 256u);
  for (const std::string& entry : path.LongNameEntries()) EXPECT_LE(entry.size(), 255u);
  EXPECT_EQ(*ReadLongName(path.LongNameEntries()), name);
  EXPECT_TRUE(ObjectPath::Parse("/short")->LongNameEntries().empty());
  auto entries = path.LongNameEntries();
  entries.pop_back();
  EXPECT_FALSE(ReadLongName(entries));
  std::string other = name;
  other.back() = 'x';
  EXPECT_NE(ObjectPath::Parse("/" + other)->ObjectDirectory(),
            ObjectPath::Parse("/" + name)->ObjectDirectory());
}

}  // namespace
}  // namespace xec

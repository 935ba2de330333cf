// SPDX-License-Identifier: LGPL-3.0-or-later
#include "xrdec/verdict.hh"

#include <gmock/gmock.h>

namespace xec {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Geometry kFourPlusTwo{4, 2, 64 * kKiB};

Found ArchiveOf(uint64_t size, uint64_t version) {
  Found found;
  found.kind = Found::kArchive;
  found.attributes.file_size = size;
  found.attributes.version = version;
  return found;
}

// Eight servers: `archives` of size 10 and version 100, then `silent` ones, the others have nothing.
std::vector<Found> Servers(size_t archives, size_t silent) {
  std::vector<Found> found(8, Found{Found::kAbsent, {}});
  for (size_t i = 0; i < archives; ++i) found[i] = ArchiveOf(10, 100);
  for (size_t i = archives; i < archives + silent; ++i) found[i].kind = Found::kSilent;
  return found;
}

Accepted Removed(int64_t seconds) {
  Accepted accepted;
  accepted.kind = Accepted::kRemoved;
  accepted.version.clock = static_cast<uint64_t>(seconds * 1000) << kLogicalBits;
  return accepted;
}

Verdict::Kind KindOf(const std::vector<Found>& found, const Accepted& registered = {}) {
  return Judge(found, registered, kFourPlusTwo).kind;
}

TEST(Verdict, AnObjectOfXrdEcNeedsKArchives) {
  for (size_t archives = 4; archives <= 6; ++archives) {
    const Verdict verdict = Judge(Servers(archives, 2), {}, kFourPlusTwo);
    EXPECT_EQ(verdict.kind, Verdict::kObject);
    EXPECT_EQ(verdict.holders.size(), archives);
    EXPECT_EQ(verdict.attributes.file_size, 10u);
  }
  // Debris: everybody was heard, or those who were not could not make it an object.
  EXPECT_EQ(KindOf(Servers(3, 0)), Verdict::kNothing);
  EXPECT_EQ(KindOf(Servers(2, 1)), Verdict::kNothing);
  EXPECT_EQ(KindOf(Servers(3, 1)), Verdict::kCannotTell);
  EXPECT_EQ(KindOf(Servers(1, 3)), Verdict::kCannotTell);
}

TEST(Verdict, SilentServersHideAnObjectOnlyIfTheyAreMoreThanM) {
  EXPECT_EQ(KindOf(Servers(0, 2)), Verdict::kNothing);
  EXPECT_EQ(KindOf(Servers(0, 3)), Verdict::kCannotTell);
}

TEST(Verdict, TheHighestVersionCounts) {
  std::vector<Found> found = Servers(5, 0);
  found[6] = ArchiveOf(20, 101);
  EXPECT_EQ(KindOf(found), Verdict::kNothing);
  for (const size_t i : {0u, 1u, 7u}) found[i] = ArchiveOf(20, 101);
  const Verdict verdict = Judge(found, {}, kFourPlusTwo);
  EXPECT_EQ(verdict.kind, Verdict::kObject);
  EXPECT_THAT(verdict.holders, ElementsAre(0, 1, 6, 7));
  // Another size under the same version is no archive of it.
  found[0] = ArchiveOf(30, 101);
  EXPECT_NE(Judge(found, {}, kFourPlusTwo).kind, Verdict::kObject);
}

TEST(Verdict, WhatWasRemovedStaysSo) {
  EXPECT_EQ(KindOf(Servers(6, 0), Removed(100)), Verdict::kNothing);
  EXPECT_EQ(KindOf(Servers(6, 0), Removed(99)), Verdict::kObject);
  EXPECT_THAT(LeftOver(Servers(2, 0), Removed(100)), ElementsAre(0, 1));
  EXPECT_THAT(LeftOver(Servers(2, 0), Removed(99)), IsEmpty());
  EXPECT_THAT(LeftOver(Servers(2, 0), Accepted{}), IsEmpty());
}

TEST(Verdict, TheRegisterKnowsAnObjectWithoutItsArchives) {
  Accepted registered;
  registered.kind = Accepted::kObject;
  registered.size = 10;
  EXPECT_EQ(KindOf(Servers(0, 8), registered), Verdict::kObject);
  std::vector<Found> found = Servers(3, 2);
  found[2] = ArchiveOf(11, 200);
  const Verdict verdict = Judge(found, registered, kFourPlusTwo);
  EXPECT_THAT(verdict.holders, ElementsAre(0, 1));
  EXPECT_EQ(verdict.attributes.version, 100u);
}

TEST(Verdict, FilesWithoutAttributesAreSomethingElse) {
  std::vector<Found> found = Servers(0, 2);
  found[7].kind = Found::kOther;
  EXPECT_EQ(KindOf(found), Verdict::kOther);
  found[6] = ArchiveOf(10, UINT64_MAX);
  EXPECT_EQ(HighestVersion(found), INT64_MAX);
}

}  // namespace
}  // namespace xec

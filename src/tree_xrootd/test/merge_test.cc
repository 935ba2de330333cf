// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tree_xrootd/merge.hh"

#include <gmock/gmock.h>

namespace xec {
namespace {

using testing::ElementsAre;
using Listing = Result<std::vector<NamedEntry>>;

Told File(uint64_t size, int64_t mtime_ns = 0) { return {.entry = {.size = size, .mtime_ns = mtime_ns}}; }
Told Directory() { return {.entry = {.directory = true}}; }
Error Silent() { return Fail(Code::kDeadlineExceeded, "silent"); }
Error Missing() { return Fail(Code::kNotFound, "missing"); }
NamedEntry Named(std::string name, uint64_t size, int64_t mtime_ns = 0) {
  return {.name = std::move(name), .entry = File(size, mtime_ns).entry};
}

TEST(Merge, FoundAnywhereIsFound) {
  EXPECT_EQ(MergeFound({Missing(), File(7), Silent()})->entry.size, 7u);
  EXPECT_EQ(MergeFound({File(1, 1000), File(2, 2000)})->entry.size, 2u);
  EXPECT_TRUE(MergeFound({File(1, 1000), Directory()})->entry.directory);
}

TEST(Merge, NotFoundNeedsAll) {
  EXPECT_EQ(MergeFound({Missing(), Missing()}).code(), Code::kNotFound);
  EXPECT_EQ(MergeFound({Missing(), Silent(), Missing()}).code(), Code::kDeadlineExceeded);
  EXPECT_EQ(MergeFound({}).code(), Code::kUnavailable);
}

TEST(Merge, ListingsAreAUnion) {
  const Listing merged =
      MergeListings({Listing(std::vector{Named("a", 1), Named("c", 1, 1000)}), Listing(Missing()),
                     Listing(std::vector{Named("b", 2), Named("c", 3, 2000)})});
  ASSERT_TRUE(merged);
  std::vector<std::pair<std::string, uint64_t>> told;
  for (const NamedEntry& one : *merged) told.emplace_back(one.name, one.entry.size);
  EXPECT_THAT(told, ElementsAre(std::pair("a", 1), std::pair("b", 2), std::pair("c", 3)));
}

TEST(Merge, AListingNeedsAll) {
  EXPECT_EQ(MergeListings({Listing(std::vector{Named("a", 1)}), Listing(Silent())}).code(),
            Code::kDeadlineExceeded);
  EXPECT_EQ(MergeListings({Listing(Missing()), Listing(Missing())}).code(), Code::kNotFound);
  EXPECT_TRUE(MergeListings({Listing(Missing()), Listing(std::vector<NamedEntry>())}));
}

TEST(Merge, AChangeIsDoneWhereItWasFound) {
  EXPECT_TRUE(MergeDone({Status(Missing()), OkStatus()}, true));
  EXPECT_EQ(MergeDone({Status(Missing()), Status(Missing())}, false).code(), Code::kNotFound);
  EXPECT_TRUE(MergeDone({Status(Silent()), OkStatus()}, false));
  EXPECT_EQ(MergeDone({Status(Silent()), OkStatus()}, true).code(), Code::kDeadlineExceeded);
  // A server that may not be changed has it still.
  EXPECT_EQ(MergeDone({Status(Fail(Code::kPermissionDenied, "no")), OkStatus()}, false).code(),
            Code::kPermissionDenied);
}

TEST(Merge, ADirectoryThatWasThereAnywhereIsNotMade) {
  EXPECT_TRUE(MergeMade({OkStatus(), Status(Missing()), Status(Silent())}));
  EXPECT_EQ(MergeMade({OkStatus(), Status(Fail(Code::kAlreadyExists, "there"))}).code(),
            Code::kAlreadyExists);
  EXPECT_EQ(MergeMade({Status(Missing()), Status(Missing())}).code(), Code::kNotFound);
}

}  // namespace
}  // namespace xec

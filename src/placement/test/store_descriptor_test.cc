// SPDX-License-Identifier: LGPL-3.0-or-later
#include "placement/store_descriptor.hh"

#include <gtest/gtest.h>

namespace xec {
namespace {

StoreDescriptor Example() {
  StoreDescriptor d;
  d.store_id = "0123456789abcdef0123456789abcdef";
  d.tolerance = 2;
  d.geometry = Geometry{2, 2, 65536};
  d.rules = {PathRule{"/raw data", Geometry{3, 1, 4096}}};
  for (int i = 1; i <= 4; ++i)
    d.members.push_back(Member{fmt::format("s{:02}", i), "local", fmt::format("h {}", i)});
  return d;
}

TEST(StoreDescriptor, RoundTrips) {
  const auto parsed = ParseDescriptor(FormatDescriptor(Example()));
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(*parsed, Example());
}

TEST(StoreDescriptor, EveryCutIsAnErrorAndNeverACrash) {
  const std::string text = FormatDescriptor(Example());
  for (size_t length = 0; length + 1 < text.size(); ++length) {
    EXPECT_FALSE(ParseDescriptor(text.substr(0, length))) << length;
  }
}

TEST(StoreDescriptor, UnknownFieldsAreIgnoredUnlessCritical) {
  std::string text = FormatDescriptor(Example());
  text.insert(text.size() - 4, "colour blue\n");
  EXPECT_TRUE(ParseDescriptor(text));
  text.insert(text.size() - 4, "!shape round\n");
  EXPECT_EQ(ParseDescriptor(text).code(), Code::kUnsupported);
}

TEST(StoreDescriptor, RolesAndSweepingAreFieldsThatOldProcessesRefuse) {
  StoreDescriptor d = Example();
  d.members.push_back(Member{"s05", "local", "h5"});
  d.members[1].role = MemberRole::kEmptying;
  d.unswept = true;
  const std::string text = FormatDescriptor(d);
  EXPECT_NE(text.find("\n!unswept yes\n"), std::string::npos);
  EXPECT_NE(text.find("\n!role " + d.members[1].id + " emptying\n"), std::string::npos);
  const auto parsed = ParseDescriptor(text);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(*parsed, d);
  EXPECT_FALSE(d.IsChanging());
}

TEST(StoreDescriptor, EachEpochHasAFileOfItsOwn) {
  for (const uint64_t epoch : {1u, 2u, 10u, 4711u}) {
    const std::string path = DescriptorPath(epoch);
    EXPECT_EQ(EpochOfEntry(path.substr(path.rfind('/') + 1)), epoch);
  }
  EXPECT_EQ(DescriptorPath(1), "/.xec/store");
  for (const char* other :
       {"", "stor", "store.", "store.1", "store.02", "store.x", "store.2.r1", "server", "storex"})
    EXPECT_EQ(EpochOfEntry(other), std::nullopt) << other;
}

TEST(StoreDescriptor, OneMemberChangesAtATime) {
  StoreDescriptor d = Example();
  d.members.push_back(Member{"s05", "local", "h5"});
  d.members[0].role = MemberRole::kLeaving;
  EXPECT_TRUE(d.IsChanging());
  EXPECT_TRUE(ValidateDescriptor(d));
  d.members[1].role = MemberRole::kJoining;
  EXPECT_EQ(ValidateDescriptor(d).code(), Code::kCorruption);
  d.members[1].role = MemberRole::kFull;
  d.unswept = true;
  EXPECT_EQ(ValidateDescriptor(d).code(), Code::kCorruption);
}

// A number that rots would be another epoch, or other homes.
TEST(StoreDescriptor, NoFlippedBitIsBelieved) {
  const std::string text = FormatDescriptor(Example());
  for (size_t i = 0; i < text.size(); ++i) {
    for (const int bit : {0, 1, 2, 3, 4, 5, 6, 7}) {
      std::string rotten = text;
      rotten[i] = static_cast<char>(rotten[i] ^ (1 << bit));
      const auto parsed = ParseDescriptor(rotten);
      EXPECT_TRUE(!parsed || *parsed == Example()) << i << ", bit " << bit;
    }
  }
}

TEST(StoreDescriptor, OldOnesHaveNoChecksum) {
  std::string text = FormatDescriptor(Example());
  const size_t at = text.find("checksum ");
  text.erase(at, text.find('\n', at) + 1 - at);
  const auto parsed = ParseDescriptor(text);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(*parsed, Example());
}

TEST(StoreDescriptor, SaysWhatIsWrongAndWhere) {
  std::string text = FormatDescriptor(Example());
  text.replace(text.find("sync commit"), 11, "sync sometimes");
  EXPECT_EQ(ParseDescriptor(text).error().message,
            "line 5 of the store descriptor: 'sometimes' is no sync policy (commit or none)");
  StoreDescriptor small = Example();
  small.geometry = Geometry{8, 2, 65536};
  EXPECT_EQ(ValidateDescriptor(small).error().message,
            "geometry 8+2 of the store needs 10 data servers, the store has 4");
}

TEST(StoreDescriptor, IdentityRoundTrips) {
  const auto identity = ParseIdentity(FormatIdentity(Example().store_id, "s03"));
  ASSERT_TRUE(identity);
  EXPECT_EQ(identity->member_id, "s03");
  for (const char* bad : {"", "xec-server 2\n", "xec-server 1\nstore x\nmember s03\n"})
    EXPECT_FALSE(ParseIdentity(bad));
  EXPECT_EQ(ParseIdentity("xec-server 2\n").code(), Code::kUnsupported);
  EXPECT_EQ(ParseIdentity("xec-server x\n").code(), Code::kCorruption);
}

TEST(StoreDescriptor, TheLongestRuleWins) {
  StoreDescriptor d = Example();
  d.rules.push_back(PathRule{"/raw data/fine/", Geometry{1, 1, 4096}});
  EXPECT_EQ(GeometryFor(d, "/x"), d.geometry);
  EXPECT_EQ(GeometryFor(d, "/raw data2/x"), d.geometry);
  EXPECT_EQ(GeometryFor(d, "/raw data/x"), d.rules[0].geometry);
  EXPECT_EQ(GeometryFor(d, "/raw data/fine/x"), d.rules[1].geometry);
}

}  // namespace
}  // namespace xec

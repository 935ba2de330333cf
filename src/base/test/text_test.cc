// SPDX-License-Identifier: LGPL-3.0-or-later
#include "base/text.hh"

#include <array>

#include <gtest/gtest.h>

#include "base/bytes.hh"

namespace xec {
namespace {

TEST(Text, ParsesStrictNumbers) {
  EXPECT_EQ(ParseUint("18446744073709551615"), 18446744073709551615u);
  EXPECT_EQ(ParseHex("00ff"), 255u);
  for (const char* bad : {"", "+1", " 1", "1 ", "0x1", "18446744073709551616"})
    EXPECT_FALSE(ParseUint(bad)) << bad;
  for (const char* bad : {"", "FF", "0g", "00000000000000001"}) EXPECT_FALSE(ParseHex(bad)) << bad;
}

TEST(Text, SplitsAndTrims) {
  EXPECT_EQ(Split("a..b", '.'), (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_EQ(Trim(" \t a b\r"), "a b");
}

TEST(Text, PercentEncodingRoundTrips) {
  const auto keep = [](unsigned char c) { return c > 0x20 && c != '?' && c != '#'; };
  const std::string name = "a b%41?#\xc3\xa9";
  EXPECT_EQ(PercentEncode(name, keep), "a%20b%2541%3F%23\xc3\xa9");
  EXPECT_EQ(PercentDecode(PercentEncode(name, keep)), name);
  for (const char* bad : {"%", "%4", "%zz"}) EXPECT_FALSE(PercentDecode(bad)) << bad;
}

TEST(Bytes, ReaderIsBounded) {
  std::array<std::byte, 7> raw{};
  ByteWriter writer(raw);
  writer.Write<uint32_t>(0x04034b50);
  writer.Write<uint16_t>(0xbeef);
  ByteReader reader(raw);
  EXPECT_EQ(reader.Read<uint32_t>(), 0x04034b50u);
  EXPECT_EQ(reader.Read<uint16_t>(), 0xbeef);
  EXPECT_FALSE(reader.Read<uint16_t>());
  EXPECT_FALSE(reader.Take(2));
  EXPECT_TRUE(reader.Take(1));
}

}  // namespace
}  // namespace xec

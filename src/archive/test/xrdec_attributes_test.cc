// SPDX-License-Identifier: LGPL-3.0-or-later
#include "archive/xrdec_attributes.hh"

#include <gtest/gtest.h>

namespace xec {
namespace {

TEST(XrdecAttributes, RoundTrips) {
  for (const XrdecAttributes& attributes :
       {XrdecAttributes{0, 0, {}}, XrdecAttributes{27000, 1795220720, 0x00c0ffee},
        XrdecAttributes{~0ull, ~0ull, 0u}}) {
    std::map<std::string, std::string> map;
    for (const auto& [name, value] : attributes.Format()) map[name] = value;
    const Result<XrdecAttributes> parsed = XrdecAttributes::Parse(map);
    ASSERT_TRUE(parsed);
    EXPECT_EQ(*parsed, attributes);
  }
}

TEST(XrdecAttributes, FormatsAsStockDoes) {
  const auto pairs = XrdecAttributes{65536, 1795220720, 0xabc}.Format();
  using Pair = std::pair<std::string, std::string>;
  EXPECT_EQ(pairs, (std::vector<Pair>{{"xrdec.filesize", "65536"},
                                      {"xrdec.strpver", "1795220720"},
                                      {"xrdec.adler32", "00000abc"}}));
}

TEST(XrdecAttributes, AcceptsOtherSpellingsOfAdler32) {
  const Result<XrdecAttributes> parsed = XrdecAttributes::Parse(
      {{"xrdec.filesize", "1"}, {"xrdec.strpver", "2"}, {"xrdec.adler32", "C0FFEE"}, {"other", "x"}});
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->adler32, 0xc0ffeeu);
}

TEST(XrdecAttributes, TellsWhatIsWrong) {
  EXPECT_EQ(XrdecAttributes::Parse({{"other", "x"}}).code(), Code::kNotFound);
  EXPECT_EQ(XrdecAttributes::Parse({{"xrdec.filesize", "1"}}).code(), Code::kCorruption);
  EXPECT_EQ(XrdecAttributes::Parse({{"xrdec.strpver", "1"}}).code(), Code::kCorruption);
  EXPECT_EQ(XrdecAttributes::Parse({{"xrdec.filesize", "1x"}, {"xrdec.strpver", "1"}}).code(),
            Code::kCorruption);
  EXPECT_EQ(XrdecAttributes::Parse({{"xrdec.filesize", "1"}, {"xrdec.strpver", "-1"}}).code(),
            Code::kCorruption);
  for (const char* bad : {"", "xyz", "123456789"}) {
    EXPECT_EQ(
        XrdecAttributes::Parse({{"xrdec.filesize", "1"}, {"xrdec.strpver", "1"}, {"xrdec.adler32", bad}})
            .code(),
        Code::kCorruption);
  }
}

}  // namespace
}  // namespace xec

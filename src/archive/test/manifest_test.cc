// SPDX-License-Identifier: LGPL-3.0-or-later
#include "archive/manifest.hh"

#include <gtest/gtest.h>

#include "base/bytes.hh"
#include "base/text.hh"
#include "codec/checksum.hh"

namespace xec {
namespace {

Manifest Small() {
  Manifest manifest;
  manifest.object_id = "0123456789abcdef01234567";
  manifest.size_bytes = 27000;
  manifest.geometry = {8, 2, kMiB};
  manifest.page_size_bytes = 4096;
  manifest.path = "/a/b";
  manifest.mtime_ns = 1795220720000000001;
  return manifest;
}

Manifest Full() {
  Manifest manifest = Small();
  manifest.kind = ManifestKind::kWitness;
  manifest.size_bytes = ~0ull;
  manifest.geometry = {16, 4, kChunkSizeMax};
  manifest.page_size_bytes = 16384;
  manifest.path = "/with blank/100%/\xc3\xa9/new\nline/-";
  manifest.mtime_ns = -1;
  manifest.mode = 0640;
  manifest.checksums = {
      {"adler32", "00c0ffee"}, {"crc32c", "0badcafe"}, {"md5", "d41d8cd98f00b204e9800998ecf8427e"}};
  manifest.attributes = {
      {"empty", ""}, {"dash", "-"}, {"bin", std::string("PK\x05\x06\0\xff ", 7)}, {"-", "%"}};
  manifest.servers = {"s01", "", "root://h:1094", "s20"};
  manifest.lane = 19;
  manifest.from = ManifestFrom{"/old name", "0123abcd-w7"};
  manifest.debts = {0, 3, 19};
  manifest.unknown_fields = {"colour blue", "later-field 1 2  3"};
  return manifest;
}

// `body` with the checksum line that belongs to it.
std::string Sealed(const std::string& body) {
  return body + "crc32c " + Hex(Crc32c(AsBytes(body)), 8) + "\n";
}

std::string Body(const Manifest& manifest) {
  const Result<std::string> text = manifest.Serialize();
  EXPECT_TRUE(text);
  return text->substr(0, text->rfind("crc32c "));
}

TEST(Manifest, RoundTrips) {
  for (const Manifest& manifest : {Small(), Full()}) {
    const Result<std::string> text = manifest.Serialize();
    ASSERT_TRUE(text) << text.error().ToString();
    for (const char c : *text) EXPECT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f));
    const Result<Manifest> parsed = Manifest::Parse(*text);
    ASSERT_TRUE(parsed) << parsed.error().ToString();
    EXPECT_EQ(*parsed, manifest);
    EXPECT_EQ(*Manifest::Parse(*text + "\n"), manifest);  // the line feed that ArchiveWriter may add
  }
}

TEST(Manifest, IsTheDocumentedText) {
  EXPECT_EQ(Body(Small()),
            "!xec 2\n!kind object\n!object 0123456789abcdef01234567\n!size 27000\n!geometry 8+2\n"
            "!chunk-size 1048576\n!page-size 4096\npath /a/b\nmtime 1795220720000000001\n");
}

TEST(Manifest, NoticesEveryFlippedBitAndEveryCut) {
  const Result<std::string> text = Full().Serialize();
  ASSERT_TRUE(text);
  for (size_t i = 0; i < text->size(); ++i) {
    EXPECT_FALSE(Manifest::Parse(text->substr(0, i))) << i;
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = *text;
      flipped[i] = static_cast<char>(flipped[i] ^ (1 << bit));
      EXPECT_FALSE(Manifest::Parse(flipped)) << i << "." << bit;
    }
  }
}

TEST(Manifest, UnknownFields) {
  const Result<Manifest> kept = Manifest::Parse(Sealed(Body(Small()) + "later-field x y\n"));
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->unknown_fields, std::vector<std::string>{"later-field x y"});
  const Result<Manifest> critical = Manifest::Parse(Sealed(Body(Small()) + "!later-field x y\n"));
  ASSERT_FALSE(critical);
  EXPECT_EQ(critical.code(), Code::kUnsupported);
  EXPECT_NE(critical.error().message.find("newer XEC"), std::string::npos);
  std::string body = Body(Small());
  body.replace(body.find("!xec 2"), 6, "!xec 3");
  EXPECT_EQ(Manifest::Parse(Sealed(body)).code(), Code::kUnsupported);
}

TEST(Manifest, TellsOfItsPadding) {
  Manifest manifest = Full();
  EXPECT_EQ(manifest.PaddingSize(), 0u);
  manifest.unknown_fields.push_back("padding ....");
  manifest.unknown_fields.push_back("paddings 1");
  manifest.unknown_fields.push_back("padding ..");
  EXPECT_EQ(Manifest::Parse(*manifest.Serialize())->PaddingSize(), 6u);
}

TEST(Manifest, ReadsEarlierFormats) {
  std::string body = Body(Full());
  body.replace(body.find("!xec 2"), 6, "!xec 1");
  const Result<Manifest> parsed = Manifest::Parse(Sealed(body));
  ASSERT_TRUE(parsed) << parsed.error().ToString();
  EXPECT_EQ(*parsed, Full());
}

TEST(Manifest, TellsOfParts) {
  Manifest manifest = Small();
  manifest.parts = {{7, 10'000, 2, 100}, {4294967295, 7'000, 1, 1}};
  const std::string body = Body(manifest);
  EXPECT_NE(body.find("!page-size 4096\n!parts 7 10000 2 100\n!parts 4294967295 7000 1 1\npath /a/b\n"),
            std::string::npos)
      << body;
  const Result<Manifest> parsed = Manifest::Parse(Sealed(body));
  ASSERT_TRUE(parsed) << parsed.error().ToString();
  EXPECT_EQ(*parsed, manifest);
  EXPECT_EQ(parsed->Stripes().At(10'000), (StripeExtent{107, 10'000, 10'000}));
  manifest.size_bytes = 26'999;
  EXPECT_EQ(manifest.Serialize().code(), Code::kInvalidArgument);
}

TEST(Manifest, TellsOfAllPartsThatS3Allows) {
  Manifest manifest = Small();
  manifest.size_bytes = (kPartsMax - 1) * 5 * kMiB + 1;
  manifest.parts = {{0, 5 * kMiB, kPartsMax - 1, 6553}, {65'530'000, 1, 1, 1}};
  EXPECT_LT(Body(manifest).size(), 512u);
}

TEST(Manifest, RefusesInvalidText) {
  const std::string body = Body(Small());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = body;
    changed.replace(changed.find(from), from.size(), to);
    return Sealed(changed);
  };
  for (const std::string& bad : {with("!kind object", "!kind thing"),
                                 with("!size 27000", "!size -1"),
                                 with("!size 27000", "!size 1 2"),
                                 with("!geometry 8+2", "!geometry 40+2"),
                                 with("!chunk-size 1048576", "!chunk-size 5"),
                                 with("!page-size 4096", "!page-size 8192"),
                                 with("!page-size 4096", "!page-size 99999999999"),
                                 with("path /a/b", "path /a%zz"),
                                 with("path /a/b", "path /a%00"),
                                 with("path /a/b", "path -"),
                                 with("path /a/b\n", ""),
                                 with("mtime 1795220720000000001", "mtime x"),
                                 with("!xec 2", "!xec 0"),
                                 with("!xec 2", "xec 2"),
                                 with("!object 0123", "!object 012X"),
                                 Sealed(body + body.substr(body.find("path"))),
                                 Sealed(body + "\n"),
                                 Sealed(body + "Upper x\n"),
                                 Sealed(body + "!parts 0 27000 1\n"),
                                 Sealed(body + "!parts 0 27000 1 1 1\n"),
                                 Sealed(body + "!parts 0 27000 1 x\n"),
                                 Sealed(body + "!parts 0 27000 1 -1\n"),
                                 Sealed(body + "!parts 0 27001 1 1\n"),
                                 Sealed(body + "!parts 0 26999 1 1\n"),
                                 Sealed(body + "!parts 0 13500 2 0\n"),
                                 Sealed(body + "!parts 0 27000 1 1\n!parts 0 27000 1 1\n"),
                                 Sealed(body + "!parts 99999999999999999999 27000 1 1\n"),
                                 Sealed(body + "lane 10\n"),
                                 Sealed(body + "lane\n"),
                                 Sealed(body + "debt 10\n"),
                                 Sealed(body + "debt 3\ndebt 3\n"),
                                 Sealed(body + "mode 0999\n"),
                                 Sealed(body + "mode 7\n"),
                                 Sealed(body + "checksum md5 XY\n"),
                                 Sealed(body + "checksum md5 ab\nchecksum md5 ab\n"),
                                 Sealed(body + "attribute a\n"),
                                 Sealed(body + "attribute a b\nattribute a c\n"),
                                 Sealed(body + "servers a  b\n"),
                                 Sealed(body + "tab\there x\n"),
                                 Sealed(body + "crc32c 00000000\n"),
                                 Sealed(body + "from /a b\n" + "!from /a\n"),
                                 Sealed(body + "pad " + std::string(kManifestSizeMax, 'x') + "\n"),
                                 Sealed(""),
                                 Sealed("\n"),
                                 std::string()}) {
    const Result<Manifest> parsed = Manifest::Parse(bad);
    ASSERT_FALSE(parsed) << bad.substr(0, 400);
    EXPECT_EQ(parsed.code(), Code::kCorruption) << bad.substr(0, 400);
  }
}

TEST(Manifest, RefusesToWriteWhatItCouldNotRead) {
  const auto fails = [](auto change) {
    Manifest manifest = Small();
    change(manifest);
    const Result<std::string> text = manifest.Serialize();
    return !text && text.code() == Code::kInvalidArgument;
  };
  EXPECT_TRUE(fails([](Manifest& m) { m.object_id = "ABC"; }));
  EXPECT_TRUE(fails([](Manifest& m) { m.path = ""; }));
  EXPECT_TRUE(fails([](Manifest& m) { m.path = std::string("a\0b", 3); }));
  EXPECT_TRUE(fails([](Manifest& m) { m.path = std::string(kObjectPathSizeMax + 1, 'a'); }));
  EXPECT_TRUE(fails([](Manifest& m) { m.geometry.data_chunks = 0; }));
  EXPECT_TRUE(fails([](Manifest& m) { m.lane = 10; }));
  EXPECT_TRUE(fails([](Manifest& m) { m.debts = {2, 1}; }));
  EXPECT_TRUE(fails([](Manifest& m) { m.servers = {"a b"}; }));
  EXPECT_TRUE(fails([](Manifest& m) { m.from = ManifestFrom{"/a", "v 1"}; }));
  EXPECT_TRUE(fails([](Manifest& m) { m.checksums = {{"md5", "xyz"}}; }));
  EXPECT_TRUE(fails([](Manifest& m) { m.attributes = {{"", "x"}}; }));
  EXPECT_TRUE(fails([](Manifest& m) { m.unknown_fields = {"!critical 1"}; }));
  EXPECT_TRUE(fails([](Manifest& m) { m.unknown_fields = {"lane 1"}; }));
  EXPECT_TRUE(fails([](Manifest& m) { m.unknown_fields = {"x 1\ny 2"}; }));
}

TEST(Manifest, LimitsUserAttributes) {
  EXPECT_TRUE(CheckUserAttributes({{"a", std::string(kUserAttributesSizeMax - 13, 'x')}}));
  const Status status = CheckUserAttributes({{"a", std::string(kUserAttributesSizeMax - 12, 'x')}});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.error().message.find("16384"), std::string::npos);
  EXPECT_FALSE(CheckUserAttributes({{"a", std::string(kUserAttributesSizeMax / 2, '\x01')}}));
  std::map<std::string, std::string> many;
  for (size_t i = 0; i <= kUserAttributesMax; ++i) many[std::to_string(i)] = "";
  EXPECT_FALSE(CheckUserAttributes(many));
}

TEST(Manifest, TheLargestOneFits) {
  Manifest manifest = Small();
  manifest.path = std::string(kObjectPathSizeMax, '\x01');
  manifest.attributes = {{"a", std::string(kUserAttributesSizeMax - 13, 'x')}};
  manifest.servers.assign(10, std::string(kServerIdSizeMax, 's'));
  const Result<std::string> text = manifest.Serialize();
  ASSERT_TRUE(text) << text.error().ToString();
  EXPECT_LE(text->size(), kManifestSizeMax);
  ASSERT_TRUE(Manifest::Parse(*text));
  manifest.from = ManifestFrom{manifest.path, "1"};
  const Result<std::string> too_large = manifest.Serialize();
  ASSERT_FALSE(too_large);
  EXPECT_NE(too_large.error().message.find("32768"), std::string::npos);
}

}  // namespace
}  // namespace xec

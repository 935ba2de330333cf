// SPDX-License-Identifier: LGPL-3.0-or-later
#include "codec/checksum.hh"

#include <initializer_list>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hh"
#include "codec/crc_combine.hh"
#include "codec/object_digests.hh"

namespace xec {
namespace {

const ByteSpan kCheck = AsBytes("123456789");

std::vector<std::byte> RandomBytes(size_t count, uint64_t seed) {
  Random random(seed);
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.Next());
  return bytes;
}

uint32_t CksumOf(ByteSpan bytes) {
  Cksum cksum;
  cksum.Update(bytes);
  return cksum.Value();
}

TEST(Checksum, PublishedCheckValues) {
  EXPECT_EQ(Crc32(kCheck), 0xcbf43926u);
  EXPECT_EQ(Crc32c(kCheck), 0xe3069283u);
  EXPECT_EQ(Adler32(kCheck), 0x091e01deu);
  EXPECT_EQ(CksumOf(kCheck), 0x377a6011u);  // cksum(1)
  EXPECT_EQ(Crc32({}), 0u);
  EXPECT_EQ(Crc32c({}), 0u);
  EXPECT_EQ(Adler32({}), 1u);
  EXPECT_EQ(Adler32({}, 0x12345678), 0x12345678u);
  EXPECT_EQ(CksumOf({}), 0xffffffffu);
  const std::vector<std::byte> zeros(70000);
  EXPECT_EQ(CksumOf(zeros), 0x69c2c1d7u);  // cksum(1); three bytes of length
  // RFC 3720, B.4
  EXPECT_EQ(Crc32c(ByteSpan(zeros).first(32)), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::vector<std::byte>(32, std::byte{0xff})), 0x62a8ab43u);
}

// As the definitions have them, bit by bit and byte by byte.
uint32_t PlainCrc32(ByteSpan bytes, uint32_t previous) {
  uint32_t crc = ~previous;
  for (const std::byte byte : bytes) {
    crc ^= std::to_integer<uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320 : 0);
  }
  return ~crc;
}

uint32_t PlainAdler32(ByteSpan bytes, uint32_t previous) {
  uint32_t sum = previous & 0xffff;
  uint32_t sum_of_sums = previous >> 16;
  for (const std::byte byte : bytes) {
    sum = (sum + std::to_integer<uint32_t>(byte)) % 65521;
    sum_of_sums = (sum_of_sums + sum) % 65521;
  }
  return sum_of_sums << 16 | sum;
}

TEST(Checksum, AgreesWithTheDefinitionsForAllLengthsAndContents) {
  // ff is what brings Adler's sums closest to overflow.
  for (const std::vector<std::byte>& bytes :
       {RandomBytes(70000, 1), std::vector<std::byte>(70000, std::byte{0xff}),
        std::vector<std::byte>(70000)}) {
    for (const size_t length :
         std::initializer_list<size_t>{1,   2,   15,   16,   17,   31,   63,   64,    65,    127,
                                       255, 256, 4095, 4096, 5551, 5552, 5553, 11104, 65521, 69997}) {
      for (const size_t offset : std::initializer_list<size_t>{0, 1, 3}) {
        const ByteSpan part = ByteSpan(bytes).subspan(offset, length);
        EXPECT_EQ(Crc32(part, 0x12345678), PlainCrc32(part, 0x12345678));
        for (const uint32_t previous : {1u, 0xfff0fff0u, 0x12345678u}) {
          EXPECT_EQ(Adler32(part, previous), PlainAdler32(part, previous)) << length;
        }
      }
    }
  }
}

TEST(Checksum, PiecesGiveTheSameAsTheWhole) {
  const std::vector<std::byte> bytes = RandomBytes(300, 2);
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    const ByteSpan first = ByteSpan(bytes).first(cut);
    const ByteSpan second = ByteSpan(bytes).subspan(cut);
    EXPECT_EQ(Crc32(second, Crc32(first)), Crc32(bytes));
    EXPECT_EQ(Crc32c(second, Crc32c(first)), Crc32c(bytes));
    EXPECT_EQ(Adler32(second, Adler32(first)), Adler32(bytes));
    Cksum cksum;
    cksum.Update(first);
    (void)cksum.Value();  // asking does not disturb
    cksum.Update(second);
    EXPECT_EQ(cksum.Value(), CksumOf(bytes));
  }
}

TEST(Crc32cCombine, EqualsTheChecksumOfTheConcatenation) {
  const std::vector<std::byte> bytes = RandomBytes(1'000'000, 3);
  for (const size_t first_bytes : std::initializer_list<size_t>{0, 1, 4096, 12345}) {
    for (const size_t second_bytes : std::initializer_list<size_t>{0, 1, 2, 3, 7, 255, 4096, 5121, 65520,
                                                                   65521, 65522, 131072, 900'001}) {
      const ByteSpan a = ByteSpan(bytes).first(first_bytes);
      const ByteSpan b = ByteSpan(bytes).subspan(first_bytes, second_bytes);
      const ByteSpan whole = ByteSpan(bytes).first(first_bytes + second_bytes);
      EXPECT_EQ(Crc32cCombine(Crc32c(a), Crc32c(b), second_bytes), Crc32c(whole));
      EXPECT_EQ(Crc32cCombiner(second_bytes).Combine(Crc32c(a), Crc32c(b)), Crc32c(whole));
    }
  }
}

TEST(Crc32cCombine, LengthsBeyondFourGiB) {
  // A run of 2^33 + 5 zero bytes is put together from halves, so that no gigabytes need be read.
  uint32_t crc = Crc32c(std::vector<std::byte>(8));
  for (uint64_t length = 8; length < uint64_t{1} << 33; length *= 2) crc = Crc32cCombine(crc, crc, length);
  const uint64_t length = (uint64_t{1} << 33) + 5;
  const std::vector<std::byte> five(5);
  const ByteSpan head = kCheck;
  EXPECT_EQ(Crc32cCombine(Crc32c(head), Crc32c(five, crc), length),
            Crc32c(five, Crc32cCombine(Crc32c(head), crc, length - 5)));
}

TEST(PageChecksums, OneForEachPageTheLastShort) {
  const std::vector<std::byte> bytes = RandomBytes(10'000, 4);
  std::vector<uint32_t> crcs(3);
  PageChecksums(bytes, 4096, crcs);
  EXPECT_EQ(crcs[0], Crc32c(ByteSpan(bytes).first(4096)));
  EXPECT_EQ(crcs[1], Crc32c(ByteSpan(bytes).subspan(4096, 4096)));
  EXPECT_EQ(crcs[2], Crc32c(ByteSpan(bytes).subspan(8192)));
  PageChecksums(ByteSpan(bytes).first(8192), 4096, std::span(crcs).first(2));
  PageChecksums({}, 4096, {});
}

TEST(PageChecksumsDeathTest, TheCountIsTheCallersDuty) {
  const std::vector<std::byte> bytes(5000);
  std::vector<uint32_t> crcs(3);
  EXPECT_DEATH(PageChecksums(bytes, 4096, crcs), "3 places for 2 pages");
}

constexpr DigestOptions kAllDigests{
    .md5 = true, .sha1 = true, .sha256 = true, .sha512 = true, .crc32 = true, .zcrc32 = true};

TEST(ObjectDigests, NamesAndFormsOfXRootD) {
  auto digests = ObjectDigests::Create(kAllDigests);
  ASSERT_TRUE(digests);
  digests->Add(kCheck);
  EXPECT_EQ(digests->size_bytes(), 9u);
  const std::map<std::string, std::string> expected{
      {"adler32", "091e01de"},
      {"crc32", "377a6011"},
      {"crc32c", "e3069283"},
      {"md5", "25f9e794323b453885f5181f1b624d0b"},
      {"sha1", "f7c3bc1d808e04732adf679965ccc34ca7ae3441"},
      {"sha256", "15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225"},
      {"sha512",
       "d9e6762dd1c8eaf6d61b3c6192fc408d4d6d5f1176d0c29169bc24e71c3f274a"
       "d27fcd5811b313d681f7e55ec02d73d499c95455b6b5bb503acf574fba8ffe85"},
      {"zcrc32", "cbf43926"}};
  EXPECT_EQ(digests->Finish(), expected);
}

TEST(ObjectDigests, OnlyTheCheapOnesUnlessAsked) {
  auto digests = ObjectDigests::Create();
  const std::map<std::string, std::string> expected{{"adler32", "00000001"}, {"crc32c", "00000000"}};
  EXPECT_EQ(digests->Finish(), expected);
}

TEST(ObjectDigests, PagesGiveTheSameAsBytes) {
  const std::vector<std::byte> bytes = RandomBytes(100'000, 5);
  auto whole = ObjectDigests::Create(kAllDigests);
  whole->Add(bytes);
  const auto expected = whole->Finish();
  // A few page sizes, chunks whose last page is short, plain bytes in between, and a page size that changes.
  for (const size_t page_size : std::initializer_list<size_t>{4096, 5121, 100'000, 200'000}) {
    auto digests = ObjectDigests::Create(kAllDigests);
    ByteSpan rest = bytes;
    for (const size_t piece_bytes : std::initializer_list<size_t>{10'000, 0, 1, 8192, 61'440, 20'367}) {
      const ByteSpan piece = rest.first(piece_bytes);
      rest = rest.subspan(piece_bytes);
      const size_t size = piece_bytes == 8192 ? 4096 : page_size;
      std::vector<uint32_t> crcs((piece.size() + size - 1) / size);
      PageChecksums(piece, size, crcs);
      if (piece_bytes == 1) {
        digests->Add(piece);
      } else {
        digests->Add(piece, crcs, size);
      }
    }
    ASSERT_TRUE(rest.empty());
    EXPECT_EQ(digests->Finish(), expected) << page_size;
  }
}

TEST(ObjectDigestsDeathTest, PageCountIsTheCallersDuty) {
  auto digests = ObjectDigests::Create();
  const std::vector<uint32_t> crcs(2);
  EXPECT_DEATH(digests->Add(kCheck, crcs, 4096), "2 checksums for 1 pages");
}

TEST(ObjectDigests, TheListOfAlgorithmsIsWhatIsComputed) {
  DigestOptions options;
  for (const ChecksumAlgorithm& algorithm : ChecksumAlgorithms()) EXPECT_TRUE(options.Add(algorithm.name));
  EXPECT_EQ(options.Add("sha3").code(), Code::kInvalidArgument);
  const ChecksumValues values = ObjectDigests::Create(options)->Finish();
  EXPECT_EQ(values.size(), ChecksumAlgorithms().size());
  for (const ChecksumAlgorithm& algorithm : ChecksumAlgorithms())
    EXPECT_EQ(values.at(std::string(algorithm.name)).size(), 2 * algorithm.bytes) << algorithm.name;
}

TEST(ObjectDigests, WhatWasDeclaredHasToBeComputed) {
  const ChecksumValues computed{{"adler32", "00000001"}, {"crc32c", "00000000"}};
  EXPECT_TRUE(CheckDeclared("/a", {}, computed));
  EXPECT_TRUE(CheckDeclared("/a", {{"crc32c", "00000000"}}, computed));
  const Status other = CheckDeclared("/a", {{"adler32", "00000001"}, {"crc32c", "00000002"}}, computed);
  EXPECT_EQ(other.code(), Code::kInvalidArgument);
  EXPECT_EQ(other.error().message, "the bytes of /a have crc32c 00000000, but 00000002 was declared");
}

TEST(DigestOptions, ParsesNames) {
  const auto some = DigestOptions::Parse("adler32, md5 ,zcrc32");
  ASSERT_TRUE(some);
  EXPECT_TRUE(some->md5 && some->zcrc32 && !some->sha256 && !some->crc32);
  const auto others = DigestOptions::Parse("crc32,sha256,crc32c,sha1,sha512");
  ASSERT_TRUE(others);
  EXPECT_TRUE(!others->md5 && !others->zcrc32 && others->sha1 && others->sha256 && others->sha512 &&
              others->crc32);
  EXPECT_TRUE(DigestOptions::Parse(""));
  for (const char* text : {"sha3", "md5,", ",", "MD5", "md5 sha256"}) {
    EXPECT_EQ(DigestOptions::Parse(text).code(), Code::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "codec/reed_solomon.hh"

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hh"
#include "codec/checksum.hh"
#include "codec/object_digests.hh"

namespace xec {
namespace {

// Lengths that end before, at and after the vector widths of ISA-L.
constexpr size_t kLengths[] = {1, 15, 31, 32, 33, 63, 64, 65, 97, 129, 4096 + 7};
constexpr size_t kGuardBytes = 64;
constexpr std::byte kGuard{0xa5};

// All chunks of a stripe, each followed by guard bytes that ISA-L's assembler must not touch.
class Stripe {
 public:
  Stripe(const Geometry& geometry, size_t length)
      : length_(length), chunks_(geometry.Total(), std::vector<std::byte>(length + kGuardBytes, kGuard)) {
    for (auto& chunk : chunks_) pointers_.push_back(chunk.data());
  }

  Stripe(const Stripe&) = delete;  // pointers_ points into chunks_

  void CopyFrom(const Stripe& other) {
    for (size_t i = 0; i < chunks_.size(); ++i)
      std::copy(other.chunks_[i].begin(), other.chunks_[i].end(), pointers_[i]);
  }

  void FillData(const Geometry& geometry, Random& random) {
    for (uint32_t i = 0; i < geometry.data_chunks; ++i) {
      for (size_t x = 0; x < length_; ++x) chunks_[i][x] = static_cast<std::byte>(random.Next());
    }
  }

  void Encode(const ReedSolomon& codec) {
    const std::vector<const std::byte*> data(pointers_.begin(), pointers_.begin() + codec.data_chunks());
    codec.Encode(data, std::span(pointers_).subspan(codec.data_chunks()), length_);
  }

  ChunkMask Verify(const ReedSolomon& codec) const {
    return codec.Verify(std::vector<const std::byte*>(pointers_.begin(), pointers_.end()), length_);
  }

  void Wipe(ChunkMask chunks) {
    for (uint32_t i = 0; i < chunks_.size(); ++i) {
      if ((chunks & ChunkBit(i)) != 0) std::fill_n(chunks_[i].begin(), length_, std::byte{0xee});
    }
  }

  // Pointers with null for the chunks outside of `usable`.
  std::vector<std::byte*> Pointers(ChunkMask usable = ~ChunkMask{0}) {
    std::vector<std::byte*> pointers = pointers_;
    for (uint32_t i = 0; i < pointers.size(); ++i) {
      if ((usable & ChunkBit(i)) == 0) pointers[i] = nullptr;
    }
    return pointers;
  }

  std::byte& At(uint32_t chunk, size_t offset) { return chunks_[chunk][offset]; }
  bool operator==(const Stripe& other) const { return chunks_ == other.chunks_; }

 private:
  size_t length_;
  std::vector<std::vector<std::byte>> chunks_;
  std::vector<std::byte*> pointers_;
};

// The field by its definition, independent of ISA-L.
uint8_t SlowMultiply(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (; b != 0; b >>= 1) {
    if ((b & 1) != 0) product ^= a;
    a = (a << 1) ^ ((a & 0x80) != 0 ? 0x11d : 0);
  }
  return static_cast<uint8_t>(product);
}

struct Field {
  std::array<std::array<uint8_t, 256>, 256> product;
  std::array<uint8_t, 256> inverse{};
  Field() {
    for (uint32_t a = 0; a < 256; ++a) {
      for (uint32_t b = 0; b < 256; ++b) {
        product[a][b] = SlowMultiply(a, b);
        if (product[a][b] == 1) inverse[a] = static_cast<uint8_t>(b);
      }
    }
  }
};

std::vector<Geometry> AllGeometries() {
  std::vector<Geometry> all;
  for (uint32_t k = 1; k < kChunksMax; ++k) {
    for (uint32_t m = 1; k + m <= kChunksMax; ++m) all.push_back({k, m, kMiB});
  }
  return all;
}

// A random set of at least k chunks out of k + m.
ChunkMask RandomSurvivors(const Geometry& geometry, Random& random) {
  const uint64_t losses = random.Below(geometry.parity_chunks + 1);
  ChunkMask present = FirstChunks(geometry.Total());
  for (uint64_t i = 0; i < losses; ++i)
    present &= ~ChunkBit(static_cast<uint32_t>(random.Below(geometry.Total())));
  return present;
}

TEST(ReedSolomon, ParityFollowsTheFormulaForEveryGeometry) {
  static const Field field;
  Random random(1);
  for (const Geometry& geometry : AllGeometries()) {
    const uint32_t k = geometry.data_chunks;
    const size_t length = kLengths[random.Below(10)];
    Stripe stripe(geometry, length);
    stripe.FillData(geometry, random);
    stripe.Encode(CodecFor(geometry));
    for (uint32_t i = k; i < geometry.Total(); ++i) {
      for (size_t x = 0; x < length; ++x) {
        uint8_t expected = 0;
        for (uint32_t j = 0; j < k; ++j) {
          const uint8_t coefficient = k == 1 ? uint8_t{1} : field.inverse[i ^ j];
          expected ^= field.product[coefficient][std::to_integer<uint8_t>(stripe.At(j, x))];
        }
        ASSERT_EQ(stripe.At(i, x), std::byte{expected})
            << geometry.ToString() << " chunk " << i << " byte " << x;
      }
      ASSERT_EQ(stripe.At(i, length), kGuard) << geometry.ToString();
    }
    EXPECT_EQ(stripe.Verify(CodecFor(geometry)), 0u);
  }
}

TEST(ReedSolomon, AnySmallErasurePatternIsReconstructed) {
  Random random(2);
  for (const Geometry& geometry : AllGeometries()) {
    const uint32_t n = geometry.Total();
    if (n > 9) continue;
    const ReedSolomon codec(geometry);
    const size_t length = kLengths[random.Below(10)];
    Stripe original(geometry, length);
    original.FillData(geometry, random);
    original.Encode(codec);
    for (ChunkMask present = 0; present <= FirstChunks(n); ++present) {
      const ChunkMask lost = FirstChunks(n) & ~present;
      Stripe stripe(geometry, length);
      stripe.CopyFrom(original);
      stripe.Wipe(lost);
      const Status status = codec.Reconstruct(stripe.Pointers(), present, lost, length);
      if (static_cast<uint32_t>(std::popcount(present)) < geometry.data_chunks) {
        ASSERT_EQ(status.code(), Code::kDataLoss);
        if (lost != 0) {
          EXPECT_EQ(stripe.At(static_cast<uint32_t>(std::countr_zero(lost)), 0), std::byte{0xee});
        }
        continue;
      }
      ASSERT_TRUE(status) << status.error().message;
      ASSERT_TRUE(stripe == original) << geometry.ToString() << " present " << present;
    }
  }
}

TEST(ReedSolomon, RandomErasuresOfEveryGeometryAreReconstructed) {
  Random random(3);
  for (const Geometry& geometry : AllGeometries()) {
    const ReedSolomon codec(geometry);
    for (const size_t length : kLengths) {
      Stripe stripe(geometry, length);
      stripe.FillData(geometry, random);
      stripe.Encode(codec);
      const ChunkMask present = RandomSurvivors(geometry, random);
      const ChunkMask lost = FirstChunks(geometry.Total()) & ~present;
      Stripe original(geometry, length);
      original.CopyFrom(stripe);
      stripe.Wipe(lost);
      ASSERT_TRUE(codec.Reconstruct(stripe.Pointers(), present, lost, length));
      ASSERT_TRUE(stripe == original) << geometry.ToString() << " length " << length;
    }
  }
}

TEST(ReedSolomon, OnlyTheWantedChunksAreTouched) {
  const Geometry geometry{4, 3, kMiB};
  const ReedSolomon codec(geometry);
  Random random(4);
  Stripe stripe(geometry, 100);
  stripe.FillData(geometry, random);
  stripe.Encode(codec);
  const std::byte lost_byte = stripe.At(2, 50);
  // Chunks 0 and 5 are gone and not wanted: they need no buffers.
  const ChunkMask present = ChunkBit(1) | ChunkBit(3) | ChunkBit(4) | ChunkBit(6);
  stripe.Wipe(ChunkBit(2));
  ASSERT_TRUE(codec.Reconstruct(stripe.Pointers(present | ChunkBit(2)), present, ChunkBit(2), 100));
  EXPECT_EQ(stripe.At(2, 50), lost_byte);
  EXPECT_EQ(stripe.Verify(codec), 0u);
}

TEST(ReedSolomon, NothingWantedOrNoBytesIsNoWork) {
  const Geometry geometry{2, 2, kMiB};
  const ReedSolomon codec(geometry);
  const std::vector<std::byte*> none(4, nullptr);
  EXPECT_TRUE(codec.Reconstruct(none, 0b1111, 0, 100));
  EXPECT_TRUE(codec.Reconstruct(none, 0b0011, 0b1100, 0));
  EXPECT_EQ(codec.Reconstruct(none, 0b0001, 0, 0).code(), Code::kDataLoss);
  codec.Encode(std::vector<const std::byte*>(2), std::vector<std::byte*>(2), 0);
  EXPECT_EQ(codec.Verify(std::vector<const std::byte*>(4), 0), 0u);
  EXPECT_EQ(codec.DecodeCache().tables, 0u);
}

TEST(ReedSolomon, VerifyNamesTheParityThatDiffers) {
  const Geometry geometry{5, 3, kMiB};
  const ReedSolomon codec(geometry);
  Random random(5);
  const size_t length = 100'003;  // more than one block of Verify
  Stripe stripe(geometry, length);
  stripe.FillData(geometry, random);
  stripe.Encode(codec);
  for (const size_t offset : {size_t{0}, size_t{32767}, size_t{32768}, length - 1}) {
    stripe.At(6, offset) ^= std::byte{1};
    EXPECT_EQ(stripe.Verify(codec), ChunkBit(6)) << offset;
    stripe.At(6, offset) ^= std::byte{1};
    stripe.At(2, offset) ^= std::byte{0x80};
    EXPECT_EQ(stripe.Verify(codec), ChunkBit(5) | ChunkBit(6) | ChunkBit(7)) << offset;
    stripe.At(2, offset) ^= std::byte{0x80};
  }
  EXPECT_EQ(stripe.Verify(codec), 0u);
}

// INV-3, and INV-1 and INV-2 under a thread sanitizer.
TEST(ReedSolomon, ManyPatternsFromManyThreadsStayBounded) {
  const Geometry geometry{8, 4, kMiB};
  const ReedSolomon codec(geometry);
  constexpr size_t kLength = 65;
  Random random(6);
  Stripe original(geometry, kLength);
  original.FillData(geometry, random);
  original.Encode(codec);
  std::array<int, 4> wrong{};
  {
    std::vector<std::jthread> threads;
    for (size_t thread = 0; thread < wrong.size(); ++thread) {
      threads.emplace_back([&, thread] {
        Random own(100 + thread);
        for (int round = 0; round < 500; ++round) {
          const ChunkMask present = RandomSurvivors(geometry, own);
          const ChunkMask lost = FirstChunks(geometry.Total()) & ~present;
          std::vector<std::byte*> pointers = original.Pointers(present);
          std::vector<std::vector<std::byte>> outputs(geometry.Total(), std::vector<std::byte>(kLength));
          for (uint32_t i = 0; i < geometry.Total(); ++i) {
            if ((lost & ChunkBit(i)) != 0) pointers[i] = outputs[i].data();
          }
          if (!codec.Reconstruct(pointers, present, lost, kLength)) ++wrong[thread];
          for (uint32_t i = 0; i < geometry.Total(); ++i) {
            if ((lost & ChunkBit(i)) != 0 &&
                !std::equal(outputs[i].begin(), outputs[i].end(), &original.At(i, 0))) {
              ++wrong[thread];
            }
          }
        }
      });
    }
  }
  for (const int count : wrong) EXPECT_EQ(count, 0);
  EXPECT_EQ(codec.DecodeCache().tables, ReedSolomon::kDecodeTablesMax);
}

TEST(ReedSolomon, EqualSourcesAndTargetsShareOneTable) {
  const Geometry geometry{2, 3, kMiB};
  const ReedSolomon codec(geometry);
  Stripe stripe(geometry, 10);
  stripe.Encode(codec);
  // In both calls chunks 1 and 2 are the sources: 3 is present, but not needed.
  ASSERT_TRUE(codec.Reconstruct(stripe.Pointers(), 0b00110, 0b00001, 10));
  ASSERT_TRUE(codec.Reconstruct(stripe.Pointers(), 0b01110, 0b00001, 10));
  EXPECT_EQ(codec.DecodeCache().tables, 1u);
}

TEST(ReedSolomon, TheSameTargetFromOtherSourcesIsAnotherTable) {
  const Geometry geometry{2, 3, kMiB};
  const ReedSolomon codec(geometry);
  Random random(7);
  Stripe original(geometry, 10);
  original.FillData(geometry, random);
  original.Encode(codec);
  for (const ChunkMask present : {0b00110u, 0b01010u, 0b11000u, 0b10100u}) {
    Stripe stripe(geometry, 10);
    stripe.CopyFrom(original);
    stripe.Wipe(ChunkBit(0));
    ASSERT_TRUE(codec.Reconstruct(stripe.Pointers(present | ChunkBit(0)), present, ChunkBit(0), 10));
    EXPECT_TRUE(stripe == original) << present;
  }
  EXPECT_EQ(codec.DecodeCache().tables, 4u);
}

TEST(ReedSolomon, TheLeastRecentlyUsedTableGoesFirst) {
  const Geometry geometry{8, 4, kMiB};
  const ReedSolomon codec(geometry);
  Stripe stripe(geometry, 1);
  stripe.Encode(codec);
  const auto reconstruct = [&](ChunkMask lost) {
    ASSERT_TRUE(codec.Reconstruct(stripe.Pointers(), FirstChunks(12) & ~lost, lost, 1));
  };
  // Chunk 0 alone stays in use while 495 patterns of four losses pass by.
  reconstruct(ChunkBit(0));
  uint64_t patterns = 1;
  for (ChunkMask lost = 0; lost < FirstChunks(12); ++lost) {
    if (std::popcount(lost) != 4) continue;
    reconstruct(lost);
    reconstruct(ChunkBit(0));
    ++patterns;
  }
  EXPECT_EQ(patterns, 496u);
  EXPECT_EQ(codec.DecodeCache().tables_made, patterns);
  EXPECT_EQ(codec.DecodeCache().tables, ReedSolomon::kDecodeTablesMax);
}

TEST(CodecFor, IsOneCodecForAllChunkSizes) {
  EXPECT_EQ(&CodecFor({8, 2, kMiB}), &CodecFor({8, 2, 64 * kKiB}));
  EXPECT_NE(&CodecFor({8, 2, kMiB}), &CodecFor({2, 8, kMiB}));
  EXPECT_EQ(CodecFor({2, 8, kMiB}).data_chunks(), 2u);
}

using ReedSolomonDeathTest = ::testing::Test;

TEST(ReedSolomonDeathTest, WrongShapesAreOurOwnBugs) {
  const Geometry geometry{2, 1, kMiB};
  const ReedSolomon codec(geometry);
  Stripe stripe(geometry, 8);
  EXPECT_DEATH((void)codec.Reconstruct(stripe.Pointers(), 0b011, 0b001, 8), "both present and wanted");
  EXPECT_DEATH((void)codec.Reconstruct(stripe.Pointers(), 0b1011, 0b100, 8), "of 2\\+1");
  EXPECT_DEATH((void)codec.Reconstruct(stripe.Pointers(0b011), 0b011, 0b100, 8), "has no buffer");
  EXPECT_DEATH(codec.Encode(std::vector<const std::byte*>(3), std::vector<std::byte*>(1), 8), "for 2\\+1");
  EXPECT_DEATH((void)CodecFor({0, 1, kMiB}), "no codec for 0\\+1");
  EXPECT_DEATH((void)CodecFor({31, 31, kMiB}), "more than 32 chunks");
}

// What stock XrdEc of XRootD 6.1.0 wrote: the ZIP CRC-32 of parity members of tests/fixtures/xrdec-6.1.0.
// The objects' bytes are sha256("<path>:0"), sha256("<path>:1"), ... one after the other.
struct StockParity {
  uint64_t stripe;
  uint32_t chunk;
  uint64_t member_bytes;
  uint32_t crc32;
};

std::vector<std::byte> FixtureObject(const std::string& path, size_t size) {
  std::vector<std::byte> object;
  for (int n = 0; object.size() < size; ++n) {
    auto digests = ObjectDigests::Create({.sha256 = true});
    digests->Add(AsBytes(fmt::format("{}:{}", path, n)));
    const std::string hex = digests->Finish()["sha256"];
    for (size_t i = 0; i < hex.size(); i += 2) {
      object.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    }
  }
  object.resize(size);
  return object;
}

void ExpectStockParity(const std::string& path, const Geometry& geometry, size_t size,
                       const std::vector<StockParity>& expected) {
  const std::vector<std::byte> object = FixtureObject(path, size);
  for (const StockParity& member : expected) {
    EXPECT_EQ(geometry.ChunkBytes(size, member.stripe, member.chunk), member.member_bytes);
    Stripe stripe(geometry, member.member_bytes);
    for (uint32_t i = 0; i < geometry.data_chunks; ++i) {
      const uint64_t bytes = geometry.ChunkBytes(size, member.stripe, i);
      std::fill_n(&stripe.At(i, 0), member.member_bytes, std::byte{0});
      const uint64_t start = member.stripe * geometry.StripeSize() + i * geometry.chunk_size_bytes;
      if (bytes > 0) std::copy_n(&object[start], bytes, &stripe.At(i, 0));
    }
    stripe.Encode(CodecFor(geometry));
    EXPECT_EQ(Crc32({&stripe.At(member.chunk, 0), member.member_bytes}), member.crc32)
        << path << " obj." << member.stripe << "." << member.chunk;
  }
}

TEST(ReedSolomon, GivesTheParityOfStockXrdEc) {
  ExpectStockParity("4+2/small-27k", {4, 2, 64 * kKiB}, 27648,
                    {{0, 4, 27648, 0xb80aac5f}, {0, 5, 27648, 0x0d1bde7f}});
  ExpectStockParity("4+2/three-stripes-plus-7", {4, 2, 64 * kKiB}, 786439,
                    {{0, 4, 65536, 0x3d63a010},
                     {0, 5, 65536, 0xd9a6815d},
                     {1, 4, 65536, 0xb39cce1f},
                     {1, 5, 65536, 0x2e39a4c8},
                     {2, 4, 65536, 0xfb55c601},
                     {2, 5, 65536, 0x0c8aefe6},
                     {3, 4, 7, 0x7688b8b8},
                     {3, 5, 7, 0x609b2312}});
  ExpectStockParity("8+3/three-stripes-plus-7", {8, 3, 64 * kKiB}, 1572871,
                    {{0, 8, 65536, 0x9cb7ae9a},
                     {0, 9, 65536, 0x2d4ea0a1},
                     {0, 10, 65536, 0x72f29089},
                     {2, 8, 65536, 0xe6a349df},
                     {2, 9, 65536, 0xb84d1e44},
                     {2, 10, 65536, 0x7d6133a4},
                     {3, 8, 7, 0xf782061b},
                     {3, 9, 7, 0x2fa38d65},
                     {3, 10, 7, 0x17e99bf1}});
}

}  // namespace
}  // namespace xec

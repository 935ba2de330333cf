// SPDX-License-Identifier: LGPL-3.0-or-later
#include "codec/geometry.hh"

#include <algorithm>
#include <limits>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace xec {
namespace {

constexpr uint64_t kUint64Max = std::numeric_limits<uint64_t>::max();

// Object sizes around every border of the first three stripes, and far away.
std::vector<uint64_t> InterestingSizes(const Geometry& geometry) {
  std::set<uint64_t> sizes{0, 1};
  for (uint64_t chunks = 1; chunks <= 3ull * geometry.data_chunks; ++chunks) {
    const uint64_t border = chunks * geometry.chunk_size_bytes;
    sizes.insert({border - 1, border, border + 1});
  }
  sizes.insert({1'000'003 * geometry.StripeSize() + 5, kUint64Max});
  return {sizes.begin(), sizes.end()};
}

std::vector<Geometry> SomeGeometries() {
  return {{1, 1, 4 * kKiB},  {1, 3, 8 * kKiB}, {2, 1, 4 * kKiB},   {4, 2, 64 * kKiB},
          {8, 3, 64 * kKiB}, {10, 2, kMiB},    {31, 1, 12 * kKiB}, {16, 16, kChunkSizeMax}};
}

TEST(GeometryParse, ReadsWhatToStringWrites) {
  for (uint32_t k = 1; k < kChunksMax; ++k) {
    for (uint32_t m = 1; k + m <= kChunksMax; ++m) {
      const Geometry geometry{k, m, 64 * kKiB};
      const auto parsed = Geometry::Parse(geometry.ToString(), 64 * kKiB);
      ASSERT_TRUE(parsed) << parsed.error().message;
      EXPECT_EQ(*parsed, geometry);
    }
  }
  EXPECT_EQ(Geometry::Parse("8+2")->chunk_size_bytes, kChunkSizeDefault);
}

TEST(GeometryParse, RefusesAnythingElse) {
  for (const char* text :
       {"", "+", "8", "8+", "+2", "8+2+1", " 8+2", "8 + 2", "-8+2", "8+0", "0+2", "31+2", "32+1", "1+32",
        "a+b", "8x2", "4294967304+2", "8+4294967298", "18446744073709551624+2"}) {
    const auto parsed = Geometry::Parse(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.code(), Code::kInvalidArgument) << text;
  }
}

TEST(GeometryValidate, BoundsTheChunkSize) {
  for (const uint64_t good : {4 * kKiB, 8 * kKiB, 12 * kKiB, kMiB, 20 * kMiB + 4 * kKiB, 64 * kMiB}) {
    EXPECT_TRUE((Geometry{8, 2, good}.Validate())) << good;
  }
  for (const uint64_t bad : {uint64_t{0}, uint64_t{1}, 4 * kKiB - 1, 4 * kKiB + 64, 6 * kKiB,
                             64 * kMiB + 4 * kKiB, 128 * kMiB, kUint64Max}) {
    EXPECT_EQ((Geometry{8, 2, bad}.Validate().code()), Code::kInvalidArgument) << bad;
  }
  // A sum that wraps around is no way in.
  EXPECT_FALSE((Geometry{0xffffffff, 2, kMiB}.Validate()));
}

TEST(GeometryArithmetic, ChunksOfAStripeMakeUpTheStripe) {
  for (const Geometry& geometry : SomeGeometries()) {
    for (const uint64_t size : InterestingSizes(geometry)) {
      const uint64_t stripes = geometry.StripeCount(size);
      EXPECT_EQ(stripes == 0, size == 0);
      // The first, and the last three with the one after the end.
      std::set<uint64_t> probes{0, stripes};
      for (uint64_t back = 1; back <= std::min<uint64_t>(stripes, 3); ++back) probes.insert(stripes - back);
      for (const uint64_t stripe : probes) {
        uint64_t sum = 0;
        uint64_t previous = geometry.chunk_size_bytes;
        for (uint32_t chunk = 0; chunk < geometry.data_chunks; ++chunk) {
          const uint64_t bytes = geometry.ChunkBytes(size, stripe, chunk);
          // Full ones, then at most one partial, then empty ones.
          EXPECT_LE(bytes, previous);
          if (bytes > 0) {
            EXPECT_EQ(previous, geometry.chunk_size_bytes);
          }
          previous = bytes;
          sum += bytes;
        }
        EXPECT_EQ(sum, geometry.StripeBytes(size, stripe));
        EXPECT_EQ(sum == geometry.StripeSize(), stripe < size / geometry.StripeSize());
        EXPECT_EQ(sum == 0, stripe == stripes);
        for (uint32_t chunk = geometry.data_chunks; chunk < geometry.Total(); ++chunk) {
          EXPECT_EQ(geometry.ChunkBytes(size, stripe, chunk), geometry.ChunkBytes(size, stripe, 0));
        }
      }
    }
  }
}

TEST(GeometryArithmetic, StripeBytesAddUpToTheObject) {
  for (const Geometry& geometry : SomeGeometries()) {
    for (const uint64_t size : InterestingSizes(geometry)) {
      const uint64_t stripes = geometry.StripeCount(size);
      if (stripes > 4) continue;
      uint64_t sum = 0;
      for (uint64_t stripe = 0; stripe < stripes; ++stripe) sum += geometry.StripeBytes(size, stripe);
      EXPECT_EQ(sum, size);
    }
  }
}

// A byte inside an object lies inside a member; the first byte after its end does not.
TEST(GeometryArithmetic, MembersHaveEveryByteOfTheObjectAndNoOther) {
  for (const Geometry& geometry : SomeGeometries()) {
    for (const uint64_t offset : InterestingSizes(geometry)) {
      const uint64_t stripe = offset / geometry.StripeSize();
      const auto chunk = static_cast<uint32_t>(offset % geometry.StripeSize() / geometry.chunk_size_bytes);
      const uint64_t in_chunk = offset % geometry.StripeSize() % geometry.chunk_size_bytes;
      if (offset != kUint64Max) {
        EXPECT_GT(geometry.ChunkBytes(offset + 1, stripe, chunk), in_chunk);
      }
      EXPECT_LE(geometry.ChunkBytes(offset, stripe, chunk), in_chunk);
    }
  }
}

TEST(GeometryArithmetic, WorkedExample) {
  const Geometry geometry{4, 2, 64 * kKiB};
  const uint64_t size = 3 * geometry.StripeSize() + geometry.chunk_size_bytes + 7;
  EXPECT_EQ(geometry.StripeCount(size), 4u);
  EXPECT_EQ(geometry.ChunkBytes(size, 3, 0), 65536u);
  EXPECT_EQ(geometry.ChunkBytes(size, 3, 1), 7u);
  EXPECT_EQ(geometry.ChunkBytes(size, 3, 2), 0u);
  EXPECT_EQ(geometry.ChunkBytes(size, 3, 4), 65536u);
}

TEST(GeometryPages, SizeAndCount) {
  EXPECT_EQ((Geometry{8, 2, 4 * kKiB}.PageSize()), 4096u);
  EXPECT_EQ((Geometry{8, 2, kMiB}.PageSize()), 4096u);
  EXPECT_EQ((Geometry{8, 2, 16 * kMiB}.PageSize()), 4096u);
  EXPECT_EQ((Geometry{8, 2, 64 * kMiB}.PageSize()), 16384u);
  const Geometry odd{8, 2, 20 * kMiB + 4 * kKiB};
  EXPECT_EQ(odd.PageSize(), 8192u);
  EXPECT_EQ(odd.PageCount(odd.chunk_size_bytes), 2561u);
  const Geometry geometry{8, 2, kMiB};
  EXPECT_EQ(geometry.PageCount(0), 0u);
  EXPECT_EQ(geometry.PageCount(1), 1u);
  EXPECT_EQ(geometry.PageCount(4096), 1u);
  EXPECT_EQ(geometry.PageCount(4097), 2u);
  EXPECT_EQ(geometry.PageCount(kMiB), 256u);
  for (uint64_t size = kChunkSizeMin; size <= kChunkSizeMax; size += 17 * kChunkSizeUnit) {
    const Geometry any{8, 2, size};
    EXPECT_LE(any.PageCount(size), kPagesPerChunkMax);
  }
}

TEST(GeometryFit, GrowsTheChunkJustEnough) {
  const Geometry wanted{8, 2, kMiB};
  const uint64_t limit = kMembersMax * wanted.StripeSize();
  EXPECT_EQ(*FitGeometry(wanted, 0), wanted);
  EXPECT_EQ(*FitGeometry(wanted, limit), wanted);
  EXPECT_EQ(FitGeometry(wanted, limit + 1)->chunk_size_bytes, 2 * kMiB);
  EXPECT_EQ(FitGeometry(wanted, 2 * limit)->chunk_size_bytes, 2 * kMiB);
  EXPECT_EQ(FitGeometry(wanted, 64 * limit)->chunk_size_bytes, kChunkSizeMax);
  const auto refused = FitGeometry(wanted, 64 * limit + 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.code(), Code::kInvalidArgument);
  EXPECT_FALSE(FitGeometry(wanted, kUint64Max));
  // 48 MiB doubled would be over the maximum.
  EXPECT_EQ(FitGeometry({8, 2, 48 * kMiB}, 64 * limit)->chunk_size_bytes, kChunkSizeMax);
  EXPECT_EQ(FitGeometry({8, 0, kMiB}, 1).code(), Code::kInvalidArgument);
}

using GeometryDeathTest = ::testing::Test;

TEST(GeometryDeathTest, AStripeHasSoManyChunks) {
  const Geometry geometry{4, 2, kMiB};
  EXPECT_DEATH((void)geometry.ChunkBytes(1, 0, 6), "chunk 6 of 4\\+2");
}

}  // namespace
}  // namespace xec

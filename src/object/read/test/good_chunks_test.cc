// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/read/good_chunks.hh"

#include <bit>
#include <numeric>

#include <gtest/gtest.h>

#include "object/padded_coding.hh"

namespace xec {
namespace {

constexpr uint32_t kData = 3, kTotal = 5;

ChunkChoice Choose(ChunkMask empty, ChunkMask wanted, ChunkMask absent) {
  std::vector<uint32_t> order(kTotal);
  std::iota(order.begin(), order.end(), 0u);
  return {kData, empty, wanted, absent, std::move(order)};
}

// Every set of wanted, absent and damaged chunks there is.
TEST(ChunkChoiceTest, NoMoreIsAskedForThanItTakesAndNothingIsGivenUpThatCanBeHad) {
  const ChunkMask all = FirstChunks(kTotal);
  for (ChunkMask wanted = 1; wanted <= all; ++wanted) {
    for (ChunkMask absent = 0; absent <= all; ++absent) {
      for (ChunkMask damaged = 0; damaged <= all; ++damaged) {
        ChunkChoice choice = Choose(0, wanted, absent);
        ChunkMask asked = 0;
        while (!choice.Done()) {
          const ChunkMask ask = choice.Ask(0);
          if (ask == 0) break;
          ASSERT_EQ(ask & (asked | absent), 0u);
          asked |= ask;
          for (uint32_t chunk = 0; chunk < kTotal; ++chunk) {
            if (!(ask & ChunkBit(chunk))) continue;
            if (damaged & ChunkBit(chunk)) choice.OnBad(chunk);
            if (!(damaged & ChunkBit(chunk))) choice.OnGood(chunk);
          }
        }
        const ChunkMask there = all & ~absent & ~damaged;
        const bool can = (wanted & ~there) == 0 || std::popcount(there) >= static_cast<int>(kData);
        ASSERT_EQ(choice.Done(), can) << wanted << " " << absent << " " << damaged;
        const int useful = std::popcount(asked & ~damaged);
        if ((wanted & ~absent) != 0) continue;
        // None of the wanted ones can be copied.
        ASSERT_EQ(can ? useful : static_cast<int>(kData), static_cast<int>(kData));
      }
    }
  }
}

TEST(ChunkChoiceTest, WhatIsThereIsCopied) {
  ChunkChoice choice = Choose(0, ChunkBit(1) | ChunkBit(4), ChunkBit(0));
  EXPECT_EQ(choice.Ask(0), ChunkBit(1) | ChunkBit(4));
  choice.OnGood(1);
  EXPECT_FALSE(choice.Done());
  choice.OnBad(4);
  EXPECT_EQ(choice.Ask(0), ChunkBit(2) | ChunkBit(3)) << "what was copied is one of k";
}

TEST(ChunkChoiceTest, OthersTakeThePlaceOfLateOnes) {
  ChunkChoice choice = Choose(0, ChunkBit(0), ChunkBit(0));
  EXPECT_EQ(choice.Ask(0), ChunkMask{0b1110});
  EXPECT_EQ(choice.Ask(0), 0u);
  EXPECT_EQ(choice.Ask(ChunkBit(2)), ChunkBit(4));
  for (const uint32_t chunk : {1u, 3u, 4u}) choice.OnGood(chunk);
  EXPECT_TRUE(choice.Done());
}

TEST(ChunkChoiceTest, ChunksWithoutBytesNeedNotBeRead) {
  ChunkChoice choice = Choose(ChunkBit(1) | ChunkBit(2), ChunkBit(0), ChunkBit(0));
  EXPECT_EQ(choice.Ask(0), ChunkBit(3));
  choice.OnGood(3);
  EXPECT_TRUE(choice.Done());
  EXPECT_TRUE(Choose(ChunkBit(2), ChunkBit(2), 0).Done());
}

// Any chunk of a stripe whose last chunks are short, from any others, with any byte wrong.
TEST(DecodesBackTest, NoWrongByteGoesUnseen) {
  const Geometry geometry{kData, kTotal - kData, 4 * kKiB};
  const ReedSolomon& codec = CodecFor(geometry);
  const std::vector<size_t> sizes = {70'000, 70'000, 123, 70'000, 70'000};
  std::vector<std::vector<std::byte>> chunks;
  for (const size_t size : sizes) {
    std::vector<std::byte>& chunk = chunks.emplace_back(size);
    for (size_t i = 0; i < size; ++i) chunk[i] = static_cast<std::byte>(i * 7 + chunks.size());
  }
  const std::vector<ByteSpan> data(chunks.begin(), chunks.begin() + kData);
  std::vector<MutableByteSpan> parity(chunks.begin() + kData, chunks.end());
  EncodePadded(codec, data, parity, sizes[0], [](size_t) {});
  for (uint32_t wanted = 0; wanted < kTotal; ++wanted) {
    for (ChunkMask present = 0; present <= FirstChunks(kTotal); ++present) {
      if ((present & ChunkBit(wanted)) || std::popcount(present) < static_cast<int>(kData)) continue;
      std::vector<ByteSpan> sources(kTotal);
      for (uint32_t i = 0; i < kTotal; ++i) {
        if (present & ChunkBit(i)) sources[i] = chunks[i];
      }
      std::vector<std::byte> made(sizes[wanted]);
      ReconstructPadded(codec, sources, present, wanted, made);
      ASSERT_EQ(made, chunks[wanted]);
      ASSERT_TRUE(DecodesBack(codec, sources, present, wanted, made)) << wanted << " " << present;
      for (const size_t at : {size_t{0}, made.size() / 2, made.size() - 1}) {
        made[at] ^= std::byte{1};
        ASSERT_FALSE(DecodesBack(codec, sources, present, wanted, made))
            << wanted << " " << present << " " << at;
        made[at] ^= std::byte{1};
      }
    }
  }
}

}  // namespace
}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// What is written is what is read, whatever the size and geometry and whichever archives are lost.
#include <gtest/gtest.h>

#include "object/test/test_store.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

// One object of this size: read whole, and pieces at every border.
void RoundTrip(TestStore& store, const Geometry& geometry, size_t size) {
  SCOPED_TRACE(
      fmt::format("{} chunks of {}, object of {}", geometry.ToString(), geometry.chunk_size_bytes, size));
  const std::string bytes = TestBytes(size, size + 1);
  const std::string path = fmt::format("/a/object {}", size);
  const Result<Committed> committed = store.Put(path, bytes);
  ASSERT_TRUE(committed) << committed.error().ToString();
  EXPECT_EQ(committed->size, size);
  EXPECT_EQ(committed->checksums.at("adler32"), fmt::format("{:08x}", Adler32(AsBytes(bytes))));
  EXPECT_EQ(committed->checksums.at("crc32c"), fmt::format("{:08x}", Crc32c(AsBytes(bytes))));

  Result<std::shared_ptr<ObjectReader>> reader = store.OpenReader(path);
  ASSERT_TRUE(reader) << reader.error().ToString();
  EXPECT_EQ((*reader)->size(), size);
  EXPECT_EQ((*reader)->version(), committed->version);
  const Result<std::string> whole = TestStore::Read(**reader, 0, size + 10);
  ASSERT_TRUE(whole) << whole.error().ToString();
  EXPECT_TRUE(*whole == bytes);
  for (const uint64_t border :
       {uint64_t{0}, geometry.chunk_size_bytes, geometry.StripeSize(), uint64_t{size}}) {
    for (const int64_t shift : {-5000, -1, 0, 1}) {
      const int64_t offset = static_cast<int64_t>(border) + shift;
      if (offset < 0) continue;
      const Result<std::string> piece = TestStore::Read(**reader, static_cast<uint64_t>(offset), 9000);
      ASSERT_TRUE(piece) << piece.error().ToString();
      const auto begin = std::min<size_t>(size, static_cast<size_t>(offset));
      EXPECT_TRUE(*piece == bytes.substr(begin, 9000)) << "at " << offset;
    }
  }
}

std::vector<size_t> InterestingSizes(const Geometry& geometry) {
  const size_t chunk = geometry.chunk_size_bytes;
  const size_t stripe = geometry.StripeSize();
  return {0, 1, 27 * 1024, chunk - 1, chunk, chunk + 1, stripe - 1, stripe, stripe + 1, 3 * stripe + 7};
}

class RoundTripTest : public testing::TestWithParam<Geometry> {};

TEST_P(RoundTripTest, AllSizes) {
  TestStore store({.geometry = GetParam()});
  for (const size_t size : InterestingSizes(GetParam())) RoundTrip(store, GetParam(), size);
}

INSTANTIATE_TEST_SUITE_P(Geometries, RoundTripTest,
                         testing::Values(Geometry{1, 1, 4 * kKiB}, Geometry{1, 2, 64 * kKiB},
                                         Geometry{2, 1, kMiB}, Geometry{4, 2, 4 * kKiB},
                                         Geometry{8, 2, 64 * kKiB}, Geometry{8, 3, 4 * kKiB},
                                         Geometry{10, 2, kMiB}, Geometry{16, 4, 64 * kKiB}),
                         [](const auto& test) {
                           return fmt::format("{}and{}chunk{}", test.param.data_chunks,
                                              test.param.parity_chunks, test.param.chunk_size_bytes);
                         });

// Checksums go on in whole pages while the bytes come as they like, here in pages of 8 KiB that neither fit
// what is copied at a time nor the end of a chunk.
TEST(RoundTripInPiecesTest, PagesThatPiecesCutAnywhere) {
  const Geometry geometry{2, 1, 16 * kMiB + 4 * kKiB};
  ASSERT_EQ(geometry.PageSize(), 8 * kKiB);
  const std::string bytes = TestBytes(geometry.StripeSize() + geometry.chunk_size_bytes + 20'000, 5);
  for (const size_t piece : {size_t{4095}, size_t{8193}, size_t{100'000}}) {
    SCOPED_TRACE(piece);
    TestStore store({.geometry = geometry});
    const Result<Committed> committed = store.Put("/o", bytes, {}, piece);
    ASSERT_TRUE(committed) << committed.error().ToString();
    EXPECT_EQ(committed->checksums.at("adler32"), fmt::format("{:08x}", Adler32(AsBytes(bytes))));
    EXPECT_EQ(committed->checksums.at("crc32c"), fmt::format("{:08x}", Crc32c(AsBytes(bytes))));
    const Result<std::shared_ptr<ObjectReader>> reader = store.OpenReader("/o");
    ASSERT_TRUE(reader) << reader.error().ToString();
    size_t chunks = 0;
    const Status verified = SyncWait((*reader)->Verify([&](const ChunkReport& report) {
      ++chunks;
      EXPECT_EQ(report.health, ChunkHealth::kGood) << report.problem;
    }));
    EXPECT_TRUE(verified) << verified.error().ToString();
    EXPECT_EQ(chunks, 6u);
    const Result<std::string> read = store.Get("/o");
    ASSERT_TRUE(read) << read.error().ToString();
    EXPECT_TRUE(*read == bytes);
  }
}

}  // namespace
}  // namespace xec

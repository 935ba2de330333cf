// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/engine/known_manifests.hh"

#include <gtest/gtest.h>

namespace xec {
namespace {

TEST(KnownManifests, KeepsEachVersionForAWhile) {
  KnownManifests known;
  const auto manifest = std::make_shared<const Manifest>();
  known.Keep("/o 1", manifest, TimePoint{});
  EXPECT_EQ(known.Find("/o 1", TimePoint{} + KnownManifests::kLifetime - Duration(1)), manifest);
  EXPECT_EQ(known.Find("/o 2", TimePoint{}), nullptr);
  EXPECT_EQ(known.Find("/o 1", TimePoint{} + KnownManifests::kLifetime), nullptr);
}

TEST(KnownManifests, HasABound) {
  KnownManifests known;
  const auto manifest = std::make_shared<const Manifest>();
  for (size_t i = 0; i <= 2 * KnownManifests::kEntriesMax; ++i) known.Keep(std::to_string(i), manifest, {});
  EXPECT_LE(manifest.use_count(), static_cast<long>(KnownManifests::kEntriesMax) + 1);
  EXPECT_EQ(known.Find(std::to_string(2 * KnownManifests::kEntriesMax), {}), manifest);
}

}  // namespace
}  // namespace xec

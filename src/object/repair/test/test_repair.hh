// SPDX-License-Identifier: LGPL-3.0-or-later
// For tests of repairs: the object /o of a TestStore.
#pragma once

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "object/repair/repair.hh"
#include "object/test/test_store.hh"
#include "runtime/sync_wait.hh"

namespace xec {

inline Result<RepairReport> Repair(TestStore& store) {
  Result<NameInfo> info = SyncWait(LookUpLive(store.engine(), TestStore::Path("/o")));
  if (!info) return info.error();
  return SyncWait(RepairObject(store.engine(), std::move(*info), {}));
}

// Chunks by health.
inline std::map<ChunkHealth, size_t> Verify(TestStore& store) {
  std::map<ChunkHealth, size_t> found;
  Result<std::shared_ptr<ObjectReader>> reader = store.OpenReader("/o");
  EXPECT_TRUE(reader);
  if (!reader) return found;
  EXPECT_TRUE(SyncWait((*reader)->Verify([&](const ChunkReport& chunk) { ++found[chunk.health]; })));
  return found;
}

inline void ExpectWhole(TestStore& store, const std::string& bytes) {
  const auto found = Verify(store);
  ASSERT_EQ(found.size(), 1u);
  ASSERT_TRUE(found.contains(ChunkHealth::kGood));
  EXPECT_GT(found.at(ChunkHealth::kGood), 0u);
  EXPECT_TRUE(*store.Get("/o") == bytes);
}

}  // namespace xec

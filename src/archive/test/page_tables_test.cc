// SPDX-License-Identifier: LGPL-3.0-or-later
#include "archive/page_tables.hh"

#include <gtest/gtest.h>

namespace xec {
namespace {

PageTables::Key KeyOf(uint32_t stripe, const std::string& object = "o") { return {object, 1, {stripe, 0}}; }

PageTables::Table TableOf(uint32_t pages) {
  auto table = std::make_shared<PageChecksumTable>();
  table->page_size_bytes = 4096;
  table->crc32c.assign(pages, pages);
  return table;
}

TEST(PageTables, KeepsWhatWasUsedLastWithinItsBound) {
  PageTables tables(10'000);
  for (uint32_t stripe = 0; stripe < 7; ++stripe) tables.Keep(KeyOf(stripe), TableOf(256));
  EXPECT_LE(tables.bytes(), 10'000u);
  EXPECT_NE(tables.Find(KeyOf(0)), nullptr);
  tables.Keep(KeyOf(7), TableOf(256));
  EXPECT_NE(tables.Find(KeyOf(0)), nullptr);
  EXPECT_EQ(tables.Find(KeyOf(1)), nullptr);
  EXPECT_NE(tables.Find(KeyOf(7)), nullptr);
  EXPECT_LE(tables.bytes(), 10'000u);
}

TEST(PageTables, ObjectsAreToldApartAndTheFirstTableStays) {
  PageTables tables;
  tables.Keep(KeyOf(1), TableOf(10));
  EXPECT_EQ(tables.Find(KeyOf(1, "p")), nullptr);
  const uint64_t bytes = tables.bytes();
  tables.Keep(KeyOf(1), TableOf(20));
  EXPECT_EQ(tables.Find(KeyOf(1))->crc32c.size(), 10u);
  EXPECT_EQ(tables.bytes(), bytes);
}

TEST(PageTables, AForgottenTableMakesRoomForAnother) {
  PageTables tables;
  tables.Keep(KeyOf(1), TableOf(10));
  tables.Forget(KeyOf(2));
  ASSERT_NE(tables.Find(KeyOf(1)), nullptr);
  tables.Forget(KeyOf(1));
  EXPECT_EQ(tables.Find(KeyOf(1)), nullptr);
  EXPECT_EQ(tables.bytes(), 0u);
  tables.Keep(KeyOf(1), TableOf(20));
  EXPECT_EQ(tables.Find(KeyOf(1))->crc32c.size(), 20u);
}

TEST(PageTables, ATableLargerThanTheBoundIsNotKept) {
  PageTables tables(1000);
  tables.Keep(KeyOf(1), TableOf(1000));
  EXPECT_EQ(tables.Find(KeyOf(1)), nullptr);
  EXPECT_EQ(tables.bytes(), 0u);
}

}  // namespace
}  // namespace xec

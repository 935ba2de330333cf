// SPDX-License-Identifier: LGPL-3.0-or-later
// Objects that the stock XrdEc client of XRootD 6.1.0 wrote are read from any k of their servers.
#include <bit>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <openssl/sha.h>

#include "base/text.hh"
#include "object/test/test_store.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

namespace fs = std::filesystem;

std::string Sha256(const std::string& bytes) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest;
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  return HexBytes(std::as_bytes(std::span(digest)));
}

nlohmann::json Fixtures() {
  std::ifstream in(fs::path(XEC_FIXTURES) / "xrdec-6.1.0" / "manifest.json");
  return nlohmann::json::parse(in);
}

// A store of twelve servers, named ds01 to ds12 in the fixtures, with the archives of one object.
struct XrdecObject {
  XrdecObject(const nlohmann::json& object, const Geometry& geometry)
      : store({.geometry = geometry, .servers = 12}),
        path("/" + object["path"].get<std::string>()),
        info{TestStore::Path(path), {}, {}, {}} {
    info.accepted.kind = Accepted::kObject;
    info.accepted.size = object["size"].get<uint64_t>();
    for (const auto& [server, attributes] : object["archives"].items()) {
      const auto member = static_cast<MemberIndex>(*ParseUint(server.substr(2)) - 1);
      info.holders.push_back(member);
      std::ifstream in(fs::path(XEC_FIXTURES) / "xrdec-6.1.0" / server / object["path"].get<std::string>(),
                       std::ios::binary);
      const std::string bytes((std::istreambuf_iterator<char>(in)), {});
      const Status created = SyncWait(
          CreateFile(store.engine().MetadataCall(), store.engine().server(member), path, bytes, false));
      EXPECT_TRUE(created);
    }
  }

  Result<std::string> Get() {
    Result<std::shared_ptr<ObjectReader>> reader = SyncWait(ObjectReader::OpenXrdec(store.engine(), info));
    if (!reader) return reader.error();
    return TestStore::Read(**reader, 0, info.accepted.size + 1);
  }

  TestStore store;
  std::string path;
  NameInfo info;
};

TEST(XrdecReaderTest, EveryFixtureFromAnyKServers) {
  size_t reads = 0;
  const nlohmann::json fixtures = Fixtures();
  for (const nlohmann::json& object : fixtures["objects"]) {
    const Geometry geometry{object["data_chunks"].get<uint32_t>(), object["parity_chunks"].get<uint32_t>(),
                            object["chunk_size"].get<uint64_t>()};
    XrdecObject xrdec(object, geometry);
    SCOPED_TRACE(xrdec.path);
    const auto holders = static_cast<uint32_t>(xrdec.info.holders.size());
    ASSERT_EQ(holders, geometry.Total());
    for (uint32_t away = 0; away < (1u << holders); ++away) {
      const auto count = static_cast<uint32_t>(std::popcount(away));
      if (count != 0 && count != geometry.parity_chunks) continue;
      for (uint32_t i = 0; i < holders; ++i) {
        xrdec.store.memory(xrdec.info.holders[i]).SetDown((away >> i) & 1);
      }
      const Result<std::string> bytes = xrdec.Get();
      ASSERT_TRUE(bytes) << bytes.error().ToString() << " away " << away;
      EXPECT_EQ(Sha256(*bytes), object["sha256"].get<std::string>()) << "away " << away;
      ++reads;
    }
  }
  EXPECT_GT(reads, 300u);
}

TEST(XrdecReaderTest, DamageIsCorrectedAndVerified) {
  const nlohmann::json fixtures = Fixtures();
  for (const nlohmann::json& object : fixtures["objects"]) {
    if (object["path"] != "4+2/three-stripes-plus-7") continue;
    XrdecObject xrdec(object, Geometry{4, 2, 64 * kKiB});
    const MemberIndex damaged = xrdec.info.holders[1];
    ASSERT_TRUE(xrdec.store.memory(damaged).Tamper(xrdec.path, [](std::string& bytes) { bytes[5000] ^= 4; }));
    const Result<std::string> bytes = xrdec.Get();
    ASSERT_TRUE(bytes) << bytes.error().ToString();
    EXPECT_EQ(Sha256(*bytes), object["sha256"].get<std::string>());

    Result<std::shared_ptr<ObjectReader>> reader =
        SyncWait(ObjectReader::OpenXrdec(xrdec.store.engine(), xrdec.info));
    size_t corrupt = 0;
    const Status status = SyncWait((*reader)->Verify([&](const ChunkReport& report) {
      if (report.health == ChunkHealth::kGood) return;
      ++corrupt;
      EXPECT_EQ(report.health, ChunkHealth::kCorrupt);
      EXPECT_EQ(report.server, damaged);
      EXPECT_EQ(report.archive_path, xrdec.path);
    }));
    ASSERT_TRUE(status) << status.error().ToString();
    EXPECT_EQ(corrupt, 1u);
    return;
  }
  FAIL() << "the fixture is missing";
}

TEST(XrdecReaderTest, AnotherGeometryIsToldInASentence) {
  const nlohmann::json fixtures = Fixtures();
  for (const nlohmann::json& object : fixtures["objects"]) {
    if (object["path"] != "4+2/stripe") continue;
    XrdecObject xrdec(object, Geometry{4, 2, 32 * kKiB});
    const Result<std::string> bytes = xrdec.Get();
    ASSERT_FALSE(bytes);
    EXPECT_EQ(bytes.code(), Code::kInvalidArgument);
    EXPECT_THAT(bytes.error().message, testing::HasSubstr("geometry"));
    return;
  }
  FAIL() << "the fixture is missing";
}

}  // namespace
}  // namespace xec

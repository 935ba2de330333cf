// SPDX-License-Identifier: LGPL-3.0-or-later
// Archives that the stock XrdEc client of XRootD 6.1.0 wrote: they parse, every member is what it should be,
// parity agrees, and the data chunks together are the object.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <openssl/sha.h>

#include "archive/test/archive_test_support.hh"
#include "archive/xrdec_attributes.hh"
#include "base/text.hh"
#include "codec/geometry.hh"
#include "codec/reed_solomon.hh"

namespace xec {
namespace {

using namespace archive_testing;
namespace fs = std::filesystem;

Bytes ReadFile(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  return ToBytes(std::string(std::istreambuf_iterator<char>(in), {}));
}

using Chunks = std::map<MemberName, Bytes>;

void CollectArchive(const fs::path& path, Chunks& chunks) {
  const Bytes archive = ReadFile(path);
  const Result<ArchiveIndex> index = ReadIndex(archive, 64);
  ASSERT_TRUE(index) << path << index.error().ToString();
  EXPECT_EQ(index->manifest, "");
  for (const ArchiveMember& member : index->members) {
    Result<Bytes> data = ReadMember(archive, member);
    ASSERT_TRUE(data) << path << data.error().ToString();
    EXPECT_TRUE(chunks.emplace(member.name, *std::move(data)).second) << path << member.name.ToString();
  }
}

void CheckStripe(const Geometry& geometry, uint64_t size, uint32_t stripe, Chunks& chunks, Bytes& object) {
  const size_t length = geometry.ChunkBytes(size, stripe, 0);
  std::vector<const std::byte*> pointers;
  for (uint32_t chunk = 0; chunk < geometry.Total(); ++chunk) {
    const auto found = chunks.find({stripe, chunk});
    ASSERT_NE(found, chunks.end()) << stripe << "." << chunk;
    Bytes& data = found->second;
    EXPECT_EQ(data.size(), geometry.ChunkBytes(size, stripe, chunk)) << stripe << "." << chunk;
    if (chunk < geometry.data_chunks) Append(object, data);
    data.resize(length);
    pointers.push_back(data.data());
  }
  EXPECT_EQ(CodecFor(geometry).Verify(pointers, length), 0u);
}

TEST(XrdecFixtures, AreWhatTheFormatSays) {
  const fs::path root = fs::path(XEC_FIXTURES) / "xrdec-6.1.0";
  const nlohmann::json manifest = nlohmann::json::parse(std::ifstream(root / "manifest.json"));
  size_t objects = 0;
  for (const nlohmann::json& entry : manifest.at("objects")) {
    SCOPED_TRACE(entry.at("path").get<std::string>());
    const Geometry geometry{entry.at("data_chunks"), entry.at("parity_chunks"), entry.at("chunk_size")};
    const uint64_t size = entry.at("size");
    Chunks chunks;
    for (const auto& [server, attributes] : entry.at("archives").items()) {
      CollectArchive(root / server / entry.at("path").get<std::string>(), chunks);
      std::map<std::string, std::string> plain;
      for (const auto& [name, value] : attributes.items()) plain[name.substr(sizeof("user.U.") - 1)] = value;
      const Result<XrdecAttributes> parsed = XrdecAttributes::Parse(plain);
      ASSERT_TRUE(parsed);
      EXPECT_EQ(parsed->file_size, size);
    }
    const uint64_t stripes = geometry.StripeCount(size);
    EXPECT_EQ(chunks.size(), stripes * geometry.Total());
    Bytes object;
    for (uint32_t stripe = 0; stripe < stripes; ++stripe) CheckStripe(geometry, size, stripe, chunks, object);
    std::array<std::byte, SHA256_DIGEST_LENGTH> digest;
    SHA256(reinterpret_cast<const unsigned char*>(object.data()), object.size(),
           reinterpret_cast<unsigned char*>(digest.data()));
    EXPECT_EQ(HexBytes(digest), entry.at("sha256").get<std::string>());
    ++objects;
  }
  EXPECT_GE(objects, 9u);
}

}  // namespace
}  // namespace xec

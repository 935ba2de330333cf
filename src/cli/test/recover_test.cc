// SPDX-License-Identifier: LGPL-3.0-or-later
// Recovery from the archives that stock XrdEc wrote, and from ours (tests/golden).
#include "cli/recover.hh"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <openssl/evp.h>

#include "base/text.hh"

namespace xec {
namespace {

namespace fs = std::filesystem;
const std::string kFixtures = std::string(XEC_SOURCE) + "/tests/fixtures/xrdec-6.1.0";

std::string Sha256(const std::string& bytes) {
  std::array<unsigned char, 32> sum{};
  EVP_Digest(bytes.data(), bytes.size(), sum.data(), nullptr, EVP_sha256(), nullptr);
  return HexBytes(std::as_bytes(std::span(sum)));
}

Result<std::string> Recover(const FoundObject& object, std::vector<std::string>* problems = nullptr) {
  std::string content;
  const Status written = WriteObject(
      object,
      [&](ByteSpan bytes) {
        content += AsText(bytes);
        return OkStatus();
      },
      [&](const std::string& problem) {
        if (problems) problems->push_back(problem);
      });
  if (!written) return written.error();
  return content;
}

TEST(RecoverTest, EveryObjectOfStockXrdecFromAnyKServers) {
  std::ifstream file(kFixtures + "/manifest.json");
  const auto manifest = nlohmann::json::parse(file);
  for (const auto& entry : manifest["objects"]) {
    const std::string path = entry["path"];
    const Geometry geometry{entry["data_chunks"], entry["parity_chunks"], entry["chunk_size"]};
    std::vector<std::string> servers;
    for (const auto& [server, attributes] : entry["archives"].items()) servers.push_back(server);
    // The first k, the last k, and all but the last: the size is told, as attributes do not survive in the
    // fixtures.
    const size_t k = geometry.data_chunks;
    for (const auto& [from, count] :
         {std::pair{size_t{0}, k}, {servers.size() - k, k}, {size_t{0}, servers.size() - 1}}) {
      std::vector<RecoveredArchive> archives;
      for (size_t i = from; i < from + count; ++i) {
        auto archive = ReadArchive(fmt::format("{}/{}/{}", kFixtures, servers[i], path));
        ASSERT_TRUE(archive) << archive.error().message;
        archives.push_back(std::move(*archive));
      }
      const auto object = XrdecObject(path, std::move(archives), geometry, entry["size"].get<uint64_t>());
      ASSERT_TRUE(object) << object.error().message;
      const auto content = Recover(*object);
      ASSERT_TRUE(content) << content.error().message;
      EXPECT_EQ(Sha256(*content), entry["sha256"].get<std::string>()) << path;
    }
  }
}

TEST(RecoverTest, TheSizeOfAnXrdecObjectComesFromItsLastStripe) {
  std::vector<RecoveredArchive> archives;
  for (const auto& server : fs::directory_iterator(kFixtures)) {
    const fs::path path = server.path() / "4+2/three-stripes-plus-7";
    if (fs::exists(path)) archives.push_back(*ReadArchive(path.string()));
  }
  const auto object = XrdecObject("x", archives, Geometry{4, 2, 64 * kKiB}, std::nullopt);
  ASSERT_TRUE(object) << object.error().message;
  EXPECT_EQ(object->size_bytes, 3u * 4 * 64 * kKiB + 7);
  EXPECT_EQ(XrdecObject("x", archives, Geometry{4, 2, 4 * kKiB}, std::nullopt).code(),
            Code::kInvalidArgument);
  EXPECT_EQ(XrdecObject("x", {}, Geometry{4, 2, 4 * kKiB}, std::nullopt).code(), Code::kDataLoss);
}

class OurArchives : public testing::Test {
 protected:
  // tests/golden/archives/FORMAT/large.0 .. large.2: one object, one archive for each lane.
  FoundObject Found(std::vector<std::string> names, const std::string& format = "format2") {
    std::vector<RecoveredArchive> archives;
    for (const std::string& name : names) {
      auto archive = ReadArchive(
          name.starts_with('/') ? name
                                : fmt::format("{}/tests/golden/archives/{}/{}", XEC_SOURCE, format, name));
      EXPECT_TRUE(archive) << archive.error().message;
      if (archive) archives.push_back(std::move(*archive));
    }
    auto objects = GroupByObject(std::move(archives));
    EXPECT_EQ(objects.size(), 1u);
    return objects.begin()->second;
  }
};

// Of golden objects, by golden_test.cc.
std::string GoldenBytes(size_t size) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>((i * 7 + i / 251) & 0xff);
  return bytes;
}

TEST_F(OurArchives, AnyKArchivesGiveTheSameBytes) {
  const std::tuple<std::string, std::string, size_t> objects[] = {{"format1", "large", 2 * 8192 + 5000},
                                                                  {"format2", "large", 2 * 8192 + 5000},
                                                                  {"format2", "parts", 2 * 12'000 + 77},
                                                                  {"format2", "run", 16 * 8192 + 100}};
  for (const auto& [format, object, size] : objects) {
    const std::vector<std::string> all = {object + ".0", object + ".1", object + ".2"};
    for (size_t lost = 0; lost <= all.size(); ++lost) {
      std::vector<std::string> names = all;
      if (lost < all.size()) names.erase(names.begin() + static_cast<std::ptrdiff_t>(lost));
      std::vector<std::string> problems;
      const auto content = Recover(Found(names, format), &problems);
      ASSERT_TRUE(content) << object << " " << content.error().message;
      EXPECT_TRUE(*content == GoldenBytes(size)) << format << " " << object << " without " << lost;
      EXPECT_TRUE(problems.empty());
    }
  }
  const auto one = Recover(Found({"large.0"}));
  ASSERT_FALSE(one);
  EXPECT_EQ(one.code(), Code::kDataLoss);
  EXPECT_THAT(one.error().message, testing::HasSubstr("stripe 0"));
}

TEST_F(OurArchives, AFlippedByteIsReplacedAndReported) {
  const FoundObject good = Found({"large.0", "large.1", "large.2"});
  const auto wanted = Recover(good);
  const std::string copy = testing::TempDir() + "recover_test_archive";
  fs::copy_file(good.archives[0].path, copy, fs::copy_options::overwrite_existing);
  {
    std::fstream file(copy, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(good.archives[0].index.members[0].data_offset));
    const int byte = file.peek();
    file.put(static_cast<char>(byte ^ 1));
  }
  std::vector<std::string> problems;
  const auto repaired = Recover(Found({copy, "large.1", "large.2"}), &problems);
  ASSERT_TRUE(repaired) << repaired.error().message;
  EXPECT_EQ(*repaired, *wanted);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_THAT(problems[0], testing::HasSubstr(copy));
  fs::remove(copy);
}

TEST(RecoverTest, NoiseIsNoArchive) {
  const std::string path = testing::TempDir() + "recover_test_noise";
  std::ofstream(path) << std::string(100000, 'x');
  EXPECT_EQ(ReadArchive(path).code(), Code::kCorruption);
  EXPECT_EQ(ReadArchive(path + "-none").code(), Code::kNotFound);
  fs::remove(path);
}

}  // namespace
}  // namespace xec

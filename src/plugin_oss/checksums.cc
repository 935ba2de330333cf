// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/checksums.hh"

#include <array>
#include <cstring>
#include <string_view>

namespace xec {
namespace {

struct Algorithm {
  const char* name;
  int bytes;
};
// The first one is the default.
constexpr std::array<Algorithm, 8> kAlgorithms = {{{"adler32", 4},
                                                   {"crc32c", 4},
                                                   {"md5", 16},
                                                   {"sha1", 20},
                                                   {"sha256", 32},
                                                   {"sha512", 64},
                                                   {"crc32", 4},
                                                   {"zcrc32", 4}}};
// XRootD makes "ask again in 5 seconds" of it.
constexpr int kAskAgain = EBUSY;

}  // namespace

// nullopt: not yet.
Result<std::optional<std::string>> Checksums::Find(const char* path, const std::string& algorithm) {
  XEC_ASSIGN_OR_RETURN(const DigestOptions options, DigestOptions::Parse(algorithm));
  XEC_ASSIGN_OR_RETURN(const auto stored, SyncWait(gateway_.store().Checksums(path)));
  const auto found = stored.find(algorithm);
  if (found != stored.end()) return std::optional<std::string>(found->second);
  XEC_ASSIGN_OR_RETURN(const VersionChecksums later, SyncWait(gateway_.store().LaterChecksums(path)));
  const auto kept = later.checksums.find(algorithm);
  if (kept != later.checksums.end()) return std::optional<std::string>(kept->second);
  return gateway_.checksum_jobs().Ask(path, later.version, algorithm, options);
}

int Checksums::Get(const char* path, XrdCksData& checksum) {
  return Guarded("checksum", [&]() -> int {
    const Result<std::optional<std::string>> found = Find(path, checksum.Name);
    if (!found) return Failed({"checksum", path, ""}, found.error());
    if (!*found) return -kAskAgain;
    if (!checksum.Set((*found)->c_str(), static_cast<int>((*found)->size()))) return -EIO;
    // XRootD compares times only to find checksums that are older than their file: ours belong to the
    // version.
    checksum.fmTime = 0;
    checksum.csTime = 0;
    return checksum.Length;
  });
}

int Checksums::Calc(const char* path, XrdCksData& checksum, int) {
  const int got = Get(path, checksum);
  return got < 0 ? got : 0;
}

int Checksums::Init(const char*, const char*) { return 1; }

char* Checksums::List(const char* path, char* buffer, int length, char separator) {
  const int listed = Guarded("checksums", [&]() -> int {
    std::string names;
    const auto add = [&](std::string_view name) {
      if (!names.empty()) names += separator;
      names += name;
    };
    if (path == nullptr) {
      for (const Algorithm& algorithm : kAlgorithms) add(algorithm.name);
    } else {
      const auto stored = SyncWait(gateway_.store().Checksums(path));
      if (!stored) return Failed({"checksums", path, ""}, stored.error());
      for (const auto& [name, value] : *stored) add(name);
      const auto later = SyncWait(gateway_.store().LaterChecksums(path));
      if (!later) return Failed({"checksums", path, ""}, later.error());
      for (const auto& [name, value] : later->checksums) add(name);
    }
    if (names.empty() || names.size() >= static_cast<size_t>(length)) return -ERANGE;
    std::memcpy(buffer, names.c_str(), names.size() + 1);
    return 0;
  });
  return listed == 0 ? buffer : nullptr;
}

const char* Checksums::Name(int sequence) {
  return sequence >= 0 && static_cast<size_t>(sequence) < kAlgorithms.size()
             ? kAlgorithms[static_cast<size_t>(sequence)].name
             : nullptr;
}

int Checksums::Size(const char* name) {
  for (const Algorithm& algorithm : kAlgorithms) {
    if (name == nullptr || std::string_view(name) == algorithm.name) return algorithm.bytes;
  }
  return 0;
}

int Checksums::Ver(const char* path, XrdCksData& checksum) {
  XrdCksData stored;
  stored.Set(checksum.Name);
  const int got = Get(path, stored);
  if (got < 0) return got;
  return stored == checksum ? 1 : 0;
}

}  // namespace xec

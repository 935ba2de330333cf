// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/checksums.hh"

#include <cstring>
#include <span>
#include <string_view>

#include "runtime/sync_wait.hh"

namespace xec {
namespace {

// XRootD makes "ask again in 5 seconds" of it.
constexpr int kAskAgain = EBUSY;

}  // namespace

Task<Result<ObjectDescription>> Checksums::DescribeObject(std::string path) {
  Result<ObjectDescription> object = co_await gateway_.store().Describe(path);
  if (object && object->info.directory) co_return Fail(Code::kIsDirectory, "{} is a directory", path);
  co_return std::move(object);
}

// nullopt: not yet.
Result<std::optional<std::string>> Checksums::Find(const char* path, const std::string& algorithm) {
  XEC_ASSIGN_OR_RETURN(const DigestOptions options, DigestOptions::Parse(algorithm));
  XEC_ASSIGN_OR_RETURN(const ObjectDescription object, SyncWait(DescribeObject(path)));
  const auto found = object.checksums.find(algorithm);
  if (found != object.checksums.end()) return std::optional<std::string>(found->second);
  return gateway_.checksum_jobs().Ask(path, object.info.version, algorithm, options);
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
      for (const ChecksumAlgorithm& algorithm : ChecksumAlgorithms()) add(algorithm.name);
    } else {
      const auto object = SyncWait(DescribeObject(path));
      if (!object) return Failed({"checksums", path, ""}, object.error());
      for (const auto& [name, value] : object->checksums) add(name);
    }
    if (names.empty() || names.size() >= static_cast<size_t>(length)) return -ERANGE;
    std::memcpy(buffer, names.c_str(), names.size() + 1);
    return 0;
  });
  return listed == 0 ? buffer : nullptr;
}

const char* Checksums::Name(int sequence) {
  const std::span<const ChecksumAlgorithm> all = ChecksumAlgorithms();
  return sequence >= 0 && static_cast<size_t>(sequence) < all.size()
             ? all[static_cast<size_t>(sequence)].name.data()
             : nullptr;
}

int Checksums::Size(const char* name) {
  for (const ChecksumAlgorithm& algorithm : ChecksumAlgorithms()) {
    if (name == nullptr || std::string_view(name) == algorithm.name) return static_cast<int>(algorithm.bytes);
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

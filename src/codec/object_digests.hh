// SPDX-License-Identifier: LGPL-3.0-or-later
// The checksums of a whole object, computed while its bytes stream by in order.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.hh"
#include "base/result.hh"
#include "codec/checksum.hh"
#include "codec/crc_combine.hh"

namespace xec {

// Which checksums besides adler32 and crc32c, which are always made. md5 and those of the SHA family each
// cost more than all the rest of a write together.
struct DigestOptions {
  bool md5 = false;
  bool sha1 = false;
  bool sha256 = false;
  bool sha512 = false;
  bool crc32 = false;   // XRootD's "crc32", the value of the command cksum; see Cksum
  bool zcrc32 = false;  // XRootD's "zcrc32", the CRC-32 of ZIP

  // From names separated by commas, e.g. "md5,sha256"; "" is none; adler32 and crc32c may be named.
  // Error: kInvalidArgument, naming the unknown word.
  static Result<DigestOptions> Parse(std::string_view names);
  // One more, by its name. Error: as Parse.
  Status Add(std::string_view name);
};

struct ChecksumAlgorithm {
  std::string_view name;
  size_t bytes = 0;  // of a value
};
// All that ObjectDigests can compute; names end with a zero. XRootD takes the first one for the default.
std::span<const ChecksumAlgorithm> ChecksumAlgorithms();

// Lower-case hex, by algorithm.
using ChecksumValues = std::map<std::string, std::string>;

// Are the bytes of `path` those whose checksums were declared? Every algorithm that was declared is among
// those that were computed, CHECKed. Error: kInvalidArgument, with both values of the first that differs.
Status CheckDeclared(std::string_view path, const ChecksumValues& declared, const ChecksumValues& computed);

// Not thread-safe; one per object being written. Movable.
class ObjectDigests {
 public:
  // Error: kUnsupported when this machine's OpenSSL policy refuses an algorithm (md5 under FIPS).
  static Result<ObjectDigests> Create(const DigestOptions& options = {});

  ObjectDigests(ObjectDigests&&) noexcept;
  ObjectDigests& operator=(ObjectDigests&&) noexcept;
  ~ObjectDigests();

  // Every byte of the object goes through exactly one of the following, in order.

  // All checksums from the bytes themselves.
  void Add(ByteSpan bytes);
  // The same, but the crc32c is put together from those of the pages of `bytes` (see PageChecksums), which
  // saves a pass over the bytes. page_crcs.size() must be ceil(bytes.size() / page_size), CHECKed. A short
  // page may only be the last of a call; further calls may follow it.
  void Add(ByteSpan bytes, std::span<const uint32_t> page_crcs, uint64_t page_size);

  // The object's length so far.
  uint64_t size_bytes() const { return size_bytes_; }

  // XRootD's names to lower-case hex, most significant digit first: "adler32", "crc32c", "crc32", "zcrc32"
  // (8 digits), "md5" (32), "sha1" (40), "sha256" (64), "sha512" (128). Call once, last.
  std::map<std::string, std::string> Finish();

 private:
  struct Evp;  // an OpenSSL digest context
  ObjectDigests();
  void AddAllButCrc32c(ByteSpan bytes);
  void AppendCrc32c(uint32_t crc, uint64_t bytes);

  uint64_t size_bytes_ = 0;
  uint32_t adler32_ = 1;
  uint32_t crc32c_ = 0;
  std::optional<Cksum> cksum_;
  std::optional<uint32_t> zcrc32_;
  std::unique_ptr<Crc32cCombiner> combiner_;  // for the page size of the last call with pages
  std::map<std::string, std::unique_ptr<Evp>> of_openssl_;  // by name
};

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "codec/object_digests.hh"

#include <algorithm>
#include <array>
#include <utility>

#include <openssl/evp.h>

#include "base/text.hh"

namespace xec {

struct ObjectDigests::Evp {
  struct Free {
    void operator()(EVP_MD_CTX* owned) const { EVP_MD_CTX_free(owned); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context;

  void Update(ByteSpan bytes) { XEC_CHECK(EVP_DigestUpdate(context.get(), bytes.data(), bytes.size()) == 1); }

  std::string Finish() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
    unsigned int size = 0;
    XEC_CHECK(EVP_DigestFinal_ex(context.get(), digest.data(), &size) == 1);
    return HexBytes(std::as_bytes(std::span(digest).first(size)));
  }

  // Error: kUnsupported when OpenSSL cannot or may not provide the algorithm.
  static Result<std::unique_ptr<Evp>> Create(const char* name) {
    auto evp = std::make_unique<Evp>();
    evp->context.reset(EVP_MD_CTX_new());
    XEC_CHECK(evp->context != nullptr, "out of memory");
    const EVP_MD* algorithm = EVP_get_digestbyname(name);
    if (algorithm == nullptr || EVP_DigestInit_ex(evp->context.get(), algorithm, nullptr) != 1) {
      return Fail(Code::kUnsupported, "OpenSSL on this machine does not provide {}", name);
    }
    return evp;
  }
};

Status DigestOptions::Add(std::string_view name) {
  if (name == "md5") {
    md5 = true;
  } else if (name == "sha1") {
    sha1 = true;
  } else if (name == "sha256") {
    sha256 = true;
  } else if (name == "sha512") {
    sha512 = true;
  } else if (name == "crc32") {
    crc32 = true;
  } else if (name == "zcrc32") {
    zcrc32 = true;
  } else if (name != "adler32" && name != "crc32c") {
    return Fail(Code::kInvalidArgument,
                "checksum '{}' is not one of adler32, crc32c, md5, sha1, sha256, sha512, crc32, zcrc32",
                name);
  }
  return OkStatus();
}

Result<DigestOptions> DigestOptions::Parse(std::string_view names) {
  DigestOptions options;
  if (Trim(names).empty()) return options;
  for (const std::string_view name : Split(names, ',')) XEC_TRY(options.Add(Trim(name)));
  return options;
}

std::span<const ChecksumAlgorithm> ChecksumAlgorithms() {
  static constexpr std::array<ChecksumAlgorithm, 8> kAll = {{{"adler32", 4},
                                                             {"crc32c", 4},
                                                             {"md5", 16},
                                                             {"sha1", 20},
                                                             {"sha256", 32},
                                                             {"sha512", 64},
                                                             {"crc32", 4},
                                                             {"zcrc32", 4}}};
  return kAll;
}

Status CheckDeclared(std::string_view path, const ChecksumValues& declared, const ChecksumValues& computed) {
  for (const auto& [algorithm, value] : declared) {
    const auto found = computed.find(algorithm);
    XEC_CHECK(found != computed.end(), "{} was declared and not computed", algorithm);
    if (found->second == value) continue;
    return Fail(Code::kInvalidArgument, "the bytes of {} have {} {}, but {} was declared", path, algorithm,
                found->second, value);
  }
  return OkStatus();
}

ObjectDigests::ObjectDigests() = default;
ObjectDigests::ObjectDigests(ObjectDigests&&) noexcept = default;
ObjectDigests& ObjectDigests::operator=(ObjectDigests&&) noexcept = default;
ObjectDigests::~ObjectDigests() = default;

Result<ObjectDigests> ObjectDigests::Create(const DigestOptions& options) {
  ObjectDigests digests;
  const std::pair<const char*, bool> of_openssl[] = {
      {"md5", options.md5}, {"sha1", options.sha1}, {"sha256", options.sha256}, {"sha512", options.sha512}};
  for (const auto& [name, wanted] : of_openssl) {
    if (wanted) {
      XEC_ASSIGN_OR_RETURN(digests.of_openssl_[name], Evp::Create(name));
    }
  }
  if (options.crc32) digests.cksum_.emplace();
  if (options.zcrc32) digests.zcrc32_ = 0;
  return digests;
}

void ObjectDigests::Add(ByteSpan bytes) {
  AppendCrc32c(Crc32c(bytes), bytes.size());
  AddAllButCrc32c(bytes);
}

void ObjectDigests::Add(ByteSpan bytes, std::span<const uint32_t> page_crcs, uint64_t page_size) {
  XEC_CHECK(page_size > 0);
  const uint64_t pages = bytes.size() / page_size + (bytes.size() % page_size != 0 ? 1 : 0);
  XEC_CHECK(page_crcs.size() == pages, "{} checksums for {} pages", page_crcs.size(), pages);
  if (!combiner_ || combiner_->second_bytes() != page_size) {
    combiner_ = std::make_unique<Crc32cCombiner>(page_size);
  }
  uint64_t rest = bytes.size();
  for (const uint32_t crc : page_crcs) {
    const uint64_t page_bytes = std::min(rest, page_size);
    AppendCrc32c(crc, page_bytes);
    rest -= page_bytes;
  }
  AddAllButCrc32c(bytes);
}

void ObjectDigests::AppendCrc32c(uint32_t crc, uint64_t bytes) {
  const bool fixed = combiner_ && combiner_->second_bytes() == bytes;
  crc32c_ = fixed ? combiner_->Combine(crc32c_, crc) : Crc32cCombine(crc32c_, crc, bytes);
}

void ObjectDigests::AddAllButCrc32c(ByteSpan bytes) {
  size_bytes_ += bytes.size();
  adler32_ = Adler32(bytes, adler32_);
  if (cksum_) cksum_->Update(bytes);
  if (zcrc32_) zcrc32_ = Crc32(bytes, *zcrc32_);
  for (const auto& [name, evp] : of_openssl_) evp->Update(bytes);
}

std::map<std::string, std::string> ObjectDigests::Finish() {
  std::map<std::string, std::string> digests{{"adler32", Hex(adler32_, 8)}, {"crc32c", Hex(crc32c_, 8)}};
  if (cksum_) digests["crc32"] = Hex(cksum_->Value(), 8);
  if (zcrc32_) digests["zcrc32"] = Hex(*zcrc32_, 8);
  for (const auto& [name, evp] : of_openssl_) digests[name] = evp->Finish();
  return digests;
}

}  // namespace xec

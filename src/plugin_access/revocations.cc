// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_access/revocations.hh"

#include <unistd.h>

#include <openssl/err.h>
#include <openssl/pem.h>

namespace xec {
namespace {

constexpr int kListsOfIssuerMax = 10;

}  // namespace

Result<RevocationList> ParseRevocationList(std::string_view text) {
  const std::unique_ptr<BIO, int (*)(BIO*)> bytes(
      BIO_new_mem_buf(text.data(), static_cast<int>(std::min(text.size(), size_t{INT32_MAX}))), BIO_free);
  X509_CRL* list = PEM_read_bio_X509_CRL(bytes.get(), nullptr, nullptr, nullptr);
  if (list == nullptr) {
    const auto* der = reinterpret_cast<const unsigned char*>(text.data());
    list = d2i_X509_CRL(nullptr, &der, static_cast<long>(text.size()));
  }
  // Of this thread; whoever looks next takes it for its own.
  ERR_clear_error();
  if (list == nullptr) return Fail(Code::kInvalidArgument, "this is no list of revoked certificates");
  return RevocationList(list, X509_CRL_free);
}

FollowedFile<RevocationList>* Revocations::FileAt(const std::string& path) {
  {
    MutexLock lock(mutex_);
    const auto found = lists_.find(path);
    if (found != lists_.end()) return found->second.get();
  }
  auto opened = FollowedFile<RevocationList>::Open(path, ParseRevocationList);
  if (!opened) {
    Log(LogLevel::kError, "access", "{}", opened.error().message);
    return nullptr;
  }
  MutexLock lock(mutex_);
  return lists_.try_emplace(path, std::move(*opened)).first->second.get();
}

bool Revocations::Has(const X509& certificate) {
  const X509_NAME* issuer = X509_get_issuer_name(&certificate);
  int hashed = 0;
  const unsigned long hash = X509_NAME_hash_ex(issuer, nullptr, nullptr, &hashed);
  if (hashed == 0) return false;
  for (int number = 0; number < kListsOfIssuerMax; ++number) {
    const std::string path = fmt::format("{}/{:08x}.r{}", folder_, hash, number);
    if (access(path.c_str(), F_OK) != 0) return false;
    FollowedFile<RevocationList>* const file = FileAt(path);
    if (file == nullptr) continue;
    const std::shared_ptr<const RevocationList> list = file->Current();
    if (X509_NAME_cmp(X509_CRL_get_issuer(list->get()), issuer) != 0) continue;
    X509_REVOKED* entry = nullptr;
    // OpenSSL takes the certificate as one that may be changed, and only reads it. 1: it is there.
    if (X509_CRL_get0_by_cert(list->get(), &entry, const_cast<X509*>(&certificate)) == 1) return true;
  }
  return false;
}

Revocations& RevocationsIn(const std::string& folder) {
  static Mutex mutex{LockRank::kLeaf};
  static auto& folders = *std::make_unique<std::map<std::string, std::unique_ptr<Revocations>>>().release();
  MutexLock lock(mutex);
  std::unique_ptr<Revocations>& revocations = folders[folder];
  if (!revocations) revocations = std::make_unique<Revocations>(folder);
  return *revocations;
}

}  // namespace xec

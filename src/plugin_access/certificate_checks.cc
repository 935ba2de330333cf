// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_access/certificate_checks.hh"

#include <atomic>
#include <dlfcn.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <XrdVersion.hh>

#include "base/log.hh"
#include "base/text.hh"
#include "plugin_access/revocations.hh"

namespace xec {
namespace {

constexpr size_t kSubjectMax = 1024;
constexpr int kAuthoritiesOfName = 10;
constexpr int kChainMax = 10;

std::string SubjectOf(const X509& certificate) {
  char text[kSubjectMax];
  X509_NAME_oneline(X509_get_subject_name(&certificate), text, sizeof text);
  return text;
}

using Certificate = std::unique_ptr<X509, void (*)(X509*)>;

Certificate ReadCertificate(BIO* bytes) {
  return {PEM_read_bio_X509(bytes, nullptr, nullptr, nullptr), X509_free};
}

// The authority of a certificate, HASH.0 to HASH.9; null if it is not in the folder.
Certificate AuthorityOf(X509& certificate, const std::string& folder) {
  for (int number = 0; number < kAuthoritiesOfName; ++number) {
    const std::string path = fmt::format("{}/{:08x}.{}", folder, X509_issuer_name_hash(&certificate), number);
    const std::unique_ptr<BIO, int (*)(BIO*)> bytes(BIO_new_file(path.c_str(), "r"), BIO_free);
    if (!bytes) break;
    Certificate authority = ReadCertificate(bytes.get());
    if (authority && X509_check_issued(authority.get(), &certificate) == X509_V_OK) return authority;
  }
  return {nullptr, X509_free};
}

// What belongs to a connection: its folder, and the callback that was there before.
struct Check {
  Revocations* revocations;
  int (*before)(int, X509_STORE_CTX*);
};

void FreeCheck(void*, void* check, CRYPTO_EX_DATA*, int, long, void*) {
  const std::unique_ptr<Check> owned(static_cast<Check*>(check));
}

int CheckIndex() {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, FreeCheck);
  return index;
}

// OpenSSL's verdict on one certificate of a client, and ours.
int OnCertificate(int good, X509_STORE_CTX* context) {
  const auto* ssl =
      static_cast<const SSL*>(X509_STORE_CTX_get_ex_data(context, SSL_get_ex_data_X509_STORE_CTX_idx()));
  const auto* check = static_cast<const Check*>(SSL_get_ex_data(ssl, CheckIndex()));
  if (check->before != nullptr) good = check->before(good, context);
  const X509* certificate = X509_STORE_CTX_get_current_cert(context);
  if (good == 0 || certificate == nullptr || !check->revocations->Has(*certificate)) return good;
  Log(LogLevel::kWarning, "access", "an https client is refused: the certificate {} is revoked",
      SubjectOf(*certificate));
  X509_STORE_CTX_set_error(context, X509_V_ERR_CERT_REVOKED);
  return 0;
}

}  // namespace

int RevocationExtractor::InitSSL(SSL* ssl, char* folder) {
  // XrdHttp asks again for a handshake that has stopped half-way.
  const bool has_it = SSL_get_ex_data(ssl, CheckIndex()) != nullptr;
  if (folder != nullptr && *folder != '\0' && !has_it) {
    auto check = std::make_unique<Check>(Check{&RevocationsIn(folder), SSL_get_verify_callback(ssl)});
    if (SSL_set_ex_data(ssl, CheckIndex(), check.get()) == 1) {
      check.release();
      // No other connection has this number, so none of its sessions is resumed: OpenSSL would check nothing.
      static std::atomic<uint64_t> connections = 0;
      const uint64_t number = ++connections;
      SSL_set_session_id_context(ssl, reinterpret_cast<const unsigned char*>(&number), sizeof number);
      SSL_set_verify(ssl, SSL_get_verify_mode(ssl), OnCertificate);
    }
  }
  return next_ == nullptr ? 0 : next_->InitSSL(ssl, folder);
}

Result<XrdHttpSecXtractor*> NextExtractor(XrdSysError* error, const char* file, std::string_view parameters) {
  parameters = Trim(parameters);
  if (parameters.empty()) return nullptr;
  const size_t blank = parameters.find(' ');
  const std::string library(parameters.substr(0, blank));
  const std::string words(blank == parameters.npos ? "" : parameters.substr(blank + 1));
  // XRootD's plug-ins have its major version in their names, and configurations do not.
  std::string versioned = library;
  if (library.ends_with(".so"))
    versioned.insert(versioned.size() - 3, fmt::format("-{}", XrdVNUMBER / 10000));
  void* opened = dlopen(versioned.c_str(), RTLD_NOW);
  if (opened == nullptr) opened = dlopen(library.c_str(), RTLD_NOW);
  if (opened == nullptr) return Fail(Code::kInvalidArgument, "http.secxtractor: {}", dlerror());
  using Make = XrdHttpSecXtractor* (*)(XrdSysError*, const char*, const char*);
  const auto make = reinterpret_cast<Make>(dlsym(opened, "XrdHttpGetSecXtractor"));
  XrdHttpSecXtractor* extractor = make == nullptr ? nullptr : make(error, file, words.c_str());
  if (extractor == nullptr)
    return Fail(Code::kInvalidArgument, "http.secxtractor: {} has none to offer", library);
  return extractor;
}

std::string RevokedOf(const XrdSecEntity& client, const std::string& folder) {
  if (client.creds == nullptr || client.credslen <= 0) return "";
  const std::unique_ptr<BIO, int (*)(BIO*)> bytes(BIO_new_mem_buf(client.creds, client.credslen), BIO_free);
  std::string revoked;
  while (revoked.empty()) {
    Certificate certificate = ReadCertificate(bytes.get());
    if (!certificate) break;
    // The client shows its own; those of authorities are here.
    for (int length = 0; certificate && revoked.empty() && length < kChainMax; ++length) {
      if (RevocationsIn(folder).Has(*certificate)) revoked = SubjectOf(*certificate);
      const bool is_root = X509_check_issued(certificate.get(), certificate.get()) == X509_V_OK;
      certificate = is_root ? Certificate(nullptr, X509_free) : AuthorityOf(*certificate, folder);
    }
  }
  ERR_clear_error();
  return revoked;
}

}  // namespace xec

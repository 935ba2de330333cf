// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_access/revocations.hh"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "plugin_access/certificate_checks.hh"

namespace xec {
namespace {

namespace fs = std::filesystem;
using Key = std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)>;
using Certificate = std::unique_ptr<X509, void (*)(X509*)>;

X509_NAME* Named(X509_NAME* name, const char* text) {
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(text), -1, -1,
                             0);
  return name;
}

class RevocationsTest : public testing::Test {
 protected:
  RevocationsTest() {
    fs::remove_all(folder_);
    fs::create_directory(folder_);
  }
  ~RevocationsTest() override { fs::remove_all(folder_); }

  // With serial numbers of 64 bits, as authorities have them.
  Certificate Make(uint64_t serial, const char* issuer = "authority") {
    Certificate certificate(X509_new(), X509_free);
    ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate.get()), serial);
    Named(X509_get_issuer_name(certificate.get()), issuer);
    Named(X509_get_subject_name(certificate.get()), "alice");
    X509_gmtime_adj(X509_getm_notBefore(certificate.get()), 0);
    X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
    X509_set_pubkey(certificate.get(), key_.get());
    X509_sign(certificate.get(), key_.get(), EVP_sha256());
    return certificate;
  }

  // A list of the authority that names the numbers, as file HASH.rNUMBER.
  void Revoke(std::initializer_list<uint64_t> serials, int number = 0, bool pem = true,
              const char* issuer = "authority") {
    const std::unique_ptr<X509_CRL, void (*)(X509_CRL*)> list(X509_CRL_new(), X509_CRL_free);
    const std::unique_ptr<X509_NAME, void (*)(X509_NAME*)> named(X509_NAME_new(), X509_NAME_free);
    X509_CRL_set_issuer_name(list.get(), Named(named.get(), issuer));
    const std::unique_ptr<ASN1_TIME, void (*)(ASN1_TIME*)> now(X509_gmtime_adj(nullptr, 0), ASN1_TIME_free);
    X509_CRL_set1_lastUpdate(list.get(), now.get());
    for (const uint64_t serial : serials) {
      X509_REVOKED* entry = X509_REVOKED_new();
      const std::unique_ptr<ASN1_INTEGER, void (*)(ASN1_INTEGER*)> value(ASN1_INTEGER_new(),
                                                                         ASN1_INTEGER_free);
      ASN1_INTEGER_set_uint64(value.get(), serial);
      X509_REVOKED_set_serialNumber(entry, value.get());
      X509_REVOKED_set_revocationDate(entry, now.get());
      X509_CRL_add0_revoked(list.get(), entry);
    }
    X509_CRL_sign(list.get(), key_.get(), EVP_sha256());
    const std::unique_ptr<X509_NAME, void (*)(X509_NAME*)> authority(X509_NAME_new(), X509_NAME_free);
    const unsigned long hash =
        X509_NAME_hash_ex(Named(authority.get(), "authority"), nullptr, nullptr, nullptr);
    const std::string path = fmt::format("{}/{:08x}.r{}", folder_, hash, number);
    FILE* file = fopen((path + ".new").c_str(), "w");
    if (pem)
      PEM_write_X509_CRL(file, list.get());
    else
      i2d_X509_CRL_fp(file, list.get());
    fclose(file);
    fs::rename(path + ".new", path);
  }

  const Key key_{EVP_EC_gen("P-256"), EVP_PKEY_free};
  const std::string folder_ = testing::TempDir() + "revocations_test";
  Revocations revocations_{folder_};
};

constexpr uint64_t kGood = 0x7123456789abcdef, kBad = 0x7123456789abcdee;

TEST_F(RevocationsTest, NamesOneOfTwoNeighbours) {
  EXPECT_FALSE(revocations_.Has(*Make(kBad))) << "without a list nothing is revoked";
  Revoke({1, kBad, 2});
  EXPECT_TRUE(revocations_.Has(*Make(kBad)));
  EXPECT_FALSE(revocations_.Has(*Make(kGood)));
  EXPECT_FALSE(revocations_.Has(*Make(kBad, "another")));
}

TEST_F(RevocationsTest, ANewListIsNoticed) {
  Revoke({1});
  EXPECT_FALSE(revocations_.Has(*Make(kBad)));
  Revoke({1, kBad});
  EXPECT_TRUE(revocations_.Has(*Make(kBad)));
}

TEST_F(RevocationsTest, SeveralListsInEitherForm) {
  Revoke({kBad}, 0, true, "another of this hash");
  Revoke({1}, 1, false);
  EXPECT_FALSE(revocations_.Has(*Make(kBad)));
  Revoke({kBad}, 2, false);
  EXPECT_TRUE(revocations_.Has(*Make(kBad)));
}

TEST_F(RevocationsTest, WhatIsNoListIsPassedOver) {
  EXPECT_FALSE(ParseRevocationList(""));
  EXPECT_FALSE(ParseRevocationList("-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n"));
  EXPECT_FALSE(ParseRevocationList(std::string(1000, '\x30')));
}

TEST_F(RevocationsTest, AChainInPem) {
  Revoke({kBad});
  XrdSecEntity client("gsi");
  EXPECT_EQ(RevokedOf(client, folder_), "");
  for (const uint64_t second : {kGood, kBad}) {
    const std::unique_ptr<BIO, int (*)(BIO*)> bytes(BIO_new(BIO_s_mem()), BIO_free);
    PEM_write_bio_X509(bytes.get(), Make(1).get());
    PEM_write_bio_X509(bytes.get(), Make(second).get());
    client.credslen = static_cast<int>(BIO_get_mem_data(bytes.get(), &client.creds));
    EXPECT_EQ(RevokedOf(client, folder_), second == kBad ? "/CN=alice" : "");
  }
}

}  // namespace
}  // namespace xec

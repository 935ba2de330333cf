// SPDX-License-Identifier: LGPL-3.0-or-later
// Where XRootD lets a plug-in look at the certificates of clients: `http.secxtractor` for https, `-authzfun`
// of gsi for root://. Both refuse the login of one that was revoked.
#pragma once

#include <string>
#include <string_view>

#include <XrdHttp/XrdHttpSecXtractor.hh>
#include <XrdSec/XrdSecEntity.hh>

#include "base/result.hh"

namespace xec {

// Refuses the handshake, so that the client hears "certificate revoked". All else is the affair of the next
// extractor, XRootD's for VOMS, if there is one.
class RevocationExtractor final : public XrdHttpSecXtractor {
 public:
  // `next` null: none. It stays for ever.
  explicit RevocationExtractor(XrdHttpSecXtractor* next) : next_(next) {}

  int GetSecData(XrdLink* link, XrdSecEntity& client, SSL* ssl) override {
    return next_ == nullptr ? 0 : next_->GetSecData(link, client, ssl);
  }
  int Init(SSL_CTX* context, int trace) override {
    return next_ == nullptr ? 0 : next_->Init(context, trace);
  }
  // `folder`: of the authorities' certificates, with their lists; null: none is trusted.
  int InitSSL(SSL* ssl, char* folder) override;
  int FreeSSL(SSL* ssl) override { return next_ == nullptr ? 0 : next_->FreeSSL(ssl); }

 private:
  XrdHttpSecXtractor* const next_;
};

// Of `parameters`, "LIBRARY WORDS" or "", the extractor of that library, which gets the words; null for "".
Result<XrdHttpSecXtractor*> NextExtractor(XrdSysError* error, const char* file, std::string_view parameters);

// Of a gsi client, whose `creds` are its certificates in PEM: a revoked one among them and their authorities
// in the folder, "SUBJECT"; "" if there is none.
std::string RevokedOf(const XrdSecEntity& client, const std::string& folder);

}  // namespace xec

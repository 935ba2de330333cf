// SPDX-License-Identifier: LGPL-3.0-or-later
// Certificates that their authority has revoked. XRootD 5.5.3 accepts them: its https asks for no list, and
// its gsi looks serial numbers up in another form than it stored them in.
#pragma once

#include <map>
#include <memory>
#include <string>

#include <openssl/x509.h>

#include "plugin_access/followed_file.hh"

namespace xec {

using RevocationList = std::shared_ptr<X509_CRL>;

// PEM or DER. Fails if it is neither.
Result<RevocationList> ParseRevocationList(std::string_view text);

// The lists of one folder, in the form of grid software and of OpenSSL: HASH.r0 to HASH.r9, HASH that of the
// issuer's name. A list that changes or comes later is noticed with the next certificate. They are trusted as
// the certificates of authorities beside them are; one that is too old still counts. Any thread.
class Revocations {
 public:
  explicit Revocations(std::string folder) : folder_(std::move(folder)) {}

  // Whether a list of its issuer names the certificate. An issuer without a list has revoked nothing.
  bool Has(const X509& certificate);

 private:
  // Null if it is no list; that is in the log.
  FollowedFile<RevocationList>* FileAt(const std::string& path);

  const std::string folder_;
  Mutex mutex_{LockRank::kLeaf};
  std::map<std::string, std::unique_ptr<FollowedFile<RevocationList>>> lists_ XEC_GUARDED_BY(mutex_);
};

// The one for a folder; there is one for each, for ever.
Revocations& RevocationsIn(const std::string& folder);

}  // namespace xec

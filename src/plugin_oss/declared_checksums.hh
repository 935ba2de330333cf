// SPDX-License-Identifier: LGPL-3.0-or-later
// The checksums that a client declares for what it uploads. It may say, in any number,
//
//   ?cks.type=adler32&cks.value=HEX                the opaque information of root://, and the query of http
//   Digest: adler32=HEX, md5=BASE64                a header of RFC 3230
//   Repr-Digest: adler=:BASE64:, sha-256=:BASE64:  a header of RFC 9530
#pragma once

#include <string_view>

#include "base/result.hh"
#include "codec/object_digests.hh"

namespace xec {

// By our names. Error: kInvalidArgument, with the word that is no checksum: of an algorithm that there is
// not, no value of it, or another value than the same client declared before.
Result<ChecksumValues> DeclaredChecksums(std::string_view opaque);

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// Tokens and macaroons for tests, without a good signature.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <openssl/evp.h>

namespace xec {

inline std::string Base64Url(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  text.resize(static_cast<size_t>(size));
  for (char& letter : text) {
    if (letter == '+') letter = '-';
    if (letter == '/') letter = '_';
  }
  return text.substr(0, text.find_last_not_of('=') + 1);
}

inline std::string TokenOf(std::string_view claims) {
  return fmt::format("{}.{}.{}", Base64Url(R"({"alg":"ES256"})"), Base64Url(claims), Base64Url("signature"));
}

inline std::string MacaroonOf(const std::vector<std::string>& packets) {
  std::string bytes;
  for (const std::string& packet : packets) bytes += fmt::format("{:04x}{}\n", packet.size() + 5, packet);
  return Base64Url(bytes);
}

}  // namespace xec

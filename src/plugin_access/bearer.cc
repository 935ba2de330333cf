// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_access/bearer.hh"

#include <nlohmann/json.hpp>
#include <openssl/evp.h>

#include "base/text.hh"

namespace xec {
namespace {

constexpr size_t kLengthDigits = 4;  // of a macaroon's packet

// Of base64url (RFC 4648), with or without padding. What OpenSSL decodes is padded and has '+' and '/'.
std::optional<std::string> DecodeBase64Url(std::string_view text) {
  if (text.size() > kMaxBearerBytes) return std::nullopt;
  std::string padded(text.substr(0, text.find_last_not_of('=') + 1));
  for (char& letter : padded) {
    if (letter == '-') letter = '+';
    if (letter == '_') letter = '/';
  }
  const size_t padding = (4 - padded.size() % 4) % 4;
  if (padded.empty() || padding == 3) return std::nullopt;
  padded.append(padding, '=');
  std::string bytes(padded.size() / 4 * 3, '\0');
  const int size =
      EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                      reinterpret_cast<const unsigned char*>(padded.data()), static_cast<int>(padded.size()));
  if (size != static_cast<int>(bytes.size())) return std::nullopt;
  bytes.erase(bytes.size() - padding);
  return bytes;
}

}  // namespace

std::optional<TokenClaims> ReadToken(std::string_view token) {
  const std::vector<std::string_view> parts = Split(token, '.');
  if (parts.size() != 3) return std::nullopt;
  const std::optional<std::string> payload = DecodeBase64Url(parts[1]);
  if (!payload) return std::nullopt;
  const nlohmann::json claims = nlohmann::json::parse(*payload, nullptr, /*allow_exceptions=*/false);
  if (!claims.is_object()) return std::nullopt;
  const auto text = [&claims](const char* name) {
    const auto claim = claims.find(name);
    return claim != claims.end() && claim->is_string() ? claim->get<std::string>() : std::string();
  };
  return TokenClaims{.issuer = text("iss"), .subject = text("sub"), .scopes = ParseScopes(text("scope"))};
}

std::optional<MacaroonClaims> ReadMacaroon(std::string_view macaroon) {
  const std::optional<std::string> bytes = DecodeBase64Url(macaroon);
  if (!bytes) return std::nullopt;
  constexpr std::string_view kCaveat = "cid ", kPath = "path:", kName = "name:";
  MacaroonClaims claims;
  bool first = true;
  for (std::string_view rest = *bytes; !rest.empty();) {
    const std::optional<uint64_t> length = ParseHex(rest.substr(0, kLengthDigits));
    if (!length || *length <= kLengthDigits || *length > rest.size()) return std::nullopt;
    std::string_view packet = rest.substr(kLengthDigits, *length - kLengthDigits);
    rest.remove_prefix(*length);
    if (packet.back() != '\n') return std::nullopt;
    packet.remove_suffix(1);
    if (!packet.starts_with(kCaveat)) continue;
    packet.remove_prefix(kCaveat.size());
    if (first && packet.starts_with(kName)) claims.name = packet.substr(kName.size());
    first = false;
    if (!packet.starts_with(kPath)) continue;
    std::optional<std::string> path = Canonical(packet.substr(kPath.size()));
    if (!path) return std::nullopt;
    claims.paths.push_back(std::move(*path));
  }
  return claims;
}

}  // namespace xec

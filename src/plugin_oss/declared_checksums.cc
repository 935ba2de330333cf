// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/declared_checksums.hh"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <span>

#include "base/text.hh"
#include "plugin_oss/opaque.hh"

namespace xec {
namespace {

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

// Null: there is no such algorithm. HTTP has names of its own for some.
const ChecksumAlgorithm* FindAlgorithm(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kOfHttp = {
      {{"adler", "adler32"},
       {"sha", "sha1"},
       {"sha-1", "sha1"},
       {"sha-256", "sha256"},
       {"sha-512", "sha512"}}};
  std::string ours = Lower(name);
  for (const auto& [theirs, known] : kOfHttp) {
    if (ours == theirs) ours = known;
  }
  for (const ChecksumAlgorithm& algorithm : ChecksumAlgorithms()) {
    if (algorithm.name == ours) return &algorithm;
  }
  return nullptr;
}

bool IsHex(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isxdigit(c) != 0; });
}

// Strict: the one text that these bytes have.
std::optional<std::vector<std::byte>> DecodeBase64(std::string_view text) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  constexpr uint32_t kBitsPerDigit = 6, kBitsPerByte = 8;
  if (text.size() % 4 != 0) return std::nullopt;
  std::string_view digits = text;
  for (int i = 0; i < 2 && digits.ends_with('='); ++i) digits.remove_suffix(1);
  std::vector<std::byte> bytes;
  uint32_t pending = 0, bits = 0;
  for (const char c : digits) {
    const size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    pending = pending << kBitsPerDigit | static_cast<uint32_t>(digit);
    bits += kBitsPerDigit;
    if (bits < kBitsPerByte) continue;
    bits -= kBitsPerByte;
    bytes.push_back(static_cast<std::byte>(pending >> bits));
    pending &= (1u << bits) - 1;
  }
  const bool one_text = pending == 0 && text.size() - digits.size() == bits / 2;
  return one_text ? std::optional(bytes) : std::nullopt;
}

enum class Form { kHex, kBase64, kEither };

// As lower-case hex. No value of the algorithms has one text in both forms: base64 of these sizes ends with
// '=', or is shorter.
std::optional<std::string> ParseValue(const ChecksumAlgorithm& algorithm, std::string_view value, Form form) {
  if (form != Form::kBase64 && value.size() == 2 * algorithm.bytes && IsHex(value)) return Lower(value);
  if (form == Form::kHex) return std::nullopt;
  const std::optional<std::vector<std::byte>> bytes = DecodeBase64(value);
  if (!bytes || bytes->size() != algorithm.bytes) return std::nullopt;
  return HexBytes(*bytes);
}

Status Declare(std::string_view name, std::string_view value, Form form, ChecksumValues& declared) {
  const ChecksumAlgorithm* algorithm = FindAlgorithm(name);
  if (algorithm == nullptr)
    return Fail(Code::kInvalidArgument, "a checksum {} was declared, which is not one of those known here",
                name);
  const std::optional<std::string> hex = ParseValue(*algorithm, value, form);
  if (!hex)
    return Fail(Code::kInvalidArgument, "'{}' was declared as {}, but is no value of it", value, name);
  const auto [known, is_new] = declared.try_emplace(std::string(algorithm->name), *hex);
  if (is_new || known->second == *hex) return OkStatus();
  return Fail(Code::kInvalidArgument, "two values were declared as {}: {} and {}", algorithm->name,
              known->second, *hex);
}

// "name=value"
Status DeclarePiece(std::string_view piece, Form form, ChecksumValues& declared) {
  const size_t equals = piece.find('=');
  if (equals == std::string_view::npos)
    return Fail(Code::kInvalidArgument, "'{}' is no checksum: it has no '='", piece);
  const std::string_view name = Trim(piece.substr(0, equals));
  std::string_view value = Trim(piece.substr(equals + 1));
  if (form == Form::kBase64) {
    if (value.size() < 2 || !value.starts_with(':') || !value.ends_with(':'))
      return Fail(Code::kInvalidArgument, "'{}' was declared as {}, but is not between colons", value, name);
    value = value.substr(1, value.size() - 2);
  }
  return Declare(name, value, form, declared);
}

}  // namespace

Result<ChecksumValues> DeclaredChecksums(std::string_view opaque) {
  ChecksumValues declared;
  const std::vector<std::string> types = OpaqueValues(opaque, "cks.type");
  const std::vector<std::string> values = OpaqueValues(opaque, "cks.value");
  if (types.size() != values.size())
    return Fail(Code::kInvalidArgument, "cks.type and cks.value belong together: there are {} and {}",
                types.size(), values.size());
  for (size_t i = 0; i < types.size(); ++i) XEC_TRY(Declare(types[i], values[i], Form::kHex, declared));
  for (const std::string& piece : OpaqueList(opaque, "xec.digest"))
    XEC_TRY(DeclarePiece(piece, Form::kEither, declared));
  for (const std::string& piece : OpaqueList(opaque, "xec.repr-digest"))
    XEC_TRY(DeclarePiece(piece, Form::kBase64, declared));
  return declared;
}

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// Bounded little-endian reading and writing of untrusted binary records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "base/check.hh"

namespace xec {

using ByteSpan = std::span<const std::byte>;
using MutableByteSpan = std::span<std::byte>;

inline std::string_view AsText(ByteSpan bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline ByteSpan AsBytes(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }

// Reads fields from the front of a span. A read past the end yields nullopt and moves nothing.
class ByteReader {
 public:
  explicit ByteReader(ByteSpan bytes) : rest_(bytes) {}

  size_t remaining() const { return rest_.size(); }

  template <typename T>
  std::optional<T> Read() {
    static_assert(std::is_unsigned_v<T>);
    if (rest_.size() < sizeof(T)) return std::nullopt;
    T value = 0;
    for (size_t i = 0; i < sizeof(T); ++i) {
      value = static_cast<T>(value | (static_cast<T>(static_cast<T>(rest_[i]) << (8 * i))));
    }
    rest_ = rest_.subspan(sizeof(T));
    return value;
  }

  std::optional<ByteSpan> Take(size_t count) {
    if (rest_.size() < count) return std::nullopt;
    const ByteSpan taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }

 private:
  ByteSpan rest_;
};

// Writes fields to the front of a span that the caller has made large enough (CHECKed).
class ByteWriter {
 public:
  explicit ByteWriter(MutableByteSpan bytes) : rest_(bytes) {}

  size_t remaining() const { return rest_.size(); }

  template <typename T>
  void Write(T value) {
    static_assert(std::is_unsigned_v<T>);
    XEC_CHECK(rest_.size() >= sizeof(T));
    for (size_t i = 0; i < sizeof(T); ++i) rest_[i] = static_cast<std::byte>((value >> (8 * i)) & 0xff);
    rest_ = rest_.subspan(sizeof(T));
  }

  void Write(ByteSpan bytes) {
    XEC_CHECK(rest_.size() >= bytes.size());
    if (!bytes.empty()) std::memcpy(rest_.data(), bytes.data(), bytes.size());
    rest_ = rest_.subspan(bytes.size());
  }

 private:
  MutableByteSpan rest_;
};

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// Result<T> and Status: how every fallible function of XEC answers. No exceptions cross a layer.
// The method names are those of std::expected, which g++ 12 lacks, so that it can replace this later.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <fmt/core.h>

#include "base/check.hh"

namespace xec {

// The closed set of error codes. Each front end maps every code in one table (errno, exit code, ...).
enum class Code {
  kNotFound,          // proved: the name does not exist
  kAlreadyExists,     // exclusive creation met an existing name
  kInvalidArgument,   // the caller's words are wrong (flag, name, configuration, offset)
  kPermissionDenied,  // a server or directory refuses us
  kIsDirectory,       // an object operation met a directory
  kNotDirectory,      // a directory operation met an object
  kNotCurrent,        // another version lives there than the one that was asked for
  kNotEmpty,          // removal of a directory that still has names in it
  kUnavailable,       // a server cannot be reached or is not what it should be; retry may help
  kDeadlineExceeded,  // no answer in time; the operation may or may not have happened
  kCancelled,         // given up by the caller or by shutdown
  kConflict,          // another writer was in the way; nothing of ours is visible; retry
  kUnknown,           // the outcome cannot be known now: "unknown, retry" (promise P4)
  kCorruption,        // one archive or chunk is bad; redundancy may still hide it
  kUnreadable,        // the server answers, but its disk cannot give or keep bytes (EIO); others may
  kDataLoss,          // fewer than k good chunks
  kNoQuorum,          // too few homes answered: "cannot tell, retry" (promise P6)
  kNoSpace,           // a server or the store is full
  kOverQuota,         // the group of the name would use more than its quota
  kUnsupported,       // not offered by this layout, server or version
  kInternal,          // a bug in XEC
};

constexpr int kCodeCount = static_cast<int>(Code::kInternal) + 1;

// Stable lower-case word for logs and --json: "not_found", and so on; only kNoQuorum is "cannot_tell".
const char* CodeName(Code code);

// True where the same call may succeed later without anybody changing anything.
bool IsRetryable(Code code);

struct [[nodiscard]] Error {
  Code code = Code::kInternal;
  std::string message;  // what, where and, where possible, what to do; texts of others may bring line ends

  // "not_found: /a does not exist"
  std::string ToString() const;
};

namespace internal {
[[noreturn, gnu::cold]] void ValueOfError(const Error& error);
[[noreturn, gnu::cold]] void ErrorOfValue();
}  // namespace internal

// A union by hand, since std::variant's copies and moves cost the compiler several times as much, in every
// file.
template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;
  Result(T value) : has_value_(true), value_(std::move(value)) {}
  Result(Error error) : has_value_(false), error_(std::move(error)) {}
  Result(const Result& other)
    requires std::is_copy_constructible_v<T>
      : has_value_(other.has_value_) {
    Construct(other);
  }
  Result(Result&& other) noexcept : has_value_(other.has_value_) { Construct(std::move(other)); }
  Result& operator=(const Result& other)
    requires std::is_copy_constructible_v<T>
  {
    return *this = Result(other);
  }
  Result& operator=(Result&& other) noexcept {
    if (this != &other) {
      Destroy();
      has_value_ = other.has_value_;
      Construct(std::move(other));
    }
    return *this;
  }
  ~Result() { Destroy(); }

  bool has_value() const { return has_value_; }
  explicit operator bool() const { return has_value(); }
  T& value() & {
    if (!has_value_) [[unlikely]]
      internal::ValueOfError(error_);
    return value_;
  }
  const T& value() const& {
    if (!has_value_) [[unlikely]]
      internal::ValueOfError(error_);
    return value_;
  }
  T&& value() && { return std::move(value()); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(value()); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const {
    if (has_value_) [[unlikely]]
      internal::ErrorOfValue();
    return error_;
  }
  Code code() const { return error().code; }

 private:
  // Like<Result> is another one, or one whose value or error may be moved from; has_value_ is its already.
  template <typename Like>
  void Construct(Like&& other) {
    if (has_value_) {
      std::construct_at(&value_, std::forward<Like>(other).value_);
    } else {
      std::construct_at(&error_, std::forward<Like>(other).error_);
    }
  }
  void Destroy() {
    if (has_value_) {
      value_.~T();
    } else {
      error_.~Error();
    }
  }

  bool has_value_;
  union {
    T value_;
    Error error_;
  };
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}
  // Whether there is a value; which one is forgotten.
  template <typename T>
  Result(const Result<T>& other) {
    if (!other) error_ = other.error();
  }

  bool has_value() const { return !error_.has_value(); }
  explicit operator bool() const { return has_value(); }
  const Error& error() const {
    if (!error_) [[unlikely]]
      internal::ErrorOfValue();
    return *error_;
  }
  Code code() const { return error().code; }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

inline Status OkStatus() { return {}; }

// Builds an Error with a formatted sentence: Fail(Code::kNotFound, "{} does not exist", path).
Error FailWith(Code code, fmt::string_view format, fmt::format_args args);
template <typename... Args>
Error Fail(Code code, fmt::format_string<Args...> format, Args&&... args) {
  return FailWith(code, format, fmt::make_format_args(args...));
}

}  // namespace xec

// Returns the error of a Result or Status expression from the enclosing function, else goes on.
#define XEC_TRY(expression)                             \
  do {                                                  \
    auto&& xec_try_status = (expression);               \
    if (!xec_try_status) return xec_try_status.error(); \
  } while (false)

#define XEC_CONCAT_INNER(a, b) a##b
#define XEC_CONCAT(a, b) XEC_CONCAT_INNER(a, b)

// XEC_ASSIGN_OR_RETURN(auto x, Compute()): declares x from the value, or returns the error.
#define XEC_ASSIGN_OR_RETURN(declaration, expression) \
  XEC_ASSIGN_OR_RETURN_INNER(XEC_CONCAT(xec_result_, __LINE__), declaration, expression)
#define XEC_ASSIGN_OR_RETURN_INNER(result, declaration, expression) \
  auto result = (expression);                                       \
  if (!result) return result.error();                               \
  declaration = std::move(result).value()

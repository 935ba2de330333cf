// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once

#include <utility>

#include "base/result.hh"

namespace xec {

// What came of one of several attempts.
template <typename T>
struct Tried {
  Tried(Result<T> came, bool worth_another = false) : result(std::move(came)), again(worth_another) {}
  Tried(Error error, bool worth_another = false) : result(std::move(error)), again(worth_another) {}

  Result<T> result;
  bool again;  // it failed, and another attempt may do better
};

}  // namespace xec

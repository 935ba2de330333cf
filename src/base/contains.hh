// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once

#include <algorithm>
#include <iterator>

namespace xec {

// Is `value` one of the elements? For short ranges: looks at one after the other.
template <typename Range, typename Value>
bool Contains(const Range& range, const Value& value) {
  return std::find(std::begin(range), std::end(range), value) != std::end(range);
}

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tree_xrootd/patience.hh"

#include <algorithm>

#include "tree_xrootd/ask_limits.hh"

namespace xec {

bool Patience::Again(bool refused, TimePoint now, TimePoint began, TimePoint deadline) {
  if (!refused) left_ = any_;
  if (!refused || !left_) return false;
  left_ = now + kRestartPause <= std::min(deadline, began + kRestartLimit);
  return left_;
}

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace xec {

using Json = nlohmann::ordered_json;

// Bytes of names that are not UTF-8 are shown as replacement characters. `indent` -1: in one line.
inline void PrintJson(const Json& json, int indent = 2) {
  fmt::print("{}\n", json.dump(indent, ' ', false, Json::error_handler_t::replace));
}

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// Paths within a data server: absolute, '/'-separated, without empty, "." and ".." parts and NUL bytes.
#pragma once

#include <string_view>

#include "base/result.hh"

namespace xec {

// OK for "/" and for every legal path; else kInvalidArgument with the path quoted.
Status CheckPath(std::string_view path);

// The directory that holds the path: "/" for "/a", "/a" for "/a/b". The path is legal and not "/".
std::string_view ParentPath(std::string_view path);

// The last part of a legal path; empty for "/".
std::string_view LastPart(std::string_view path);

}  // namespace xec

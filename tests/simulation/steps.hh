// SPDX-License-Identifier: LGPL-3.0-or-later
// Which step of the commit protocol a request is, read off its operation and the states it names.
#pragma once

#include <string>

#include "server/decorator.hh"

namespace xec::sim {

// `to`: of renames. E.g. "promote", "witness: prove", "sweep: remove file".
std::string StepOf(Operation operation, const std::string& path, const std::string& to);

// Is it the path of an archive, sealed or promoted?
bool IsArchive(const std::string& path);

}  // namespace xec::sim

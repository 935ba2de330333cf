// SPDX-License-Identifier: LGPL-3.0-or-later
// Which of the states that a server shows are of an archive of a version. Pure.
#pragma once

#include "protocol/look.hh"

namespace xec {

// Is it a seal of this version, aborted or not? An upload may be taken over as another version (layout
// xrdec): the seals of that one have it in their names.
bool IsSealOf(const State& state, const Version& version, const std::string& oid);

// The archive of this version: the promoted one, if there is one (it was repaired, and a seal beside it left
// over), else a seal; null if there is neither. It is one of `states`.
const State* ArchiveOf(const States& states, const Version& version, const std::string& oid);
bool HasArchiveOf(const States& states, const Version& version, const std::string& oid);

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "protocol/archive_states.hh"

namespace xec {

bool IsSealOf(const State& state, const Version& version, const std::string& oid) {
  const bool sealed = state.kind == StateKind::kSealed || state.kind == StateKind::kAborted;
  return sealed && state.oid == oid && (!state.version || *state.version == version);
}

const State* ArchiveOf(const States& states, const Version& version, const std::string& oid) {
  const State* archive = nullptr;
  for (const State& state : states) {
    if (state.kind == StateKind::kPromoted && state.oid == oid && state.version == version) return &state;
    if (IsSealOf(state, version, oid)) archive = &state;
  }
  return archive;
}

bool HasArchiveOf(const States& states, const Version& version, const std::string& oid) {
  return ArchiveOf(states, version, oid) != nullptr;
}

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "steps.hh"

#include "placement/store_descriptor.hh"
#include "protocol/object_path.hh"
#include "protocol/state_name.hh"

namespace xec::sim {
namespace {

std::string LastPart(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string KindWord(const std::optional<State>& state) {
  if (!state) return "other";
  switch (state->kind) {
    case StateKind::kSealed: return state->version ? "exclusive seal" : "seal";
    case StateKind::kPromoted: return "archive";
    case StateKind::kUnproved: return "witness";
    case StateKind::kWitness: return "proved witness";
    case StateKind::kDirectorySeal: return "directory seal";
    case StateKind::kDirectory: return "directory";
    case StateKind::kTombstone: return state->IsMoved() ? "moved tombstone" : "tombstone";
    case StateKind::kMoveOut: return "rename seal";
    case StateKind::kMoveIn: return "rename witness";
    case StateKind::kAborted: return "aborted seal";
    case StateKind::kAbortedOut: return "aborted rename";
    case StateKind::kAbortedDirectory: return "aborted directory seal";
    case StateKind::kAbortMark: return "abort mark";
    case StateKind::kAttributesDraft: return "attributes draft";
    case StateKind::kAttributes: return "attributes";
  }
  return "other";
}

std::string RenameStep(const std::optional<State>& from, const std::optional<State>& to) {
  if (!from || !to) return "rename: other";
  switch (to->kind) {
    case StateKind::kPromoted: return from->kind == StateKind::kPromoted ? "finish: move archive" : "promote";
    case StateKind::kWitness: return from->kind == StateKind::kMoveIn ? "finish: accept" : "witness: prove";
    case StateKind::kDirectory:
      return from->kind == StateKind::kUnproved ? "witness: prove directory" : "promote directory";
    case StateKind::kAbortedDirectory: return "fence: abort directory seal";
    case StateKind::kAborted: return "fence: abort seal";
    case StateKind::kAbortedOut: return "fence: abort rename";
    case StateKind::kTombstone: return to->IsMoved() ? "rename: commit" : "rename: retire";
    case StateKind::kAttributes: return "attributes: publish";
    default: return "rename: other";
  }
}

}  // namespace

std::string StepOf(Operation operation, const std::string& path, const std::string& to) {
  if (path.starts_with("/.xec/moves")) return "directory log: " + std::string(OperationName(operation));
  if (path == kIdentityPath) return "identity: " + std::string(OperationName(operation));
  const std::string last = LastPart(path);
  const std::optional<State> state = ParseState(last);
  const bool object_directory = last.ends_with(kObjectSuffix) || last.ends_with(kLongObjectSuffix);
  switch (operation) {
    case Operation::kRename: return RenameStep(state, ParseState(LastPart(to)));
    case Operation::kList: return object_directory ? "look" : "list folder";
    case Operation::kMakeDirectory: return "mark: " + KindWord(state);
    case Operation::kRemove: return "sweep: " + KindWord(state);
    case Operation::kRemoveDirectory:
      if (state) return "sweep: " + KindWord(state);
      return object_directory ? "remove object directory" : "remove folder";
    case Operation::kOpen:
    case Operation::kRead: return "read: " + std::string(OperationName(operation));
    // Was opened to see whether it is whole, as archives are.
    case Operation::kClose:
      if (state && state->kind == StateKind::kAborted) return "archive: close";
      [[fallthrough]];
    default: return KindWord(state) + ": " + OperationName(operation);
  }
}

bool IsArchive(const std::string& path) {
  const std::optional<State> state = ParseState(LastPart(path));
  return state && (state->kind == StateKind::kPromoted || state->kind == StateKind::kSealed);
}

}  // namespace xec::sim

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "steps.hh"

#include "placement/store_descriptor.hh"
#include "protocol/object_path.hh"
#include "protocol/state_name.hh"

namespace xec::sim {
namespace {

std::string_view LastPart(const std::string& path) {
  return std::string_view(path).substr(path.rfind('/') + 1);
}

std::string KindWord(const std::optional<State>& state) {
  if (!state) return "other";
  switch (state->kind) {
    case StateKind::kSealed: return state->version ? "exclusive seal" : "seal";
    case StateKind::kPromoted: return "archive";
    case StateKind::kUnproved: return "witness";
    case StateKind::kWitness: return "proved witness";
    case StateKind::kDirectorySeal: return "directory seal";
    case StateKind::kDirectory: return "directory";
    case StateKind::kRemovalSeal: return "removal seal";
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

bool IsPartOfWriting(Operation operation) {
  return operation == Operation::kCreate || operation == Operation::kWrite || operation == Operation::kSync ||
         operation == Operation::kClose;
}

std::string RenameStep(const std::optional<State>& from, const std::optional<State>& to) {
  if (!from || !to) return "rename: other";
  switch (to->kind) {
    case StateKind::kPromoted:
      if (from->kind == StateKind::kPromoted) return "finish: move archive";
      if (from->kind == StateKind::kUnproved) return "repair: place";
      return from->kind == StateKind::kSealed && from->version ? "promote exclusive" : "promote";
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

// Read off this request alone. `state`: what the path's last part says.
std::string StepOf(Operation operation, const std::string& path, const std::optional<State>& state,
                   const std::string& to) {
  if (path.starts_with("/.xec/moves")) return "directory log: " + std::string(OperationName(operation));
  if (path.starts_with(kDescriptorPath)) return "descriptor: " + std::string(OperationName(operation));
  if (path == kIdentityPath) return "identity: " + std::string(OperationName(operation));
  const std::string_view last = LastPart(path);
  const bool object_directory = IsObjectDirectory(path);
  switch (operation) {
    case Operation::kRename: return RenameStep(state, ParseState(LastPart(to)));
    case Operation::kList: return object_directory ? "look" : "list folder";
    case Operation::kListMany: return "look: many";
    case Operation::kMakeDirectory:
      if (object_directory) return "sync states";
      return IsLongNamePart(last) ? "mark: part of a name" : "mark: " + KindWord(state);
    case Operation::kRemove: return "sweep: " + KindWord(state);
    case Operation::kRemoveDirectory:
      if (IsLongNamePart(last)) return "sweep: part of a name";
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

}  // namespace

bool IsCopy(const std::string& step) { return step == "witness: create" || step == "mark: witness"; }

void StepNamer::EndRepair(const std::string& object_directory) {
  const auto found = repairing_.find(object_directory);
  if (found != repairing_.end()) repairing_.erase(found);
}

std::string StepNamer::OfSeal(std::string step, size_t server, Operation operation, const std::string& path) {
  const std::string object_directory = path.substr(0, path.rfind('/'));
  if (step == "exclusive seal: close") sealed_.insert(object_directory);
  if (step == "promote exclusive" || step == "sweep: exclusive seal") sealed_.erase(object_directory);
  if (!IsPartOfWriting(operation) && operation != Operation::kRead) return step;
  Upload& upload = uploads_[path];
  if (operation == Operation::kCreate && upload.written) upload.spares.insert(server);
  if (operation == Operation::kWrite) upload.written = true;
  if (operation == Operation::kRead) return upload.spares.empty() ? step : "spare: read back";
  return upload.spares.contains(server) ? "spare: " + std::string(OperationName(operation)) : step;
}

std::string StepNamer::Name(size_t server, Operation operation, const std::string& path,
                            const std::string& to) {
  const std::optional<State> state = ParseState(LastPart(path));
  std::string step = StepOf(operation, path, state, to);
  // What an exclusive creator looks at after sealing.
  if (step == "look") return sealed_.contains(path) ? "look: barrier" : step;
  if (!state) return step;
  if (state->kind == StateKind::kSealed) return OfSeal(std::move(step), server, operation, path);
  if (!repairing_.contains(path.substr(0, path.rfind('/')))) return step;
  if (state->kind == StateKind::kPromoted) {
    if (operation == Operation::kRemove) return "repair: remove archive";
    if (operation == Operation::kOpen || operation == Operation::kRead)
      return "repair: " + std::string(OperationName(operation));
  }
  const bool draft = state->kind == StateKind::kUnproved && IsPartOfWriting(operation);
  return draft ? "repair: " + std::string(OperationName(operation)) + " draft" : step;
}

bool IsObjectDirectory(const std::string& path) {
  return path.ends_with(kObjectSuffix) || path.ends_with(kLongObjectSuffix);
}

bool IsArchive(const std::string& path) {
  const std::optional<State> state = ParseState(LastPart(path));
  return state && (state->kind == StateKind::kPromoted || state->kind == StateKind::kSealed);
}

}  // namespace xec::sim

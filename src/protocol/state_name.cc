// SPDX-License-Identifier: LGPL-3.0-or-later
#include "protocol/state_name.hh"

#include <algorithm>

#include "base/check.hh"
#include "base/text.hh"

namespace xec {
namespace {

// So that marks are never taken for a number.
constexpr std::string_view kMarksPrefix = "h";

constexpr size_t kNonceBytes = 8;
// No rename's id begins like these.
constexpr std::string_view kEtagPrefix = "etag-", kSettingsPrefix = "set-";

std::string WithVersion(char letter, const State& state) {
  return state.version ? fmt::format("{}.{}.{}", letter, state.version->ToString(), state.oid)
                       : fmt::format("{}.{}", letter, state.oid);
}

// The last words of the name.
std::string GivenSuffix(const State& state) {
  const std::string& etag = state.given.etag;
  const std::string settings = FormatSettings(state.given.settings);
  return (etag.empty() ? "" : fmt::format(".{}{}", kEtagPrefix, etag)) +
         (settings.empty() ? "" : fmt::format(".{}{}", kSettingsPrefix, settings));
}

// Takes those words away, if they are behind the first `least`. nullopt: they are wrong.
std::optional<Given> TakeGiven(std::vector<std::string_view>& words, size_t least) {
  Given given;
  if (words.size() > least && words.back().starts_with(kSettingsPrefix)) {
    const auto settings = ParseSettings(words.back().substr(kSettingsPrefix.size()));
    if (!settings) return std::nullopt;
    given.settings = *settings;
    words.pop_back();
  }
  if (words.size() > least && words.back().starts_with(kEtagPrefix)) {
    given.etag = words.back().substr(kEtagPrefix.size());
    if (!IsEtag(given.etag)) return std::nullopt;
    words.pop_back();
  }
  return given;
}

bool IsOidOrDirectory(std::string_view text) { return text == kDirectoryOid || IsObjectId(text); }

// <oid> or <v>.<oid> after the letter.
std::optional<State> ParseSeal(StateKind kind, const std::vector<std::string_view>& words) {
  State state;
  state.kind = kind;
  if (words.size() == 3) {
    state.version = Version::Parse(words[1]);
    if (!state.version) return std::nullopt;
  } else if (words.size() != 2) {
    return std::nullopt;
  }
  if (!IsObjectId(words.back())) return std::nullopt;
  state.oid = words.back();
  return state;
}

// f.<v>.<oid>, g.<v>.<oid>, and x.f.<v>.<oid> without its first letter
std::optional<State> ParseDirectorySeal(StateKind kind, const std::vector<std::string_view>& words) {
  std::optional<State> state;
  if (words.size() == 3) state = ParseSeal(kind, words);
  return state && state->version->move == 0 ? state : std::nullopt;
}

std::optional<State> ParseArchive(StateKind kind, std::vector<std::string_view> words) {
  std::optional<Given> given = TakeGiven(words, 4);
  if (!given) return std::nullopt;
  const bool moved_in = kind == StateKind::kWitness && words.size() == 5;
  if ((words.size() != 4 && !moved_in) || (moved_in && !IsObjectId(words[4]))) return std::nullopt;
  State state;
  state.kind = kind;
  state.version = Version::Parse(words[1]);
  const auto size = ParseUint(words[3]);
  if (!state.version || state.version->move != 0 || !IsObjectId(words[2]) || !size) return std::nullopt;
  state.oid = words[2];
  state.size = *size;
  if (moved_in) state.origin = words[4];
  state.given = std::move(*given);
  return state;
}

std::optional<State> ParseUnproved(const std::vector<std::string_view>& words) {
  if (words.size() != 4 || !IsOidOrDirectory(words[2]) || words[3].size() != kNonceBytes ||
      !ParseHex(words[3])) {
    return std::nullopt;
  }
  State state;
  state.kind = StateKind::kUnproved;
  state.version = Version::Parse(words[1]);
  if (!state.version) return std::nullopt;
  state.oid = words[2];
  state.nonce = words[3];
  return state;
}

std::optional<State> ParseTombstone(const std::vector<std::string_view>& words) {
  if (words.size() != 2 && words.size() != 5) return std::nullopt;
  State state;
  state.kind = StateKind::kTombstone;
  state.version = Version::Parse(words[1]);
  const bool moved = words.size() == 5;
  if (!state.version || (state.version->move == 1) != moved) return std::nullopt;
  if (!moved) return state;
  state.target = Version::Parse(words[3]);
  const bool marked = words[4].starts_with(kMarksPrefix);
  if (!IsObjectId(words[2]) || !state.target || state.target->move != 0 || !marked) return std::nullopt;
  state.oid = words[2];
  state.proved = words[4].substr(kMarksPrefix.size());
  return state;
}

std::optional<State> ParseRename(StateKind kind, std::string_view rid) {
  if (!IsObjectId(rid)) return std::nullopt;
  State state;
  state.kind = kind;
  state.oid = rid;
  return state;
}

// a.<v>.<r>, a.<v>.<r>.set-<settings> and b.<v>.<r>.<nonce>
std::optional<State> ParseAttributesState(std::vector<std::string_view> words) {
  State state;
  state.kind = words[0] == "a" ? StateKind::kAttributes : StateKind::kAttributesDraft;
  const bool draft = state.kind == StateKind::kAttributesDraft;
  if (!draft && words.size() == 4 && words[3].starts_with(kSettingsPrefix)) {
    const std::string_view settings = words[3].substr(kSettingsPrefix.size());
    state.changed = settings.empty() ? Settings() : ParseSettings(settings);
    if (!state.changed) return std::nullopt;
    words.pop_back();
  }
  if (words.size() != (draft ? 4u : 3u)) return std::nullopt;
  if (draft && (words[3].size() != kNonceBytes || !ParseHex(words[3]))) return std::nullopt;
  if (draft) state.nonce = words[3];
  state.version = Version::Parse(words[1]);
  state.target = Version::Parse(words[2]);
  if (!state.version || !state.target) return std::nullopt;
  return state;
}

}  // namespace

bool State::Accepted() const {
  return kind == StateKind::kPromoted || kind == StateKind::kWitness || kind == StateKind::kDirectory ||
         kind == StateKind::kTombstone;
}

bool State::CountsElsewhere() const {
  return kind == StateKind::kPromoted || kind == StateKind::kSealed || kind == StateKind::kAborted ||
         kind == StateKind::kMoveIn;
}

bool State::IsMark() const {
  switch (kind) {
    case StateKind::kDirectorySeal:
    case StateKind::kDirectory:
    case StateKind::kRemovalSeal:
    case StateKind::kAbortedDirectory:
    case StateKind::kAbortMark: return true;
    case StateKind::kUnproved: return oid == kDirectoryOid;
    case StateKind::kTombstone: return !target && (*version != version->MoveDone() || entry_directory);
    default: return false;
  }
}

bool IsEtag(std::string_view text) {
  return !text.empty() && text.size() <= kEtagSizeMax && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  });
}

std::string FormatState(const State& state) {
  const std::string version = state.version ? state.version->ToString() : "";
  switch (state.kind) {
    case StateKind::kSealed: return WithVersion(state.version ? 'e' : 's', state);
    case StateKind::kPromoted:
      return fmt::format("p.{}.{}.{}", version, state.oid, state.size) + GivenSuffix(state);
    case StateKind::kUnproved: return fmt::format("y.{}.{}.{}", version, state.oid, state.nonce);
    case StateKind::kWitness:
      return fmt::format("w.{}.{}.{}{}{}", version, state.oid, state.size, state.origin.empty() ? "" : ".",
                         state.origin) +
             GivenSuffix(state);
    case StateKind::kDirectorySeal: return WithVersion('f', state);
    case StateKind::kDirectory: return fmt::format("d.{}", version);
    case StateKind::kRemovalSeal: return WithVersion('g', state);
    case StateKind::kTombstone:
      if (!state.target) return fmt::format("t.{}", version);
      return fmt::format("t.{}.{}.{}.{}{}", version, state.oid, state.target->ToString(), kMarksPrefix,
                         state.proved);
    case StateKind::kMoveOut: return fmt::format("r.{}", state.oid);
    case StateKind::kMoveIn: return fmt::format("q.{}", state.oid);
    case StateKind::kAbortedOut: return fmt::format("x.r.{}", state.oid);
    case StateKind::kAbortedDirectory: return "x." + WithVersion('f', state);
    case StateKind::kAborted: return WithVersion('x', state);
    case StateKind::kAbortMark: return WithVersion('m', state);
    case StateKind::kAttributesDraft:
      return fmt::format("b.{}.{}.{}", version, state.target->ToString(), state.nonce);
    case StateKind::kAttributes:
      return fmt::format("a.{}.{}", version, state.target->ToString()) +
             (state.changed ? fmt::format(".{}{}", kSettingsPrefix, FormatSettings(*state.changed)) : "");
  }
  XEC_CHECK(false, "unknown state");
  return {};
}

std::optional<State> ParseState(std::string_view entry) {
  if (entry.size() < 3 || entry[1] != '.') return std::nullopt;
  std::vector<std::string_view> words = Split(entry, '.');
  switch (entry[0]) {
    case 's': return words.size() == 2 ? ParseSeal(StateKind::kSealed, words) : std::nullopt;
    case 'e': return words.size() == 3 ? ParseSeal(StateKind::kSealed, words) : std::nullopt;
    case 'p': return ParseArchive(StateKind::kPromoted, words);
    case 'w': return ParseArchive(StateKind::kWitness, words);
    case 'y': return ParseUnproved(words);
    case 't': return ParseTombstone(words);
    case 'r': return words.size() == 2 ? ParseRename(StateKind::kMoveOut, words[1]) : std::nullopt;
    case 'q': return words.size() == 2 ? ParseRename(StateKind::kMoveIn, words[1]) : std::nullopt;
    case 'a':
    case 'b': return ParseAttributesState(words);
    case 'x':
      if (words.size() == 3 && words[1] == "r") return ParseRename(StateKind::kAbortedOut, words[2]);
      if (words[1] == "f") {
        words.erase(words.begin());
        return ParseDirectorySeal(StateKind::kAbortedDirectory, words);
      }
      return ParseSeal(StateKind::kAborted, words);
    case 'm': return ParseSeal(StateKind::kAbortMark, words);
    case 'f': return ParseDirectorySeal(StateKind::kDirectorySeal, words);
    case 'g': return ParseDirectorySeal(StateKind::kRemovalSeal, words);
    case 'd': {
      if (words.size() != 2) return std::nullopt;
      const auto version = Version::Parse(words[1]);
      if (!version || version->move != 0) return std::nullopt;
      return DirectoryState(*version);
    }
    default: return std::nullopt;
  }
}

State SealedState(std::string oid) {
  State state;
  state.kind = StateKind::kSealed;
  state.oid = std::move(oid);
  return state;
}

State ExclusiveSealedState(Version version, std::string oid) {
  State state = SealedState(std::move(oid));
  state.version = version;
  return state;
}

State PromotedState(Version version, std::string oid, uint64_t size, Given given) {
  State state = ExclusiveSealedState(version, std::move(oid));
  state.kind = StateKind::kPromoted;
  state.size = size;
  state.given = std::move(given);
  return state;
}

State WitnessState(Version version, std::string oid, uint64_t size, Given given) {
  State state = PromotedState(version, std::move(oid), size, std::move(given));
  state.kind = StateKind::kWitness;
  return state;
}

State DirectorySealState(Version version, std::string oid) {
  State state = ExclusiveSealedState(version, std::move(oid));
  state.kind = StateKind::kDirectorySeal;
  return state;
}

State DirectoryState(Version version) {
  State state;
  state.kind = StateKind::kDirectory;
  state.version = version;
  return state;
}

State RemovalSealState(Version version, std::string oid) {
  State state = DirectorySealState(version, std::move(oid));
  state.kind = StateKind::kRemovalSeal;
  return state;
}

State TombstoneState(Version version) {
  State state;
  state.kind = StateKind::kTombstone;
  state.version = version;
  return state;
}

State MoveOutState(std::string rid) {
  State state;
  state.kind = StateKind::kMoveOut;
  state.oid = std::move(rid);
  return state;
}

State MoveInState(std::string rid) {
  State state = MoveOutState(std::move(rid));
  state.kind = StateKind::kMoveIn;
  return state;
}

State MovedState(Version version, std::string rid, Version target, std::string proved) {
  State state = TombstoneState(version.Moved());
  state.oid = std::move(rid);
  state.target = target;
  state.proved = std::move(proved);
  return state;
}

State AbortedState(const State& sealed) {
  State state;
  state.kind = StateKind::kAborted;
  if (sealed.kind == StateKind::kMoveOut) state.kind = StateKind::kAbortedOut;
  if (sealed.kind == StateKind::kDirectorySeal) state.kind = StateKind::kAbortedDirectory;
  state.version = sealed.version;
  state.oid = sealed.oid;
  return state;
}

State AbortMarkState(const State& sealed) {
  State state = AbortedState(sealed);
  state.kind = StateKind::kAbortMark;
  return state;
}

}  // namespace xec

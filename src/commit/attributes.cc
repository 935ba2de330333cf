// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/attributes.hh"

#include <algorithm>

#include "archive/manifest.hh"
#include "base/failpoint.hh"
#include "base/text.hh"
#include "runtime/gather.hh"

namespace xec {
namespace {

// The limit of a manifest's attributes, and the frame around them.
constexpr size_t kAttributesBytesMax = kUserAttributesSizeMax + 1024;

bool KeepInAttributes(unsigned char c) { return c > 0x20 && c < 0x7f && c != '='; }

State AttributesState(Version version, Version revision) {
  State state;
  state.kind = StateKind::kAttributes;
  state.version = version;
  state.target = revision;
  return state;
}

// The highest revision for `version` in a listing.
std::optional<Version> HighestRevision(const States& states, const Version& version) {
  std::optional<Version> highest;
  for (const State& state : states) {
    if (state.kind == StateKind::kAttributes && state.version == version)
      highest = std::max(highest, state.target);
  }
  return highest;
}

// Writes one revision on one home: under a name of its own first, so that nobody reads half of it.
Task<Status> WriteOn(Engine& engine, MemberIndex home, ObjectPath path, Version version, Version revision,
                     std::string content) {
  State writing = AttributesState(version, revision);
  writing.kind = StateKind::kAttributesDraft;
  writing.nonce = engine.NewNonce();
  const Status named = co_await KeepLongName(engine, home, path);
  if (!named) co_return named.error();
  XEC_FAILPOINT("attributes.write");
  Status written =
      co_await CreateFile(engine.MetadataCall(), engine.server(home), StatePath(path, FormatState(writing)),
                          std::move(content), engine.SyncBeforeCommit());
  if (!written) co_return written.error();
  XEC_FAILPOINT("attributes.drafted");
  const std::string target = FormatState(AttributesState(version, revision));
  Status renamed = co_await RenameState(engine, home, path, FormatState(writing), target);
  XEC_FAILPOINT("attributes.written");
  if (!renamed && renamed.code() == Code::kAlreadyExists) {
    // Another client has written the same revision here; ours is the same text.
    const Status removed = co_await RemoveState(engine, home, path, FormatState(writing));
    (void)removed;
    co_return OkStatus();
  }
  co_return std::move(renamed);
}

// Writes a revision on a quorum of homes, leaving out those in `having`.
Task<Status> WriteOnQuorum(Engine& engine, ObjectPath path, Version version, Version revision,
                           std::string content, std::vector<MemberIndex> having) {
  const std::vector<MemberIndex> homes = engine.Homes(path);
  Gather<Status> gather(engine.scope(), engine.executor());
  for (const MemberIndex home : homes) {
    if (std::find(having.begin(), having.end(), home) == having.end()) {
      gather.Start(home, WriteOn(engine, home, path, version, revision, content));
    }
  }
  size_t written = having.size();
  bool open = false;
  while (gather.pending() > 0) {
    const auto event = co_await gather.Next();
    if (*event.value) ++written;
    open = open || OutcomeUnknown(*event.value);
  }
  if (written >= Quorum(homes.size())) co_return OkStatus();
  if (written > 0 || open)
    co_return Fail(Code::kUnknown, "too few homes of {} took the attributes; retry", path.text());
  co_return Fail(Code::kNoQuorum, "no home of {} takes attributes now; retry", path.text());
}

}  // namespace

std::string FormatAttributes(const UserAttributes& attributes) {
  std::string text = "xec-attributes 1\n";
  for (const auto& [name, value] : attributes) {
    text +=
        fmt::format("{}={}\n", PercentEncode(name, KeepInAttributes), PercentEncode(value, KeepInAttributes));
  }
  return text + "end\n";
}

Result<UserAttributes> ParseAttributes(std::string_view text) {
  const Error damaged = Fail(Code::kCorruption, "a file of user attributes is damaged");
  if (text.size() > kAttributesBytesMax || !text.ends_with("\nend\n")) return damaged;
  text.remove_suffix(5);
  const std::vector<std::string_view> lines = Split(text, '\n');
  if (lines[0] != "xec-attributes 1" || lines.size() > kUserAttributesMax + 1) return damaged;
  UserAttributes attributes;
  for (size_t i = 1; i < lines.size(); ++i) {
    const size_t equal = lines[i].find('=');
    if (equal == std::string_view::npos) return damaged;
    auto name = PercentDecode(lines[i].substr(0, equal));
    auto value = PercentDecode(lines[i].substr(equal + 1));
    if (!name || !value || name->empty()) return damaged;
    attributes.emplace(std::move(*name), std::move(*value));
  }
  return attributes;
}

Task<Result<std::optional<AttributeRevision>>> ReadAttributes(Engine& engine, NameInfo info) {
  const Version version = info.accepted.version;
  std::optional<Version> highest;
  for (const auto& [home, states] : info.listings)
    highest = std::max(highest, HighestRevision(states, version));
  if (!highest) co_return std::optional<AttributeRevision>();
  std::vector<MemberIndex> having;
  for (const auto& [home, states] : info.listings) {
    if (HighestRevision(states, version) == highest) having.push_back(home);
  }
  Error last = Fail(Code::kUnavailable, "the attributes of {} cannot be read", info.path.text());
  const std::string entry = StatePath(info.path, FormatState(AttributesState(version, *highest)));
  for (const MemberIndex home : having) {
    Result<std::string> text =
        co_await ReadFile(engine.MetadataCall(), engine.server(home), entry, kAttributesBytesMax);
    if (!text) {
      last = text.error();
      continue;
    }
    Result<UserAttributes> attributes = ParseAttributes(*text);
    if (!attributes) {
      last = attributes.error();
      continue;
    }
    // As with versions: what is on fewer homes than a quorum is rolled forward before it is told.
    if (having.size() < Quorum(engine.Homes(info.path).size())) {
      const Status rolled = co_await WriteOnQuorum(engine, info.path, version, *highest, *text, having);
      if (!rolled) co_return rolled.error();
    }
    co_return std::optional<AttributeRevision>(AttributeRevision{*highest, std::move(*attributes)});
  }
  co_return last;
}

Task<Status> WriteAttributes(Engine& engine, NameInfo info, std::optional<Version> previous,
                             UserAttributes attributes) {
  Status fits = CheckUserAttributes(attributes);
  if (!fits) co_return fits.error();
  Result<Version> revision = engine.NextVersion(previous);
  if (!revision) co_return revision.error();
  co_return co_await WriteOnQuorum(engine, info.path, info.accepted.version, *revision,
                                   FormatAttributes(attributes), {});
}

Task<Status> CopyAttributes(Engine& engine, ObjectPath to, Version to_version, AttributeRevision revision) {
  std::vector<MemberIndex> nowhere;
  co_return co_await WriteOnQuorum(engine, to, to_version, revision.revision,
                                   FormatAttributes(revision.attributes), std::move(nowhere));
}

}  // namespace xec

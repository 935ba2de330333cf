// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/steps/attribute_files.hh"

#include "base/contains.hh"
#include "base/failpoint.hh"

namespace xec {
namespace {

// Writes one revision on one home, first under a name of its own, so that nobody reads half of it.
Task<Status> WriteOn(Engine& engine, MemberIndex home, ObjectPath path, State file, std::string content) {
  State writing = file;
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
  Status renamed = co_await RenameState(engine, home, path, FormatState(writing), FormatState(file));
  XEC_FAILPOINT("attributes.written");
  if (!renamed && renamed.code() == Code::kAlreadyExists) {
    // Another client has written the same revision here; ours is the same text.
    const Status removed = co_await RemoveState(engine, home, path, FormatState(writing));
    (void)removed;
    co_return OkStatus();
  }
  co_return std::move(renamed);
}

// A larger one arises when many clients set attributes at once.
Task<Result<std::string>> ReadSetFile(Engine& engine, MemberIndex home, std::string entry) {
  Result<std::string> text =
      co_await ReadFile(engine.MetadataCall(), engine.server(home), entry, kAttributeSetBytesUsual);
  if (!text && text.code() == Code::kCorruption)
    text = co_await ReadFile(engine.MetadataCall(), engine.server(home), entry, kAttributeSetBytesMax);
  co_return std::move(text);
}

}  // namespace

State RevisionFile(Version version, Version revision, const AttributeSet& set) {
  State file;
  file.kind = StateKind::kAttributes;
  file.version = version;
  file.target = revision;
  file.changed = SettingsIn(set.Values());
  return file;
}

Task<Result<std::vector<MemberIndex>>> WriteOnQuorum(Engine& engine, ObjectPath path, State file,
                                                     std::string content, std::vector<MemberIndex> having) {
  const Homes homes = engine.Homes(path);
  ServerGather<Status> gather(engine, RequestKind::kSync);
  for (const MemberIndex home : homes) {
    if (!Contains(having, home)) {
      gather.Start(home, WriteOn(engine, home, path, file, content));
    }
  }
  bool open = false;
  while (gather.pending() > 0 && (having.size() < homes.quorum() || gather.timely() > 0)) {
    const auto event = co_await gather.Next();
    if (!event.value) continue;
    if (*event.value) having.push_back(event.member);
    open = open || OutcomeUnknown(*event.value);
  }
  if (having.size() >= homes.quorum()) co_return std::move(having);
  if (!having.empty() || open)
    co_return Fail(Code::kUnknown, "too few homes of {} took the attributes; retry", path.text());
  co_return Fail(Code::kNoQuorum, "no home of {} takes attributes now; retry", path.text());
}

std::vector<ShownRevision> RevisionsShown(const std::map<MemberIndex, States>& listings,
                                          const Version& version) {
  std::map<std::string, ShownRevision, std::greater<>> shown;  // by name, which sorts as the revision does
  for (const auto& [home, states] : listings) {
    for (const State& state : states) {
      if (state.kind != StateKind::kAttributes || state.version != version) continue;
      ShownRevision& revision = shown[FormatState(state)];
      revision.file = state;
      revision.homes.push_back(home);
    }
  }
  std::vector<ShownRevision> revisions;
  for (auto& [name, revision] : shown) revisions.push_back(std::move(revision));
  return revisions;
}

Task<Result<AttributeSet>> ReadRevision(Engine& engine, ObjectPath path, ShownRevision shown,
                                        Late late_ones) {
  Error last = Fail(Code::kUnavailable, "the attributes of {} cannot be read", path.text());
  const std::string entry = StatePath(path, FormatState(shown.file));
  std::optional<AttributeSet> found;
  const bool read = co_await AskInTurn<Result<std::string>>(
      engine, std::move(shown.homes), [&](MemberIndex home) { return ReadSetFile(engine, home, entry); },
      [&](MemberIndex, const Result<std::string>& text) {
        Result<AttributeSet> set = text ? AttributeSet::Parse(*text) : Result<AttributeSet>(text.error());
        if (set) {
          found = std::move(*set);
        } else {
          last = set.error();
        }
        return found.has_value();
      },
      UnlessTooMany(engine, late_ones));
  if (read) co_return std::move(*found);
  // A later revision has taken its place since. Only a look-up may say that the object does not exist.
  if (last.code == Code::kNotFound)
    co_return Fail(Code::kConflict, "the attributes of {} were changed while they were read; retry",
                   path.text());
  co_return last;
}

Task<void> RemoveRevisions(Engine& engine, ObjectPath path, std::vector<State> files,
                           std::vector<MemberIndex> homes) {
  for (const State& file : files) {
    const std::string entry = FormatState(file);
    ServerGather<Status> removals(engine);
    for (const MemberIndex home : homes) removals.Start(home, RemoveState(engine, home, path, entry));
    while (removals.timely() > 0) co_await removals.Next();
  }
}

}  // namespace xec

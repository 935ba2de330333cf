// SPDX-License-Identifier: LGPL-3.0-or-later
// The requests of the commit protocol: each function is one request on one server, in the words of states.
#pragma once

#include "commit/engine/server_gather.hh"
#include "protocol/look.hh"

namespace xec {

// Lists a directory of a data server; a missing one is empty, also where a stray file took its place. Error
// also when the list of members is not in force any more.
Task<Result<std::vector<Entry>>> ListOrEmpty(Engine& engine, MemberIndex member, std::string directory);

// Lists the object directory of `path`; a missing one is an empty list. Entries that are no states are left
// out. Error also when the list of members is not in force any more.
Task<Result<States>> ListStates(Engine& engine, MemberIndex member, ObjectPath path);
// The same; nullopt: there is no object directory.
Task<Result<std::optional<States>>> ListStatesIfThere(Engine& engine, MemberIndex member, ObjectPath path);

// The same for many names at once, each server asked once for all those wanted of it: what the servers said
// of each name; nullopt: it has no object directory. A server that fails for any one of them, or is late, has
// said nothing. `least`: as of ServerGather. Nobody is waited for longer than `most`.
using NamesByServer = std::map<MemberIndex, std::vector<ObjectPath>>;
using StatesByName = std::map<ObjectPath, std::map<MemberIndex, std::optional<States>>>;
Task<StatesByName> ListManyStates(Engine& engine, NamesByServer wanted, Duration least = {},
                                  Duration most = Duration::max());

// Renames, removes or makes one entry of the object directory.
Task<Status> RenameState(Engine& engine, MemberIndex member, ObjectPath path, std::string from,
                         std::string to);
Task<Status> RemoveState(Engine& engine, MemberIndex member, ObjectPath path, std::string entry);
Task<Status> MakeMark(Engine& engine, MemberIndex member, ObjectPath path, std::string entry);
Task<Status> RemoveMark(Engine& engine, MemberIndex member, ObjectPath path, std::string entry);

// Makes the entries that keep a shortened name (no request for ordinary names). Needed before something is
// made in the object directory, so that it never is there without its name, and again after that: a cleaner
// that has not seen it yet may have removed the name meanwhile.
Task<Status> KeepLongName(Engine& engine, MemberIndex member, ObjectPath path);

// MakeMark with the name before and after it.
Task<Status> MakeNamedMark(Engine& engine, MemberIndex member, ObjectPath path, std::string entry);

// Makes durable, where that is asked for, what a listing of the object directory has shown: a state seen
// there may be somebody else's change of just now, or one of ours whose answer was lost.
Task<Status> SyncStates(Engine& engine, MemberIndex member, ObjectPath path);

// Makes durable, where that is asked for, that homes accept `goal` or something higher. True: a quorum of
// them does for good. `late_ones`: the homes that are late. False also when it took too long. Of a moved
// tombstone KeepMoved asks for more.
Task<bool> DurableOnQuorum(Engine& engine, ObjectPath path, Accepted goal, Late late_ones);

// Path of an entry of the object directory on a server.
std::string StatePath(const ObjectPath& path, std::string_view entry);

// The homes in the order in which to change them: as many of `preferred` as are well first.
std::vector<MemberIndex> HomesFrom(const Engine& engine, const ObjectPath& path,
                                   std::vector<MemberIndex> preferred);

// Did the reply leave open whether the request was, or will be, executed?
bool OutcomeUnknown(const Status& status);

// A round of requests to homes takes no longer where it counts, even if one of them does not answer until its
// deadline, and another one is asked in its place.
constexpr Duration kRoundSlack = std::chrono::seconds(2);
inline Duration LongestRound(const Engine& engine) { return engine.options().metadata_timeout + kRoundSlack; }

// What homes said or took from `begun` until `enough_at` makes no quorum together: this process was stopped
// meanwhile, or servers are that slow. Whoever compares the disk of a home that has lost it waits for as long
// before (docs/protocol/disks.md), so in a shorter time no home can have lost what it told and count again.
bool TookTooLong(const Engine& engine, TimePoint begun, TimePoint enough_at);
inline bool TookTooLong(const Engine& engine, TimePoint begun) {
  return TookTooLong(engine, begun, engine.executor().Now());
}

// Asks homes for their states: a quorum, with further homes in place of those that fail or are late; or all
// of them, without waiting for late ones once a quorum was heard.
enum class LookWidth { kQuorum, kAll };
// `least`: as of ServerGather.
Task<Look> LookAt(Engine& engine, ObjectPath path, LookWidth width, Duration least = {});

// Those of look.FirstHomesNotHeard() that are only asked last until they are trusted again, or were late this
// once. They are asked before another home is made to accept what they may have: a question costs less than a
// witness. Not those that are slow: they would be waited for again and again.
std::vector<MemberIndex> PassedOver(const Engine& engine, const Look& look);
// The look, with what they say within a moment.
Task<Look> AskPassedOver(Engine& engine, ObjectPath path, Look look);

// The error "cannot tell, retry" of a name too few of whose homes answered, or whose homes may be others.
Error CannotTell(const Engine& engine, const ObjectPath& path, const Look& look);

}  // namespace xec

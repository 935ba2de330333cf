// SPDX-License-Identifier: LGPL-3.0-or-later
// FINISH: what every client does that meets a moved tombstone `t.<v1>m.<rid>.<b>.<mask>`
// (docs/protocol/rename.md, FINISH). A rename is a put of that tombstone at its source and a put of a witness
// at its target, both sealed first.
#pragma once

#include "commit/steps/move_record.hh"

namespace xec {

// May a power cut still take the tombstone back? Not from the client that promoted it. One that has only seen
// it makes it durable before the new name accepts anything: else the object would be under both names.
enum class Tombstone { kSeen, kDurable };

// F1: the new name accepts the moved version, or something higher, on a quorum of its homes. `moved` or
// something higher is accepted on a quorum of homes of `from`. Idempotent; any number of clients may do it at
// once. Error: kNoQuorum ("cannot tell, retry").
Task<Status> FinishTarget(Engine& engine, ObjectPath from, Accepted moved, Tombstone tombstone);

// F1 of every moved tombstone in the listings: what readers, removers and renamers owe before they answer.
// `holders`: a quorum of homes that accept `highest`. A caller that looks again after kNoQuorum need not wait
// for late ones.
Task<Status> FinishMovesShown(Engine& engine, ObjectPath from, std::map<MemberIndex, States> listings,
                              Accepted highest, std::vector<MemberIndex> holders, Late late_ones);

// Makes durable, where that is asked for, that a quorum of the homes of `from` has the moved tombstone
// itself, or the mark that its move is complete beside something higher. What is higher hides the tombstone,
// but does not tell where its version went: homes that have only that, or nothing, get a copy. True: a quorum
// has it. `late_ones`: the homes that are late. False also when it took too long.
Task<bool> KeepMoved(Engine& engine, ObjectPath from, Accepted moved, Late late_ones);

// F2: the archives of the moved version follow, on every server that may have one; only after F1, and when
// the tombstone is durable. Answers on how many of them nothing is left to move. `servers`: see
// ServersOfMove.
Task<size_t> MoveArchives(Engine& engine, ObjectPath from, Accepted moved, MoveRecord record,
                          std::vector<MemberIndex> servers);

// F2 on one home of what has moved away of the upload `oid`: what looks like another upload there may be the
// seal of a version that has moved, left on a home that was away.
Task<void> BringFrom(Engine& engine, ObjectPath from, std::vector<Accepted> moves, std::string oid,
                     MemberIndex home);

// The homes of the old name and the servers of the version.
std::vector<MemberIndex> ServersOfMove(const Engine& engine, const ObjectPath& from,
                                       const MoveRecord& record);

// The name from which the rename `rid` moved in: read from its seal or witness in the listings of `path`.
// nullopt if none of those listed is whole: its writer died over them. Error: kUnavailable, when one could
// not be read now.
Task<Result<std::optional<ObjectPath>>> ReadOrigin(Engine& engine, ObjectPath path,
                                                   std::map<MemberIndex, States> listings, std::string rid);

}  // namespace xec

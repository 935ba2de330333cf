// SPDX-License-Identifier: LGPL-3.0-or-later
// Objects that are open, to be read or to be written.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/call_options.hh"
#include "base/bytes.hh"
#include "base/result.hh"
#include "codec/object_digests.hh"
#include "protocol/settings.hh"
#include "protocol/version.hh"
#include "runtime/task.hh"

namespace xec {

struct ReadPiece {
  uint64_t offset = 0;
  MutableByteSpan into;
};

// One open version. Thread-safe: any number of reads may run at once. It keeps reading its version while the
// name is replaced, renamed or removed (promise P3).
class ReadHandle {
 public:
  virtual ~ReadHandle() = default;

  virtual uint64_t size() const = 0;
  virtual const Version& version() const = 0;
  // Of the version, as they were known when it was opened.
  virtual const Settings& settings() const = 0;

  // Reads up to into.size() bytes at `offset`; short only at the end of the object. Every byte is verified by
  // its page checksum (or the member's CRC32); what is missing, corrupt or late is decoded from the rest. The
  // caller keeps `into` until the task ends, and a limited call reads into memory of its own first. Errors:
  // kDataLoss naming object, stripe and servers; kNoQuorum or kUnavailable when too few servers answer;
  // kInvalidArgument when the geometry exceeds the memory budget; those of CallOptions.
  virtual Task<Result<uint64_t>> Read(uint64_t offset, MutableByteSpan into, CallOptions call = {}) = 0;

  // Reads all pieces, which lie within the object, in any order, as Read does; with few requests, and only
  // the pages that are needed. Nothing is fetched ahead. Errors: those of Read; kInvalidArgument for a piece
  // beyond the end. After an error the memory of all pieces is undefined.
  virtual Task<Status> ReadVector(std::vector<ReadPiece> pieces, CallOptions call = {}) = 0;
};

// An object that is no longer under its name, as the change saw it. Another change of the same moment may
// have seen the same one.
struct ObjectGone {
  Version version;
  uint64_t size = 0;  // bytes
};

// Under which condition something is changed; none: whatever is there. What does not hold is an error, and
// nothing is changed then.
struct OnlyIf {
  bool absent = false;  // nothing lives there, else kAlreadyExists
  // This one lives there, else kNotCurrent. Of several that replace it one wins. A client that removes it or
  // renames it away at the same moment may be told that it is done as well; what replaced it stands then.
  std::optional<Version> version;
  // No condition: Stat has told the caller, while its client waited already, that this one lives there. A
  // removal of an object then need not look again; what has replaced it since stands.
  std::optional<ObjectGone> seen = {};

  static OnlyIf Absent() { return {true, {}}; }
  static OnlyIf Current(Version version) { return {false, version}; }
};

struct WriteOptions {
  OnlyIf only_if;  // promise P3: of several only one wins
  std::optional<uint64_t> size_hint;  // announced; another size is kInvalidArgument, at Commit at the latest
  DigestOptions digests;  // beyond adler32 and crc32c
  // What the bytes must have, in lower-case hex; these are computed as well. An algorithm that there is not
  // is kInvalidArgument at Create, another value kInvalidArgument at Commit: nothing becomes visible then.
  ChecksumValues declared_checksums;
  std::map<std::string, std::string> attributes;  // user attributes
  Settings settings;
  size_t archives_min = 0;  // min-redundancy: 0 = all k+m
  // What the front end holds itself for the upload, counted in the budget as long as the upload has its
  // place, if the budget is at least a hundred times as much.
  uint64_t bytes_beside = 0;
};

struct Committed {
  Version version;
  uint64_t size = 0;
  std::map<std::string, std::string> checksums;
  std::optional<ObjectGone> replaced = {};  // whose place it takes
  std::vector<uint32_t> debts;  // lanes that no server took, ascending: redundancy that the object lacks
};

// So long a reservation is kept for a client that has to come back (WriteHandle::Reserve).
constexpr Duration kReservationMax = std::chrono::seconds(15);

// One object being written: Append as often as there are bytes, never for an empty object; then Commit, or
// Abandon where the source of the bytes has failed. What was appended can be read back. Calls are made one
// after another by one owner (awaited before the next), from any thread. After an error of Append only
// Abandon and the destructor may be called.
class WriteHandle {
 public:
  virtual ~WriteHandle() = default;

  // Bytes accepted so far.
  virtual uint64_t size() const = 0;

  // Optional. Waits in line for the memory of the first stripe before any byte is there, so that a front end
  // can tell its client to come back rather than let a request hang; and for its place among the uploads
  // under way, without which Append waits until others end. What is not used within kReservationMax is given
  // back. Errors: as Append.
  virtual Task<Status> Reserve(CallOptions call = {}) = 0;
  // After Reserve, once, when the client has come: keeps the place until the end, or for a while if no byte
  // follows. False: it was given back.
  virtual bool KeepPlace() = 0;

  // Appends, if there are any. The bytes are read before the task ends; a limited call copies them first.
  // Waits for memory (in order, promise P7). Errors: kNoSpace, kUnavailable (fewer good archives than
  // archives_min), kInvalidArgument (beyond the largest size); of an exclusive creation, with the first byte
  // after the first stripe, those of Store::Create, and kConflict (this process was silent too long); those
  // of CallOptions.
  virtual Task<Status> Append(ByteSpan bytes, CallOptions call = {}) = 0;

  // The user attributes that the version will have, in place of those of its options. Before Commit. Error:
  // kInvalidArgument (too many, too large); those of before are kept then.
  virtual Status SetUserAttributes(std::map<std::string, std::string> attributes) = 0;

  // The settings that the version will have, in place of those of its options. Before Commit.
  virtual void SetSettings(Settings settings) = 0;

  // Is everything that was appended still in memory?
  virtual bool AllInMemory() const = 0;

  // Sends what is left and gives memory and place back; the announced size may be missed. After it only
  // ReadBack, Commit, Abandon and the destructor may be called, the first within
  // EngineOptions::upload_grace. Errors: as Append.
  virtual Task<Status> EndStream(CallOptions call = {}) = 0;

  // Reads what was appended, up to into.size() bytes; short only at the end. After EndStream, or as long as
  // AllInMemory. A limited call reads into memory of its own first. Every byte is verified; what cannot be
  // read is decoded from the rest. Errors: kUnavailable, naming the servers.
  virtual Task<Result<uint64_t>> ReadBack(uint64_t offset, MutableByteSpan into, CallOptions call = {}) = 0;

  // Seals all archives and commits the version. OK means promises P1 and P10. On kUnknown, and errors of
  // CallOptions, the outcome is open. After it, whatever it answers, only the destructor may be called.
  virtual Task<Result<Committed>> Commit(CallOptions call = {}) = 0;

  // Gives the upload up; nothing becomes visible. Its archives are removed from servers that answer; empty
  // object directories stay for the cleaner. Also done, in the background, when a handle is destroyed without
  // Commit.
  virtual Task<void> Abandon() = 0;
};

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// ObjectWriter: streams one object into sealed archives and commits it. See ARCHITECTURE.md, "Life of a
// write".
#pragma once

#include <map>
#include <memory>

#include "api/handles.hh"
#include "commit/programs/put.hh"

namespace xec {

// One object being written. Calls are made one after another by one owner (awaited before the next), from any
// thread. Payload is copied once, from the caller into the stripe's buffer; encoding, checksums and requests
// work on views of that buffer. At most options.stripes_in_flight stripes are on their way; Append waits for
// memory (in order, promise P7) and for the oldest stripe.
class ObjectWriter {
 public:
  // `parent`: what has to stand above the name when it is committed. Checks that the name may be written, but
  // for its parent; of an exclusive creation this may
  // miss something, which Append or Commit then tells. Nothing is created on the servers before the first
  // stripe is full or Commit is called. Errors: kIsDirectory, kAlreadyExists, kNotCurrent, kNoQuorum,
  // kUnavailable.
  static Task<Result<std::unique_ptr<ObjectWriter>>> Start(Engine& engine, ObjectPath path,
                                                           WriteOptions options,
                                                           std::optional<ParentNeed> parent = std::nullopt);

  virtual ~ObjectWriter() = default;

  // Bytes accepted so far.
  virtual uint64_t size() const = 0;

  // Waits in line for the memory of the first stripe before any byte is there, so that a front end can tell
  // its client to come back rather than let a request hang; and for its place among the uploads under way,
  // without which Append waits until others end. What is not used within kReservationMax is given back.
  // Errors: as Append.
  virtual Task<Status> Reserve() = 0;
  // After Reserve, once, when the client has come: keeps the place until the end, or for kPlaceMax if no byte
  // follows. False: it was given back.
  virtual bool KeepPlace() = 0;

  // Appends. The bytes are read before the task ends. After an error the writer only accepts Abandon.
  // Errors: kNoSpace, kUnavailable (fewer good archives than archives_min), kInvalidArgument (beyond the
  // largest size); of an exclusive creation, with the first byte after the first stripe, those of Start, and
  // kConflict (this process was silent too long).
  virtual Task<Status> Append(ByteSpan bytes) = 0;

  // The user attributes that the version will have, in place of those of its options. Before Commit. Error:
  // kInvalidArgument (too many, too large); those of before are kept then.
  virtual Status SetUserAttributes(std::map<std::string, std::string> attributes) = 0;
  // The settings that the version will have, in place of those of its options. Before Commit.
  virtual void SetSettings(Settings settings) = 0;

  // As WriteHandle's; ReadBack needs `into` until it ends.
  virtual bool AllInMemory() const = 0;
  virtual Task<Status> EndStream() = 0;
  virtual Task<Result<uint64_t>> ReadBack(uint64_t offset, MutableByteSpan into) = 0;

  // Seals all archives and commits the version. OK means promises P1 and P10. On kUnknown the outcome is
  // open. After it only the destructor may be called.
  virtual Task<Result<Committed>> Commit() = 0;

  // Gives the upload up; nothing becomes visible. Also done, in the background, when a writer is destroyed
  // without Commit.
  virtual Task<void> Abandon() = 0;
};

}  // namespace xec

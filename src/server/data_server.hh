// SPDX-License-Identifier: LGPL-3.0-or-later
// DataServer: the one interface to whatever holds archives, and all that the engine expects of it.
// Implementations: local (a directory), memory (tests, simulator), xrootd in its own layer. Decorators
// stand around them (decorator.hh). The conformance suite (conformance.hh) tests on each of them what
// follows.
//
// CALLS
//  * Every request is asynchronous. `done` runs exactly once, never inside the call that starts the
//    request, on an engine thread (the executor's, or one of the server's own that takes its place), with
//    no lock held, and never on a thread of a network library. What it runs does not block. When the server
//    object and all files opened through it are gone, a `done` may be destroyed without having run.
//  * All members are thread-safe. Requests on one server, or on one ArchiveFile, may overlap; they take
//    effect in any order.
//  * Nothing cancels a request. An implementation may answer kDeadlineExceeded after context.deadline, but
//    need not: callers use server/calls.hh, which answers on time whatever happens. The server may still
//    execute a request that was given up on, at any later time. Close is executed even when it is late.
//  * What is started on a file after Close, a second Close included, is answered kCancelled: a user may
//    give a file up while another one still uses it.
//  * Buffers: the request keeps a Slice given to Read or Write alive until the server lets go of it, even
//    past the deadline. The caller does not touch its bytes before `done`, and after kDeadlineExceeded
//    never again.
//
// OUTCOMES of a request that changes something
//  * OK: it has happened, and everybody sees it: a listing that is started after the answer shows it.
//  * kUnavailable, kDeadlineExceeded, kUnknown: it may have happened, may still happen later, or has
//    happened and a power cut may undo it. The caller finds out by List.
//  * Any other error: it did not happen and will not. (Parents may have been made, and of a Write some
//    bytes.)
//  * Each request is atomic, but for Write. Of several that exclude each other, exactly one is answered OK:
//    of those that create one name, or rename one source.
//
// NAMES
//  * A path is absolute within the server's root, '/'-separated, with no empty, "." or ".." parts and no
//    zero byte (path.hh checks that). "/" is the root itself: always there.
//  * A part has up to 255 bytes, a path up to 4,095. Parts are bytes: two that differ in case or in their
//    Unicode form are two names. Any byte but '/' and zero is allowed; a server may refuse '?' and line
//    feeds, as the root protocol has to. Listings give each name whole. What cannot be a name is
//    kInvalidArgument, and nothing is made of it.
//  * Open with kCreate, Rename (of the target) and MakeDirectory make the parents that they need. Parents may
//    be removed at the same moment: then the request makes them again, or fails and leaves nothing.
//
// OPEN FILES stay the file that was opened, whatever becomes of its name. A file that was renamed, removed,
// or whose old name belongs to a new file now, gives its own bytes as before; a file that is being written
// goes on under its new name. A server may refuse to create a name (kAlreadyExists) as long as somebody has
// a file open under it that was renamed or removed: the engine uses no name twice. Every request on a file
// whose server has lost it (a restart, a broken connection) is kUnavailable.
//
// TIMES are the server's own, in seconds. A file's is that of the last change of its bytes. A directory's
// is that of the last coming or going of an entry: by Open with kCreate, Remove, MakeDirectory and
// RemoveDirectory in it, and by Rename from it or to it. It never goes back by such a change; writes to
// files and what happens further below do not matter. The cleaner passes over folders whose times stand
// still (commit/engine/names_at_rest.hh). Where a time is compared with a clock of ours, minutes decide (a
// silent upload, a version that is out of use); an hour of difference would be noticed as a fault.
//
// DURABILITY: what is on stable storage, and so survives a power cut, when a request is answered OK. The
// store's sync policy, which the server is made with, decides:
//
//    request           policy commit                            policy none
//    Sync              bytes, the file's name, its parents      the same
//    Rename            both names, the target's parents         when the file system likes
//    MakeDirectory     the directory, its parents, and the      when the file system likes
//                      directories that others have made in it
//    SetAttributes     the attributes                           when the file system likes
//    Open, Write,      nothing                                  nothing
//    Close
//    Remove,           nothing: what was removed may be back    the same
//    RemoveDirectory
//
//    With policy commit, a Rename that is answered kAlreadyExists has made the name it found durable, too.
//    Where syncing fails after the change was made, the answer is kUnknown or kUnavailable.
//
// ERRORS, the same for all requests unless they say otherwise
//    kNotFound          the name, or a folder on the way to it, is not there, and the server is sure to be
//                       the right one
//    kUnavailable       the root is gone, is empty because nothing is mounted there, or belongs to another
//                       store: never kNotFound then, nor an empty listing (promise P6). A server that
//                       cannot know whose disk it serves gets an IdentityGuard around it. Also: it cannot
//                       be reached, was restarted meanwhile, has trouble of its own. Retry may help
//    kAlreadyExists     the name that is to be made is there
//    kIsDirectory       a directory, where a file is wanted
//    kNotDirectory      a file, where a directory is wanted, also on the way to the name
//    kNotEmpty          of RemoveDirectory
//    kNoSpace           the disk or a quota is full
//    kPermissionDenied  the disk is read-only (the message then has the words "read-only file system"), or
//                       the server may not do it
//    kUnreadable        the disk cannot give these bytes, or could not keep them; of Read and Close only
//    kConflict          somebody else has the file open in a way that excludes this; retry
//    kInvalidArgument   what cannot be a name; ranges longer than the buffer
//    kUnsupported       this server has no such thing (attributes, space)
//    kCancelled         the file is closed
//    kDeadlineExceeded  no answer in time
//    kUnknown           see OUTCOMES
//    The message is a sentence that names the request, the path and the server.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hh"
#include "runtime/buffer.hh"
#include "runtime/executor.hh"

namespace xec {

struct OpContext {
  TimePoint deadline = TimePoint::max();
};

// One entry of a listing.
struct Entry {
  std::string name;  // last path component
  bool directory = false;
  uint64_t size = 0;  // bytes, with all writes that were answered; 0 for directories
  int64_t mtime_s = 0;  // seconds since 1970, see TIMES
  bool operator==(const Entry&) const = default;
};

// What ListMany tells of one directory; nullopt: it is not there.
using Listed = std::optional<std::vector<Entry>>;

struct Space {
  uint64_t total_bytes = 0;
  uint64_t free_bytes = 0;
  // Names the file system where the implementation can tell: servers with the same one share its space.
  // Empty: unknown.
  std::string filesystem = {};
};

struct ByteRange {
  uint64_t offset = 0;
  uint64_t length = 0;
};

using Attributes = std::vector<std::pair<std::string, std::string>>;

template <typename T>
using Done = UniqueFunction<void(Result<T>)>;

// An open archive on a data server. Destroying it without Close abandons it: the server closes it at some
// later time. Shared, because requests that were given up on keep it alive.
class ArchiveFile {
 public:
  virtual ~ArchiveFile() = default;

  // The file's size when it was opened (0 for a new one). No request.
  virtual uint64_t size() const = 0;

  // Reads the ranges, one after another, into `into`, whose length is at least their sum. Answers the
  // number of bytes read; short only where a range ends beyond the end of the file (then the ranges after
  // it are not read). Ranges may overlap, repeat and come in any order. One request on the wire where the
  // protocol allows it. Error: kUnreadable when the server says that its disk cannot give the bytes.
  virtual void Read(OpContext context, std::vector<ByteRange> ranges, Slice into, Done<uint64_t> done) = 0;

  // Writes all of `from` at `offset`; a gap before it reads as zeros. Errors: kNoSpace, kPermissionDenied,
  // kUnavailable, kDeadlineExceeded.
  virtual void Write(OpContext context, uint64_t offset, Slice from, Done<void> done) = 0;

  // Answers when what was written, and the file's name, is on stable storage (fsync).
  virtual void Sync(OpContext context, Done<void> done) = 0;

  // Closes. Errors of delayed writes show up here: kUnreadable when the server tells them, never what its
  // silence is (kUnavailable, kDeadlineExceeded).
  virtual void Close(OpContext context, Done<void> done) = 0;
};

enum class OpenMode {
  kRead,
  kCreate,  // for writing, exclusive: kAlreadyExists when the name is there; makes missing parents
};

class DataServer {
 public:
  virtual ~DataServer() = default;

  // For messages: "/data/d01" or "root://host:1094". Never changes.
  virtual const std::string& name() const = 0;

  virtual void Open(OpContext context, std::string path, OpenMode mode,
                    Done<std::shared_ptr<ArchiveFile>> done) = 0;

  // All entries of a directory except "." and "..", unordered, with sizes and times, in one request. A
  // missing directory is kNotFound, a file kNotDirectory. Listings of small directories are atomic.
  virtual void List(OpContext context, std::string path, Done<std::vector<Entry>> done) = 0;

  // As List of each of the directories, in their order; the error is that of any one, except kNotFound. Where
  // the server is a directory of this machine it costs little more than one List; elsewhere as many requests
  // as there are paths, all sent at once.
  virtual void ListMany(OpContext context, std::vector<std::string> paths, Done<std::vector<Listed>> done);

  // Renames a file, or a directory with all below. A missing source is kNotFound, or kUnknown where the
  // target is there and this very request may have been obeyed twice. Parents of the target are made. The
  // engine never renames onto a name that could exist: servers replace it or answer kAlreadyExists, all or
  // nothing.
  virtual void Rename(OpContext context, std::string from, std::string to, Done<void> done) = 0;

  // Removes a file; kNotFound when it is not there, which this very request may have brought about.
  virtual void Remove(OpContext context, std::string path, Done<void> done) = 0;

  // Makes a directory and its missing parents; OK when it exists already. A file there is an error.
  virtual void MakeDirectory(OpContext context, std::string path, Done<void> done) = 0;

  // Removes an empty directory; kNotEmpty. One that is not there is kNotFound, or, as with stock servers, OK:
  // the caller takes both alike.
  virtual void RemoveDirectory(OpContext context, std::string path, Done<void> done) = 0;

  // Attributes of a file, used by the xrdec layout only: those given are set, others stay. At most 16 in one
  // Attributes of a file, used by the xrdec layout only: those given are set, others stay. One request for
  // all names given (at most 16), which a file's 4 KiB on ext4 hold together. They go along with a rename.
  virtual void SetAttributes(OpContext context, std::string path, Attributes attributes, Done<void> done) = 0;
  // All attributes of the file whose names start with `prefix`.
  virtual void GetAttributes(OpContext context, std::string path, std::string prefix,
                             Done<Attributes> done) = 0;

  // Size and free space of what holds the archives.
  virtual void GetSpace(OpContext context, Done<Space> done) = 0;
};

using DataServerPtr = std::shared_ptr<DataServer>;

}  // namespace xec

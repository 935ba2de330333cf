// SPDX-License-Identifier: LGPL-3.0-or-later
// Looking up names in layout xrdec: the register first, then the plain places on all servers.
#pragma once

#include "commit/engine/names.hh"
#include "protocol/xrdec_paths.hh"
#include "xrdec/verdict.hh"

namespace xec {

struct XrdecName {
  enum Kind {
    kNothing,     // proved
    kUnfinished,  // files without attributes: a stock client is writing them, or died, or they are foreign
    kObject,
    kDirectory,
  } kind = kNothing;
  ObjectPath path;
  NameInfo registered;                    // of path.Registered()
  bool in_register = false;               // the register has the object
  uint64_t size = 0;                      // of kObject, as all below
  Version version = {};  // of an object that is not in the register: made from XrdEc's
  // Only if the servers were asked:
  std::vector<MemberIndex> at_name = {};  // have an archive of it at the plain name
  std::vector<MemberIndex> holders = {};  // the same, and those that have one staged
  bool aside = false;  // archives of the name, perhaps its own, were taken aside and not judged yet
  std::optional<uint32_t> adler32 = {};   // if XrdEc's attributes have it
  std::vector<Found> found = {};  // by member; empty if the servers were not asked
};

// How much to find out.
enum class XrdecWidth {
  kExistence,  // the register suffices if it has the object
  kArchives,  // where the archives are; a server that is late counts as silent if the others decide
};
// Error: kNoQuorum ("cannot tell, retry").
Task<Result<XrdecName>> LookUpXrdec(Engine& engine, ObjectPath path, XrdecWidth width);

// As the above, but an error unless an object lives there: kNotFound, kIsDirectory, kNoQuorum.
Task<Result<XrdecName>> LookUpXrdecObject(Engine& engine, ObjectPath path, XrdecWidth width);

// What that server has at this path.
Task<Found> FindOn(Engine& engine, MemberIndex member, std::string path);

// The archives of an upload or rename, and those taken aside, that are not at the plain name, on all servers
// that answer and are not late.
struct StagedArchive {
  MemberIndex member = 0;
  StagedName name;
  int64_t mtime_s = 0;
};
struct StagedArchives {
  std::vector<StagedArchive> archives;
  size_t silent = 0;  // servers that did not answer
};
Task<StagedArchives> ListStaged(Engine& engine);

// What readers need of the object (ObjectReader::OpenXrdec). Errors: kNoQuorum when too few servers answer to
// read it; kUnavailable when archives that may be missing were taken aside; kDataLoss when all answer and
// fewer than k have an archive.
Result<NameInfo> ForReading(const Engine& engine, const XrdecName& name);

// The same error without the register's prefix in its words.
Error InUserWords(Error error);
Status InUserWords(Status status);

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// Compares an archive byte by byte with what ArchiveWriter makes of its chunks: the writer is deterministic,
// so damage shows even where no reader looks (times in headers, attributes in the directory).
#pragma once

#include <map>

#include "archive/archive_writer.hh"
#include "object/read/chunk_reader.hh"

namespace xec {

// One owner.
class ArchiveAudit {
 public:
  // Takes a good chunk's header, as read. Error: kCorruption when it is not what the writer makes.
  Status CheckHeader(const ReadContext& context, MemberName name, const ChunkAnswer& answer);
  // The archive cannot be audited further, since a chunk of it is bad.
  void GiveUp(MemberIndex server) { lanes_[server].broken = true; }

  struct Finding {
    ArchivePtr archive;
    MemberName last;      // its last member
    std::string problem;  // one clause
  };
  // Reads the ends of all archives whose chunks were all good. Takes budget for one end at a time.
  Task<Result<std::vector<Finding>>> CheckEnds(ReadContext context);

 private:
  struct Lane {
    ArchivePtr archive;
    size_t good = 0;  // chunks whose headers are right
    MemberName last;
    bool broken = false;
  };
  std::map<MemberIndex, Lane> lanes_;
};

}  // namespace xec

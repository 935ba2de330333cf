// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/engine/archive_end.hh"

namespace xec {

Task<ArchiveEnd> ReadArchiveEnd(CallContext call, ArchiveFilePtr file, uint64_t first_bytes,
                                ByteBudget::Lease memory) {
  ArchiveEndSearch search(file->size(), first_bytes);
  ArchiveEnd end;
  while (true) {
    end.bytes.reset();
    const Slice slice(Buffer::Allocate(search.bytes(), std::move(memory)));
    std::vector<ByteRange> ranges = {ByteRange{search.from(), search.bytes()}};
    Result<uint64_t> got = uint64_t{0};
    if (search.bytes() > 0) got = co_await Read(call, file, std::move(ranges), slice);
    if (!got) {
      end.index = got.error();
      co_return std::move(end);
    }
    if (*got == search.bytes()) end.bytes = slice;
    Result<std::optional<ArchiveIndex>> found = search.Take(slice.span().first(*got));
    if (found && !*found) continue;
    end.index = found ? Result<ArchiveIndex>(std::move(**found)) : found.error();
    co_return std::move(end);
  }
}

}  // namespace xec

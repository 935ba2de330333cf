// SPDX-License-Identifier: LGPL-3.0-or-later
#include "archive/archive_reader.hh"

#include <algorithm>
#include <string_view>

namespace xec {
namespace {

constexpr uint16_t kZip64MarkShort = 0xffff;

Error Corrupt(std::string_view what) { return Fail(Code::kCorruption, "the archive is damaged: {}", what); }

// The end record's fields and where it lies; after ReadZip64() the real values.
struct End {
  uint64_t offset = 0;           // of the end record
  uint64_t directory_end = 0;    // where the records after the directory begin
  uint64_t member_count = 0;
  uint64_t directory_size = 0;
  uint64_t directory_offset = 0;
  bool zip64 = false;
};

// Finds the last end record whose comment ends where the archive ends. Nothing in the comment can look like
// one (ArchiveWriter, INV-2), and nothing before it is looked at, so user data cannot pose as one.
std::optional<size_t> FindEndRecord(ByteSpan tail) {
  if (tail.size() < kEndRecordSize) return std::nullopt;
  const size_t last = tail.size() - kEndRecordSize;
  const size_t first = last > kArchiveCommentSizeMax ? last - kArchiveCommentSizeMax : 0;
  for (size_t at = last + 1; at-- > first;) {
    if (tail[at] != std::byte{'P'}) continue;
    ByteReader reader(tail.subspan(at));
    if (reader.Read<uint32_t>() != kEndSignature) continue;
    reader.Take(kEndRecordSize - 4 - 2);
    if (reader.Read<uint16_t>() == tail.size() - at - kEndRecordSize) return at;
  }
  return std::nullopt;
}

Result<End> ReadEndRecord(ByteSpan record, uint64_t offset) {
  ByteReader reader(record);
  reader.Read<uint32_t>();
  const uint32_t disks = *reader.Read<uint32_t>();
  const uint16_t count_here = *reader.Read<uint16_t>();
  const uint16_t count = *reader.Read<uint16_t>();
  const uint32_t size = *reader.Read<uint32_t>();
  const uint32_t directory_offset = *reader.Read<uint32_t>();
  if (disks != 0 || count_here != count) return Corrupt("its end record tells of several disks");
  End end;
  end.offset = offset;
  end.directory_end = offset;
  end.member_count = count;
  end.directory_size = size;
  end.directory_offset = directory_offset;
  end.zip64 = count == kZip64MarkShort || size == kZip64Mark || directory_offset == kZip64Mark;
  return end;
}

// Reads the ZIP64 end record and locator, `records` being the 76 bytes before the end record.
Status ReadZip64(ByteSpan records, End& end) {
  const uint64_t zip64_offset = end.offset - records.size();
  ByteReader reader(records);
  const bool starts = reader.Read<uint32_t>() == kZip64EndSignature &&
                      reader.Read<uint64_t>() == kZip64EndSize - 12 && reader.Take(4).has_value() &&
                      reader.Read<uint64_t>() == 0u;
  const uint64_t count_here = reader.Read<uint64_t>().value_or(0);
  const uint64_t count = reader.Read<uint64_t>().value_or(0);
  const uint64_t size = reader.Read<uint64_t>().value_or(0);
  const uint64_t directory_offset = reader.Read<uint64_t>().value_or(0);
  const bool located = reader.Read<uint32_t>() == kZip64LocatorSignature && reader.Read<uint32_t>() == 0u &&
                       reader.Read<uint64_t>() == zip64_offset && reader.Read<uint32_t>() == 1u;
  if (!starts || !located || count != count_here)
    return Corrupt("its ZIP64 end record or locator is invalid");
  const auto agrees = [](uint64_t small, uint64_t mark, uint64_t real) {
    return small == mark || small == real;
  };
  if (!agrees(end.member_count, kZip64MarkShort, count) || !agrees(end.directory_size, kZip64Mark, size) ||
      !agrees(end.directory_offset, kZip64Mark, directory_offset)) {
    return Corrupt("its end record and its ZIP64 end record differ");
  }
  end.directory_end = zip64_offset;
  end.member_count = count;
  end.directory_size = size;
  end.directory_offset = directory_offset;
  return OkStatus();
}

// Everything that must hold before memory is spent on the directory.
Status CheckEnd(const End& end) {
  if (end.member_count > kMembersMax) return Corrupt("it has too many members");
  if (end.directory_size < end.member_count * kDirectoryRecordFixedSize ||
      end.directory_size > end.member_count * kDirectoryRecordSizeMax) {
    return Corrupt("the size of its directory does not fit the number of members");
  }
  if (end.directory_offset > end.directory_end ||
      end.directory_end - end.directory_offset != end.directory_size) {
    return Corrupt("its directory does not end where the end record begins");
  }
  return OkStatus();
}

// Calls visit(id, body) for every extra field; false when the fields do not tile `extra`, or visit says so.
template <typename Visitor>
bool ForEachExtraField(ByteSpan extra, Visitor visit) {
  ByteReader reader(extra);
  while (reader.remaining() > 0) {
    const std::optional<uint16_t> id = reader.Read<uint16_t>();
    const std::optional<uint16_t> size = reader.Read<uint16_t>();
    if (!id || !size) return false;
    const std::optional<ByteSpan> body = reader.Take(*size);
    if (!body || !visit(*id, *body)) return false;
  }
  return true;
}

// The real offset of a member whose record says "see the ZIP64 field".
std::optional<uint64_t> Zip64Offset(ByteSpan extra) {
  std::optional<uint64_t> offset;
  const bool valid = ForEachExtraField(extra, [&](uint16_t id, ByteSpan body) {
    if (id != kZip64ExtraId) return true;
    if (offset || body.size() != 8) return false;
    offset = ByteReader(body).Read<uint64_t>();
    return true;
  });
  return valid ? offset : std::nullopt;
}

// The fields shared by a local header and a directory record, from "version needed" to the lengths.
struct CommonFields {
  uint32_t crc32 = 0;
  uint32_t size_bytes = 0;
  uint16_t name_size = 0;
  uint16_t extra_size = 0;
};

// nullopt when the bytes end, or tell of compression, encryption or anything else we never store.
std::optional<CommonFields> ReadCommonFields(ByteReader& reader) {
  reader.Read<uint16_t>();  // version needed: says nothing that the other fields do not
  const std::optional<uint16_t> flags = reader.Read<uint16_t>();
  const std::optional<uint16_t> method = reader.Read<uint16_t>();
  reader.Read<uint32_t>();  // DOS time and date
  const std::optional<uint32_t> crc32 = reader.Read<uint32_t>();
  const std::optional<uint32_t> compressed = reader.Read<uint32_t>();
  const std::optional<uint32_t> size = reader.Read<uint32_t>();
  const std::optional<uint16_t> name_size = reader.Read<uint16_t>();
  const std::optional<uint16_t> extra_size = reader.Read<uint16_t>();
  if (!extra_size || *flags != 0 || *method != 0 || *compressed != *size || *size == kZip64Mark)
    return std::nullopt;
  return CommonFields{*crc32, *size, *name_size, *extra_size};
}

std::optional<ArchiveMember> ReadDirectoryRecord(ByteReader& reader) {
  if (reader.Read<uint32_t>() != kDirectoryRecordSignature) return std::nullopt;
  reader.Read<uint16_t>();  // version made by
  const std::optional<CommonFields> common = ReadCommonFields(reader);
  if (!common || common->name_size > kMemberNameSizeMax || common->extra_size > kDirectoryExtraSizeMax) {
    return std::nullopt;
  }
  const std::optional<uint16_t> comment_size = reader.Read<uint16_t>();
  const std::optional<uint16_t> disk = reader.Read<uint16_t>();
  reader.Take(6);  // internal and external attributes
  const std::optional<uint32_t> offset = reader.Read<uint32_t>();
  const std::optional<ByteSpan> name_bytes = reader.Take(common->name_size);
  const std::optional<ByteSpan> extra = reader.Take(common->extra_size);
  if (!offset || !name_bytes || !extra || *comment_size != 0 || *disk != 0) return std::nullopt;
  const std::optional<MemberName> name = MemberName::Parse(AsText(*name_bytes));
  const bool is_filler = name && name->chunk >= kRunFillerChunk;
  if (!name || (is_filler && common->size_bytes != 0)) return std::nullopt;

  ArchiveMember member;
  member.name = *name;
  member.size_bytes = common->size_bytes;
  member.crc32 = common->crc32;
  member.header_offset = *offset;
  if (*offset == kZip64Mark) {
    const std::optional<uint64_t> real_offset = Zip64Offset(*extra);
    if (!real_offset) return std::nullopt;
    member.header_offset = *real_offset;
  }
  return member;
}

// Every member's data ends where the next record begins; fills in data_offset.
Status TileMembers(std::vector<ArchiveMember>& members, uint64_t directory_offset) {
  if ((members.empty() ? directory_offset : members[0].header_offset) != 0) {
    return Corrupt("it does not begin with its first record");
  }
  for (size_t i = 0; i < members.size(); ++i) {
    ArchiveMember& member = members[i];
    const uint64_t next = i + 1 < members.size() ? members[i + 1].header_offset : directory_offset;
    const uint64_t header_size_min = kLocalHeaderFixedSize + member.name.ToString().size();
    // The longest header has 65,535 bytes of extra fields.
    if (next > directory_offset || next < member.header_offset ||
        next - member.header_offset < header_size_min + member.size_bytes ||
        next - member.header_offset > header_size_min + member.size_bytes + 65535) {
      return Fail(Code::kCorruption, "the archive is damaged: member {} does not fit between its neighbours",
                  member.name.ToString());
    }
    member.data_offset = next - member.size_bytes;
  }
  return OkStatus();
}

Result<std::vector<ArchiveMember>> ReadDirectory(ByteSpan directory, const End& end) {
  std::vector<ArchiveMember> members;
  members.reserve(end.member_count);  // bounded: CheckEnd() compared it with the directory's bytes
  ByteReader reader(directory);
  for (uint64_t i = 0; i < end.member_count; ++i) {
    const std::optional<ArchiveMember> member = ReadDirectoryRecord(reader);
    if (!member) {
      return Fail(Code::kCorruption, "the archive is damaged: record {} of its directory is not one of XEC's",
                  i);
    }
    members.push_back(*member);
  }
  if (reader.remaining() != 0) return Corrupt("its directory is longer than its records");

  std::vector<MemberName> names;
  names.reserve(members.size());
  for (const ArchiveMember& member : members) names.push_back(member.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) {
    return Fail(Code::kCorruption, "the archive is damaged: it has two members {}", twice->ToString());
  }
  XEC_TRY(TileMembers(members, end.directory_offset));
  return members;
}

}  // namespace

Result<TailOutcome> ParseArchiveTail(ByteSpan tail, uint64_t archive_size) {
  XEC_CHECK(tail.size() <= archive_size);
  if (archive_size == 0) return TailOutcome{ArchiveIndex{}, 0};
  const uint64_t tail_offset = archive_size - tail.size();
  const std::optional<size_t> found = FindEndRecord(tail);
  if (!found) {
    const uint64_t wanted = std::min<uint64_t>(archive_size, kEndRecordSize + kArchiveCommentSizeMax);
    if (tail.size() < wanted) return TailOutcome{std::nullopt, archive_size - wanted};
    return Corrupt("it has no end record (cut short, or no archive at all)");
  }
  XEC_ASSIGN_OR_RETURN(End end, ReadEndRecord(tail.subspan(*found, kEndRecordSize), tail_offset + *found));
  if (end.zip64) {
    constexpr size_t kZip64RecordsSize = kZip64EndSize + kZip64LocatorSize;
    if (end.offset < kZip64RecordsSize) return Corrupt("it has no ZIP64 end record");
    if (*found < kZip64RecordsSize) return TailOutcome{std::nullopt, end.offset - kZip64RecordsSize};
    XEC_TRY(ReadZip64(tail.subspan(*found - kZip64RecordsSize, kZip64RecordsSize), end));
  }
  XEC_TRY(CheckEnd(end));
  if (end.directory_offset < tail_offset) return TailOutcome{std::nullopt, end.directory_offset};

  const size_t directory_at = static_cast<size_t>(end.directory_offset - tail_offset);
  ArchiveIndex index;
  XEC_ASSIGN_OR_RETURN(
      index.members, ReadDirectory(tail.subspan(directory_at, static_cast<size_t>(end.directory_size)), end));
  index.manifest = AsText(tail.subspan(*found + kEndRecordSize));
  return TailOutcome{std::move(index), 0};
}

Result<std::optional<ArchiveIndex>> ArchiveEndSearch::Take(ByteSpan read) {
  if (read.size() != bytes()) return Corrupt("it ends early");
  XEC_ASSIGN_OR_RETURN(TailOutcome outcome, ParseArchiveTail(read, size_));
  if (outcome.index) return std::move(outcome.index);
  if (outcome.need_from >= from_ || ++reads_ == kReadsMax) return Corrupt("its end is inconsistent");
  from_ = outcome.need_from;
  return std::optional<ArchiveIndex>();
}

Result<PageChecksumTable> ParseLocalHeader(ByteSpan header, const ArchiveMember& member) {
  const auto corrupt = [&](std::string_view what) {
    return Fail(Code::kCorruption, "member {} is damaged: {}", member.name.ToString(), what);
  };
  ByteReader reader(header);
  if (reader.Read<uint32_t>() != kLocalHeaderSignature) return corrupt("it has no local header");
  const std::optional<CommonFields> common = ReadCommonFields(reader);
  if (!common || common->size_bytes != member.size_bytes || common->crc32 != member.crc32) {
    return corrupt("its local header differs from the directory");
  }
  const std::optional<ByteSpan> name = reader.Take(common->name_size);
  const std::optional<ByteSpan> extra = reader.Take(common->extra_size);
  if (!name || !extra || reader.remaining() != 0 || AsText(*name) != member.name.ToString()) {
    return corrupt("name or length of its local header differs from the directory");
  }

  PageChecksumTable table;
  bool newer = false;
  const bool valid = ForEachExtraField(*extra, [&](uint16_t id, ByteSpan body) {
    if (id != kPageExtraId) return true;
    ByteReader fields(body);
    const std::optional<uint16_t> version = fields.Read<uint16_t>();
    newer = version && *version > kPageExtraVersion;
    if (newer) return true;
    const std::optional<uint32_t> page_size = fields.Read<uint32_t>();
    const bool first = table.page_size_bytes == 0;
    if (version != kPageExtraVersion || !page_size || *page_size < kPageSizeMin || !first) return false;
    table.page_size_bytes = *page_size;
    const uint64_t pages = (uint64_t{member.size_bytes} + *page_size - 1) / *page_size;
    if (pages > kPagesPerChunkMax || fields.remaining() != 4 * pages) return false;
    table.crc32c.reserve(pages);
    for (uint64_t i = 0; i < pages; ++i) table.crc32c.push_back(*fields.Read<uint32_t>());
    return true;
  });
  if (!valid) return corrupt("the extra fields of its local header are invalid");
  if (newer) {
    return Fail(Code::kUnsupported, "the page checksums of member {} were written by a newer XEC",
                member.name.ToString());
  }
  return table;
}

std::vector<std::byte> CondenseLocalHeader(ByteSpan header) {
  ByteReader reader(header);
  const ByteSpan fixed = *reader.Take(kLocalHeaderFixedSize);
  const uint16_t name_size = *ByteReader(fixed.last(4)).Read<uint16_t>();
  const ByteSpan name = *reader.Take(name_size);
  ByteSpan pages;
  ForEachExtraField(*reader.Take(reader.remaining()), [&](uint16_t id, ByteSpan body) {
    if (id == kPageExtraId) pages = body;
    return true;
  });
  const size_t extra_size = pages.empty() ? 0 : kExtraFieldHeaderSize + pages.size();
  std::vector<std::byte> condensed(fixed.size() + name.size() + extra_size);
  ByteWriter writer(condensed);
  writer.Write(fixed.first(fixed.size() - 2));
  writer.Write(static_cast<uint16_t>(extra_size));
  writer.Write(name);
  if (!pages.empty()) {
    writer.Write(kPageExtraId);
    writer.Write(static_cast<uint16_t>(pages.size()));
    writer.Write(pages);
  }
  return condensed;
}

}  // namespace xec

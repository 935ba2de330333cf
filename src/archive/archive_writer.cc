// SPDX-License-Identifier: LGPL-3.0-or-later
#include "archive/archive_writer.hh"

#include <algorithm>
#include <string>

namespace xec {
namespace {

// Versions of the ZIP specification, as major * 10 + minor.
constexpr uint16_t kVersionPlain = 10;
constexpr uint16_t kVersionZip64 = 45;
// Host 3 (Unix), so that the external attributes are read as a mode.
constexpr uint16_t kVersionMadeBy = (3u << 8) | kVersionZip64;
constexpr uint32_t kExternalAttributes = 0100644u << 16;  // a regular file, rw-r--r--
// 1980-01-01 00:00, the first time DOS can write.
constexpr uint16_t kDosTime = 0;
constexpr uint16_t kDosDate = (1u << 5) | 1u;

const std::string kEndSignatureBytes("PK\x05\x06", 4);

// The fields that a local header and a directory record share, from flags to uncompressed size.
void WriteCommonFields(ByteWriter& writer, uint32_t crc32, uint32_t size_bytes) {
  writer.Write<uint16_t>(0);  // flags: no encryption, no data descriptor, names in ASCII
  writer.Write<uint16_t>(0);  // method: stored
  writer.Write<uint16_t>(kDosTime);
  writer.Write<uint16_t>(kDosDate);
  writer.Write<uint32_t>(crc32);
  writer.Write<uint32_t>(size_bytes);
  writer.Write<uint32_t>(size_bytes);
}

// What a local header has before its extra fields.
void WriteHeaderStart(ByteWriter& writer, const std::string& name, uint32_t crc32, uint32_t size_bytes,
                      size_t extra_size) {
  writer.Write(kLocalHeaderSignature);
  writer.Write(kVersionPlain);
  WriteCommonFields(writer, crc32, size_bytes);
  writer.Write(static_cast<uint16_t>(name.size()));
  writer.Write(static_cast<uint16_t>(extra_size));
  writer.Write(AsBytes(name));
}

void WriteFiller(ByteWriter& writer, size_t size = kExtraFieldHeaderSize) {
  const size_t body = size - kExtraFieldHeaderSize;
  writer.Write<uint16_t>(kFillerExtraId);
  writer.Write(static_cast<uint16_t>(body));
  const std::vector<std::byte> zeros(body);
  writer.Write(ByteSpan(zeros));
}

Status CheckPages(const MemberHeader& member) {
  const uint64_t page_size = member.page_size_bytes;
  if (page_size != 0 && page_size < kPageSizeMin) {
    return Fail(Code::kInvalidArgument, "a page of {} bytes is smaller than {}", page_size, kPageSizeMin);
  }
  const uint64_t pages = page_size == 0 ? 0 : (member.size_bytes + page_size - 1) / page_size;
  if (member.page_crc32c.size() != pages || pages > kPagesPerChunkMax) {
    return Fail(Code::kInvalidArgument, "{} page checksums for {} bytes in pages of {} (at most {} pages)",
                member.page_crc32c.size(), member.size_bytes, page_size, kPagesPerChunkMax);
  }
  return OkStatus();
}

bool IsText(std::string_view comment) {
  return std::all_of(comment.begin(), comment.end(),
                     [](char c) { return c == '\n' || (c >= 0x20 && c < 0x7f); });
}

}  // namespace

Result<PlacedHeader> ArchiveWriter::LocalHeader(const MemberHeader& member, MutableByteSpan headroom) {
  if (members_.size() >= kMembersMax) {
    return Fail(Code::kInvalidArgument, "an archive has at most {} members; choose a larger chunk size",
                kMembersMax);
  }
  if (member.size_bytes == kZip64Mark) {
    return Fail(Code::kInvalidArgument, "a member of {} bytes is too large", member.size_bytes);
  }
  XEC_TRY(CheckPages(member));

  const std::string name = member.name.ToString();
  const bool has_pages = member.page_size_bytes != 0;
  const size_t pages_size = kPageExtraFixedSize + 4 * member.page_crc32c.size();
  size_t extra_size = has_pages ? kExtraFieldHeaderSize + pages_size : 0;
  const size_t size_without_extra = kLocalHeaderFixedSize + name.size();
  // Should the directory follow this member, its offset in the end record must not look like a signature.
  const uint64_t end = next_offset_ + size_without_extra + extra_size + member.size_bytes;
  const bool has_filler = end == kEndSignature;
  if (has_filler) extra_size += kExtraFieldHeaderSize;
  const size_t size = size_without_extra + extra_size;
  XEC_CHECK(headroom.size() >= size, "{} bytes of headroom for a header of {}", headroom.size(), size);

  ByteWriter writer(headroom.last(size));
  WriteHeaderStart(writer, name, member.crc32, member.size_bytes, extra_size);
  if (has_pages) {
    writer.Write(kPageExtraId);
    writer.Write(static_cast<uint16_t>(pages_size));
    writer.Write(kPageExtraVersion);
    writer.Write(member.page_size_bytes);
    for (const uint32_t crc32c : member.page_crc32c) writer.Write(crc32c);
  }
  if (has_filler) WriteFiller(writer);
  XEC_CHECK(writer.remaining() == 0);

  const PlacedHeader placed{size, next_offset_};
  AddPlaced(member.name, member.size_bytes, member.crc32, size);
  return placed;
}

void ArchiveWriter::AddPlaced(MemberName name, uint32_t size_bytes, uint32_t crc32, uint64_t header_bytes) {
  members_.push_back({name, size_bytes, crc32, next_offset_, next_offset_ + header_bytes});
  next_offset_ += header_bytes + size_bytes;
}

std::optional<ArchiveWriter::PlacedMember> ArchiveWriter::Find(MemberName name) const {
  auto found = members_.begin() + static_cast<ptrdiff_t>(std::min<size_t>(name.stripe, members_.size()));
  if (found == members_.end() || found->name != name) {
    found = std::find_if(members_.begin(), members_.end(), [&](const Entry& e) { return e.name == name; });
  }
  if (found == members_.end()) return std::nullopt;
  return PlacedMember{found->data_offset, found->size_bytes, found->crc32};
}

std::optional<ArchiveWriter::RunFiller> ArchiveWriter::MakeRunFiller() const {
  const uint64_t beyond = next_offset_ % kRunUnit;
  if (next_offset_ < kAlignedRunBytesMin || beyond == 0 || members_.size() >= kMembersMax)
    return std::nullopt;
  // Where runs follow one another their stripes differ, and so do these names.
  RunFiller filler;
  filler.entry = {{members_.back().name.stripe, kRunFillerChunk}, 0, 0, next_offset_, 0};
  const size_t least = kLocalHeaderFixedSize + filler.entry.name.ToString().size() + kExtraFieldHeaderSize;
  filler.size_bytes = least + (2 * kRunUnit - beyond - least) % kRunUnit;
  filler.entry.data_offset = next_offset_ + filler.size_bytes;
  return filler;
}

namespace {

struct DirectoryRecord {
  std::string name;
  uint32_t size_bytes = 0;
  uint32_t crc32 = 0;
  uint64_t offset = 0;  // of the local header
  bool has_filler = false;
};

void WriteDirectoryRecord(ByteWriter& writer, const DirectoryRecord& record) {
  const bool zip64 = record.offset >= kZip64Mark;
  const size_t extra_size =
      (zip64 ? kExtraFieldHeaderSize + 8 : 0) + (record.has_filler ? kExtraFieldHeaderSize : 0);
  writer.Write(kDirectoryRecordSignature);
  writer.Write(kVersionMadeBy);
  writer.Write(zip64 ? kVersionZip64 : kVersionPlain);
  WriteCommonFields(writer, record.crc32, record.size_bytes);
  writer.Write(static_cast<uint16_t>(record.name.size()));
  writer.Write(static_cast<uint16_t>(extra_size));
  writer.Write<uint16_t>(0);  // comment of the member
  writer.Write<uint16_t>(0);  // disk
  writer.Write<uint16_t>(0);  // internal attributes
  writer.Write(kExternalAttributes);
  writer.Write(zip64 ? kZip64Mark : static_cast<uint32_t>(record.offset));
  writer.Write(AsBytes(record.name));
  if (zip64) {
    writer.Write(kZip64ExtraId);
    writer.Write<uint16_t>(8);
    writer.Write(record.offset);
  }
  if (record.has_filler) WriteFiller(writer);
}

// What lies between the directory and the comment's length.
void WriteEndRecords(ByteWriter& writer, uint64_t count, uint64_t directory_size, uint64_t directory_offset) {
  const bool zip64 = directory_offset >= kZip64Mark;
  if (zip64) {
    writer.Write(kZip64EndSignature);
    writer.Write<uint64_t>(kZip64EndSize - 12);  // what follows this field
    writer.Write(kVersionMadeBy);
    writer.Write(kVersionZip64);
    writer.Write<uint32_t>(0);  // this disk
    writer.Write<uint32_t>(0);  // disk of the directory
    writer.Write(count);
    writer.Write(count);
    writer.Write(directory_size);
    writer.Write(directory_offset);
    writer.Write(kZip64LocatorSignature);
    writer.Write<uint32_t>(0);  // disk of the ZIP64 end record
    writer.Write(directory_offset + directory_size);
    writer.Write<uint32_t>(1);  // number of disks
  }
  writer.Write(kEndSignature);
  writer.Write<uint16_t>(0);  // this disk
  writer.Write<uint16_t>(0);  // disk of the directory
  writer.Write(static_cast<uint16_t>(count));
  writer.Write(static_cast<uint16_t>(count));
  writer.Write(static_cast<uint32_t>(directory_size));
  writer.Write(zip64 ? kZip64Mark : static_cast<uint32_t>(directory_offset));
}

}  // namespace

std::vector<std::byte> ArchiveWriter::End(const std::optional<RunFiller>& run_filler,
                                          std::string_view comment, bool record_filler) const {
  std::vector<std::byte> end(ArchiveEndSizeMax(next_offset_, members_.size(), comment.size()));
  ByteWriter writer(end);
  uint64_t directory_offset = next_offset_;
  if (run_filler) {
    const std::string name = run_filler->entry.name.ToString();
    const size_t extra_size = run_filler->size_bytes - kLocalHeaderFixedSize - name.size();
    WriteHeaderStart(writer, name, 0, 0, extra_size);
    WriteFiller(writer, extra_size);
    directory_offset += run_filler->size_bytes;
  }
  const size_t before_directory = writer.remaining();
  for (size_t i = 0; i < members_.size(); ++i) {
    const Entry& entry = members_[i];
    const bool last = !run_filler && i + 1 == members_.size();
    WriteDirectoryRecord(
        writer, {entry.name.ToString(), entry.size_bytes, entry.crc32, entry.offset, record_filler && last});
  }
  if (run_filler)
    WriteDirectoryRecord(writer, {run_filler->entry.name.ToString(), 0, 0, next_offset_, record_filler});
  WriteEndRecords(writer, members_.size() + (run_filler ? 1 : 0), before_directory - writer.remaining(),
                  directory_offset);
  writer.Write(static_cast<uint16_t>(comment.size()));
  writer.Write(AsBytes(comment));
  end.resize(end.size() - writer.remaining());
  return end;
}

Result<std::vector<std::byte>> ArchiveWriter::Finish(std::string_view manifest, RunEnd run_end) const {
  if (manifest.size() >= kArchiveCommentSizeMax || !IsText(manifest)) {
    return Fail(Code::kInvalidArgument,
                "a manifest of {} bytes is no text of at most {} printable characters", manifest.size(),
                kArchiveCommentSizeMax - 1);
  }
  std::optional<RunFiller> run_filler;
  if (run_end == RunEnd::kAligned) run_filler = MakeRunFiller();
  // INV-2. The fields of the end record may happen to spell its signature: number of members with size of the
  // directory, or offset of the directory with length of the comment. Then one of the two sizes is changed:
  // by a filler field in the last directory record, by a line feed after the manifest. One of the four
  // combinations is always free of it; the offset by itself was taken care of in LocalHeader(), and is no
  // signature where the run is aligned.
  static_assert(kEndSignature % kRunUnit != 0);
  for (const bool record_filler : {false, true}) {
    for (const char* line_feed : {"", "\n"}) {
      const std::string comment = std::string(manifest) + line_feed;
      std::vector<std::byte> end = End(run_filler, comment, record_filler);
      const size_t end_record = end.size() - comment.size() - kEndRecordSize;
      if (AsText(end).rfind(kEndSignatureBytes) == end_record) return end;
    }
  }
  return Fail(Code::kInternal, "the end record of an archive of {} bytes is ambiguous", next_offset_);
}

}  // namespace xec

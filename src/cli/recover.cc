// SPDX-License-Identifier: LGPL-3.0-or-later
#include "cli/recover.hh"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "archive/xrdec_attributes.hh"
#include "base/text.hh"
#include "codec/checksum.hh"
#include "codec/object_digests.hh"
#include "codec/reed_solomon.hh"

namespace xec {
namespace {

Status ReadAt(int fd, uint64_t offset, MutableByteSpan into) {
  while (!into.empty()) {
    const ssize_t count = pread(fd, into.data(), into.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Fail(CodeOfErrno(errno), "{}", ErrnoWords(errno));
    if (count == 0) return Fail(Code::kCorruption, "the file is shorter than it was");
    into = into.subspan(static_cast<size_t>(count));
    offset += static_cast<uint64_t>(count);
  }
  return OkStatus();
}

Result<ArchiveIndex> ReadIndex(int fd, uint64_t size) {
  ArchiveEndSearch search(size);
  while (true) {
    std::vector<std::byte> end(search.bytes());
    XEC_TRY(ReadAt(fd, search.from(), end));
    XEC_ASSIGN_OR_RETURN(std::optional<ArchiveIndex> index, search.Take(end));
    if (index) return std::move(*index);
  }
}

// The name on the disk of a data server, and as tools that copy attributes elsewhere may call it.
std::optional<uint64_t> FileSizeAttribute(int fd) {
  std::array<char, 32> value;
  const ssize_t length = fgetxattr(fd, "user.U.xrdec.filesize", value.data(), value.size());
  if (length <= 0) return std::nullopt;
  return ParseUint(std::string_view(value.data(), static_cast<size_t>(length)));
}

}  // namespace

Result<RecoveredArchive> ReadArchive(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status = {};
  if (!file || fstat(file.get(), &status) != 0)
    return Fail(CodeOfErrno(errno), "{}: {}", path, ErrnoWords(errno));
  RecoveredArchive found;
  found.path = path;
  found.size_bytes = static_cast<uint64_t>(status.st_size);
  Result<ArchiveIndex> index = ReadIndex(file.get(), found.size_bytes);
  if (!index) return Fail(index.code(), "{}: {}", path, index.error().message);
  found.index = std::move(*index);
  found.xrdec_file_size = FileSizeAttribute(file.get());
  if (!found.index.manifest.empty()) {
    Result<Manifest> manifest = Manifest::Parse(found.index.manifest);
    if (!manifest) return Fail(manifest.code(), "{}: {}", path, manifest.error().message);
    found.manifest = std::move(*manifest);
  }
  return found;
}

std::map<std::string, FoundObject> GroupByObject(std::vector<RecoveredArchive> archives) {
  std::map<std::string, FoundObject> objects;
  for (RecoveredArchive& archive : archives) {
    if (!archive.manifest) continue;
    const Manifest& manifest = *archive.manifest;
    FoundObject& object = objects[manifest.object_id];
    if (object.archives.empty()) {
      object.geometry = manifest.geometry;
      object.size_bytes = manifest.size_bytes;
      object.parts = manifest.parts;
      object.path = manifest.path;
      object.object_id = manifest.object_id;
      object.checksums = manifest.checksums;
    }
    // Archives that disagree belong to no object that could be put together.
    if (manifest.geometry == object.geometry && manifest.size_bytes == object.size_bytes &&
        manifest.parts == object.parts) {
      object.archives.push_back(std::move(archive));
    }
  }
  return objects;
}

Result<FoundObject> XrdecObject(std::string path, std::vector<RecoveredArchive> archives, Geometry geometry,
                                std::optional<uint64_t> size_bytes) {
  if (archives.empty()) return Fail(Code::kDataLoss, "no archive of {} was found", path);
  FoundObject object;
  object.geometry = geometry;
  object.path = std::move(path);
  for (const RecoveredArchive& archive : archives) {
    if (!size_bytes) size_bytes = archive.xrdec_file_size;
  }
  // By stripe and chunk: the sizes of the members.
  std::map<uint64_t, std::map<uint32_t, uint64_t>> sizes;
  for (const RecoveredArchive& archive : archives) {
    for (const ArchiveMember& member : archive.index.members) {
      if (member.name.chunk >= geometry.Total() || member.size_bytes > geometry.chunk_size_bytes) {
        return Fail(Code::kInvalidArgument,
                    "{} has the member {} of {} bytes, which does not fit {} with chunks of {}", archive.path,
                    member.name.ToString(), member.size_bytes, geometry.ToString(),
                    FormatSize(geometry.chunk_size_bytes));
      }
      sizes[member.name.stripe][member.name.chunk] = member.size_bytes;
    }
  }
  if (!size_bytes && sizes.empty()) size_bytes = 0;
  if (!size_bytes) {
    const auto& [stripe, chunks] = *sizes.rbegin();
    uint64_t last = 0;
    for (uint32_t chunk = 0; chunk < geometry.data_chunks; ++chunk) {
      const auto found = chunks.find(chunk);
      if (found == chunks.end()) {
        return Fail(Code::kInvalidArgument,
                    "the size of {} cannot be told, since chunk {} of its last stripe is missing: "
                    "say --size BYTES",
                    object.path, chunk);
      }
      last += found->second;
    }
    size_bytes = stripe * geometry.StripeSize() + last;
  }
  object.size_bytes = *size_bytes;
  object.archives = std::move(archives);
  return object;
}

namespace {

// Puts one object together, stripe by stripe.
class Rebuilder {
 public:
  Rebuilder(const FoundObject& object, const std::function<void(const std::string&)>& complain)
      : object_(object), complain_(complain) {}

  Status Open() {
    for (size_t i = 0; i < object_.archives.size(); ++i) {
      files_.emplace_back(open(object_.archives[i].path.c_str(), O_RDONLY | O_CLOEXEC));
      if (!files_.back())
        return Fail(CodeOfErrno(errno), "{}: {}", object_.archives[i].path, ErrnoWords(errno));
      for (const ArchiveMember& member : object_.archives[i].index.members) {
        members_[{member.name.stripe, member.name.chunk}].push_back({i, &member});
      }
    }
    return OkStatus();
  }

  // The bytes of the object in `stripe`; they live until the next call.
  Result<ByteSpan> Stripe(uint64_t stripe) {
    const Geometry& g = object_.geometry;
    const StripeMap stripes = object_.Stripes();
    const uint64_t length = stripes.ChunkBytes(stripe, 0);  // of every chunk, padded with zeros
    buffer_.assign(g.Total() * g.chunk_size_bytes, std::byte{0});
    ChunkMask present = 0, wanted = 0;
    for (uint32_t chunk = 0; chunk < g.Total(); ++chunk) {
      const uint64_t bytes = stripes.ChunkBytes(stripe, chunk);
      if (bytes == 0 || ReadChunk(stripe, chunk, bytes)) {
        present |= MaskOf(chunk);
      } else if (chunk < g.data_chunks) {
        wanted |= MaskOf(chunk);
      }
    }
    if (wanted != 0) XEC_TRY(Decode(stripe, present, wanted, length));
    return ByteSpan(buffer_).first(stripes.Of(stripe).bytes);
  }

 private:
  struct Copy {
    size_t archive;
    const ArchiveMember* member;
  };

  static ChunkMask MaskOf(uint32_t chunk) { return ChunkMask{1} << chunk; }

  MutableByteSpan ChunkSpan(uint32_t chunk) {
    // Chunks lie side by side, so that a stripe's data is contiguous.
    return MutableByteSpan(buffer_).subspan(chunk * object_.geometry.chunk_size_bytes,
                                            object_.geometry.chunk_size_bytes);
  }

  // Any good copy will do: the same chunk may have been copied from several servers.
  bool ReadChunk(uint64_t stripe, uint32_t chunk, uint64_t bytes) {
    const auto copies = members_.find({stripe, chunk});
    if (copies == members_.end()) return false;
    for (const Copy& copy : copies->second) {
      const Status read = ReadCopy(copy, ChunkSpan(chunk).first(bytes));
      if (read) return true;
      complain_(fmt::format("{}: {}: {}", object_.archives[copy.archive].path, copy.member->name.ToString(),
                            read.error().message));
      std::memset(ChunkSpan(chunk).data(), 0, bytes);
    }
    return false;
  }

  Status ReadCopy(const Copy& copy, MutableByteSpan into) {
    const ArchiveMember& member = *copy.member;
    if (member.size_bytes != into.size()) {
      return Fail(Code::kCorruption, "has {} bytes instead of {}", member.size_bytes, into.size());
    }
    const int fd = files_[copy.archive].get();
    XEC_TRY(ReadAt(fd, member.data_offset, into));
    // Sites may have configured XrdEc to keep a CRC-32C in the field.
    if (Crc32(into) == member.crc32 ||
        (!object_.archives[copy.archive].manifest && Crc32c(into) == member.crc32)) {
      return OkStatus();
    }
    return Fail(Code::kCorruption, "the checksum is wrong");
  }

  Status Decode(uint64_t stripe, ChunkMask present, ChunkMask wanted, uint64_t length) {
    std::vector<std::byte*> chunks;
    for (uint32_t chunk = 0; chunk < object_.geometry.Total(); ++chunk)
      chunks.push_back(ChunkSpan(chunk).data());
    const Status decoded = CodecFor(object_.geometry).Reconstruct(chunks, present, wanted, length);
    if (decoded) return OkStatus();
    return Fail(Code::kDataLoss, "stripe {} of {} cannot be read: {} of its chunks are good, {} are needed",
                stripe, object_.path, std::popcount(present), object_.geometry.data_chunks);
  }

  const FoundObject& object_;
  const std::function<void(const std::string&)>& complain_;
  std::vector<UniqueFd> files_;
  std::map<std::pair<uint64_t, uint32_t>, std::vector<Copy>> members_;
  std::vector<std::byte> buffer_;
};

}  // namespace

Status WriteObject(const FoundObject& object, const std::function<Status(ByteSpan)>& write,
                   const std::function<void(const std::string&)>& complain) {
  Rebuilder rebuilder(object, complain);
  XEC_TRY(rebuilder.Open());
  DigestOptions options;
  options.md5 = object.checksums.contains("md5");
  options.sha1 = object.checksums.contains("sha1");
  options.sha256 = object.checksums.contains("sha256");
  options.sha512 = object.checksums.contains("sha512");
  XEC_ASSIGN_OR_RETURN(ObjectDigests digests, ObjectDigests::Create(options));
  for (uint64_t at = 0; at < object.size_bytes;) {
    XEC_ASSIGN_OR_RETURN(const ByteSpan bytes, rebuilder.Stripe(object.Stripes().At(at).stripe));
    digests.Add(bytes);
    XEC_TRY(write(bytes));
    at += bytes.size();
  }
  const std::map<std::string, std::string> sums = digests.Finish();
  for (const auto& [name, value] : object.checksums) {
    const auto sum = sums.find(name);
    if (sum == sums.end() || sum->second == value) continue;
    return Fail(Code::kCorruption, "the {} of {} is {} instead of {}", name, object.path, sum->second, value);
  }
  return OkStatus();
}

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// Manifest: what an archive says about its object, as text in the ZIP comment. Grammar: docs/format.md.
// Plain values and pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hh"
#include "codec/geometry.hh"
#include "codec/stripe_map.hh"

namespace xec {

// Written; this one and those below it are read.
constexpr uint64_t kManifestFormat = 2;
// Of the serialised text.
constexpr size_t kManifestSizeMax = 32 * 1024;
// Of the lines of all user attributes together, percent-encoded (so binary values count up to threefold).
constexpr size_t kUserAttributesSizeMax = 16 * 1024;
constexpr size_t kUserAttributesMax = 256;
constexpr size_t kObjectPathSizeMax = 4096;  // bytes of the path itself
constexpr size_t kObjectIdSize = 24;         // lower-case hex digits
constexpr size_t kServerIdSizeMax = 64;
constexpr size_t kChecksumsMax = 16;
// Begins an unknown field that makes a manifest as long as the one that it is written over.
constexpr std::string_view kPaddingPrefix = "padding ";

enum class ManifestKind {
  kObject,   // an archive that holds (or would hold: a lane without chunks) part of the object
  kWitness,  // says that the version exists and where; holds no data
};

// Points to where the data was before a rename: a reader that does not find archives here looks there.
struct ManifestFrom {
  std::string path;     // object path in the store
  std::string version;  // printable, without blanks, as the protocol writes versions
  bool operator==(const ManifestFrom&) const = default;
};

// Sizes are bytes. The version is not in here: it is chosen after the archives are sealed, and lies in the
// archive's file name (docs/protocol.md).
struct Manifest {
  ManifestKind kind = ManifestKind::kObject;
  std::string object_id;  // kObjectIdSize lower-case hex digits
  uint64_t size_bytes = 0;
  Geometry geometry;
  uint32_t page_size_bytes = 0;  // 0: members have no page checksums
  std::vector<PartRun> parts;  // in the order of the object; none: it is one part from stripe 0 on
  std::string path;  // the object's path when it was written; any bytes but NUL; renames leave it
  int64_t mtime_ns = 0;  // since 1970 UTC; may be negative
  std::optional<uint32_t> mode;  // POSIX permission bits, 0..07777
  std::map<std::string, std::string>
      checksums;  // algorithm -> lower-case hex: "adler32", "crc32c", "md5", ...
  std::map<std::string, std::string> attributes;  // user attributes, any bytes; names not empty
  // Lane i lies on servers[i]; "" for a lane without archive (its chunks are all empty). At most kChunksMax.
  std::vector<std::string> servers;
  std::optional<uint32_t> lane;  // of this archive; absent in a witness that belongs to no lane
  std::optional<ManifestFrom> from;
  std::vector<uint32_t> debts;  // lanes that had not been written when the object was closed, ascending
  // Lines of ignorable fields that this program does not know, verbatim; kept so that copies keep them.
  std::vector<std::string> unknown_fields;

  bool operator==(const Manifest&) const = default;

  // As long as the manifest lives and stays as it is.
  StripeMap Stripes() const { return StripeMap(geometry, size_bytes, parts); }

  // Bytes of padding. Whenever an upload writes the ends of its archives once more, they get more of it: of
  // two that differ the one with more padding is the newer one.
  size_t PaddingSize() const;

  // What is wrong with the fields together, as a clause ("its mode is invalid"); nullptr when nothing is.
  const char* Problem() const;
  // True for a line "key value..." whose key is ignorable and unknown to this program: it may be kept.
  static bool IsUnknownField(std::string_view line);

  // The text, with its own checksum as the last line. Printable ASCII and line feeds only, hence never the
  // signature 50 4b 05 06. Error: kInvalidArgument when a field breaks a rule above or a limit is exceeded.
  Result<std::string> Serialize() const;

  // The inverse for untrusted text. Errors: kCorruption (checksum, grammar, limits); kUnsupported "written by
  // a newer XEC" for a later format number or an unknown critical field.
  static Result<Manifest> Parse(std::string_view text);
};

// kInvalidArgument, naming the limit and what was wanted, when these user attributes do not fit a manifest.
Status CheckUserAttributes(const std::map<std::string, std::string>& attributes);

}  // namespace xec

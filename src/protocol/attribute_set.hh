// SPDX-License-Identifier: LGPL-3.0-or-later
// User attributes set after a version was written, as one revision of them holds them: what a file `a.v.r`
// says. Every attribute carries the revision that set or removed it, so revisions that were made at the same
// time are merged, attribute by attribute, and none is lost (a last-writer-wins map).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/result.hh"
#include "protocol/version.hh"

namespace xec {

using UserAttributes = std::map<std::string, std::string>;
// nullopt: it is to be removed.
using AttributeChanges = std::map<std::string, std::optional<std::string>>;

// Bounds of a file, by whatever program it was written. They are far above what one set may write
// (archive/manifest.hh), because sets that were made at once are merged into one file.
constexpr size_t kAttributeEntriesMax = 8192;  // removed ones included
constexpr size_t kAttributeSetOverMax = 256;
constexpr size_t kAttributeSetBytesMax = 1024 * 1024;
// What one set writes is below this, so a reader tries this size first.
constexpr size_t kAttributeSetBytesUsual = 64 * 1024;

struct AttributeSet {
  struct Entry {
    Version revision;
    std::optional<std::string>
        value;  // nullopt: removed, which is never forgotten: a revision may turn up late
    bool operator==(const Entry&) const = default;
  };
  std::map<std::string, Entry> entries;
  std::set<Version> over;  // revisions whose content this one has in it

  // What a version was written with, as a revision that every set later is above.
  static AttributeSet WrittenWith(const UserAttributes& attributes, const Version& version);

  // Those that are set.
  UserAttributes Values() const;
  void Set(const std::string& name, std::optional<std::string> value, const Version& revision);
  // Of each attribute the later revision counts. Commutative, associative, idempotent. Answers whether the
  // other had any attribute that this one had not, or not as late.
  bool Merge(const AttributeSet& other);
  // Keeps to kAttributeSetOverMax by dropping the oldest, which are then only read once more.
  void CutOver();

  std::string Format() const;
  // Error: kCorruption.
  static Result<AttributeSet> Parse(std::string_view text);

  bool operator==(const AttributeSet&) const = default;
};

}  // namespace xec

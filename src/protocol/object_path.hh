// SPDX-License-Identifier: LGPL-3.0-or-later
// Names of objects, and where they lie on data servers (docs/protocol.md, "How a name is kept"). Pure.
//
//   name        /data/run 1/file#7
//   folder      /data/run%201                     contents of the directory /data/run 1
//   object dir  /data/run%201/file%237.~xo        all states of the name on one server
//
// Bytes that some protocol cannot carry (blank, '%', '?', '#', '&', control) are percent-encoded on disk. A
// component that would be longer than 255 bytes is shortened with a hash; its full name is then kept in the
// object directory as entries `n.<i>.<part>`.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hh"

namespace xec {

// Where the layout xrdec keeps the states of its names (docs/format.md, section 5): /a/b has its object
// directory in the folder /.xec/names/a.
inline constexpr std::string_view kNamesDirectory = "/.xec/names";

// Where the decisions about lists of members have their object directories.
inline constexpr std::string_view kListsDirectory = "/.xec/lists";

constexpr size_t kComponentBytesMax = 255;
// XRootD's cmsd reads names from its server into a line of 2 KiB, and a longer one cuts it off from the
// server for good. So a name leaves room for the server's own folder and for an entry of an object directory.
constexpr size_t kPathBytesMax = 1600;
inline constexpr std::string_view kObjectSuffix = ".~xo";
inline constexpr std::string_view kLongObjectSuffix = ".~xl";
inline constexpr std::string_view kLongFolderSuffix = ".~xd";

// A validated absolute name: no empty, "." or ".." parts, no reserved names, within the limits. "/" is the
// root. Cheap to copy: every request on a name needs its places, and copies share them. One that was moved
// from must not be used.
class ObjectPath {
 public:
  // Repeated and trailing slashes are dropped. Errors: kInvalidArgument, saying which rule is broken.
  static Result<ObjectPath> Parse(std::string_view text);

  // As Parse, for texts that XEC itself has written: also names from Registered(), and shortened folders.
  static Result<ObjectPath> ParseStored(std::string_view text);
  // The name of the decision which list of members has that epoch; no user can give it, and no walk comes to
  // it.
  static ObjectPath OfList(uint64_t epoch);
  bool IsOfList() const;
  // The name under which the layout xrdec keeps this one's states; no user can give it.
  ObjectPath Registered() const;

  const std::string& text() const { return places_->text; }
  bool IsRoot() const { return text() == "/"; }
  // The last component ("" for the root) decides the homes.
  std::string_view Last() const;
  ObjectPath Parent() const;  // the root's parent is the root
  Result<ObjectPath> Child(std::string_view component) const;
  bool IsBelow(const ObjectPath& directory) const;

  // On data servers: the object directory of the name (not for the root) and the folder of its contents.
  const std::string& ObjectDirectory() const;
  const std::string& Folder() const { return places_->folder; }
  // The plain place of the archive in the xrdec layout: the name as it is.
  const std::string& PlainPath() const { return text(); }

  // Names of the entries that keep a shortened name in its object directory; empty for others.
  std::vector<std::string> LongNameEntries() const;

  bool operator==(const ObjectPath& other) const { return text() == other.text(); }
  bool operator<(const ObjectPath& other) const { return text() < other.text(); }

 private:
  struct Places {
    std::string text;
    std::string folder;
    std::string object_directory;  // empty for the root
  };
  explicit ObjectPath(std::string text);
  std::shared_ptr<const Places> places_;
};

// What an entry of a folder on a data server is.
struct FolderEntryName {
  enum Kind { kObject, kLongObject, kOther } kind = kOther;
  std::string component;  // of kObject only; of kLongObject ask ReadLongName
};
FolderEntryName ParseFolderEntry(std::string_view entry);

bool IsLongNamePart(std::string_view entry);

// Puts the entries n.<i>.<part> of an object directory together; kCorruption when one is missing.
Result<std::string> ReadLongName(const std::vector<std::string>& entries);

}  // namespace xec

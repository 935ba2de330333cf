// SPDX-License-Identifier: LGPL-3.0-or-later
#include "inventory/lost_links.hh"

#include <cerrno>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/text.hh"
#include "placement/store_descriptor.hh"

namespace xec {
namespace {

namespace fs = std::filesystem;

bool IsIn(const fs::path& target, const fs::path& directory) {
  const auto [end, ignored] = std::mismatch(directory.begin(), directory.end(), target.begin(), target.end());
  return end == directory.end() || (end->empty() && std::next(end) == directory.end());
}

Error ErrorOf(const fs::path& path, const std::error_code& error) {
  const bool denied = error == std::errc::permission_denied;
  const bool none = error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory;
  return Fail(denied ? Code::kPermissionDenied
              : none ? Code::kNotFound
                     : Code::kUnavailable,
              "{} cannot be looked at: {}", path.string(), error.message());
}

std::vector<std::string> NamesIn(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error))
    names.push_back(entry->path().filename().string());
  return names;
}

class Search {
 public:
  Search(fs::path name_space, const std::string& disk, const std::function<void(LostFile)>& found)
      : name_space_(std::move(name_space)), found_(found) {
    if (disk.empty()) return;
    disks_.push_back(fs::path(disk).lexically_normal());
    // What links say may have been written by another way to the same place.
    std::error_code error;
    const fs::path real = fs::canonical(disk, error);
    if (!error && real != disks_.front()) disks_.push_back(real);
  }

  Result<LostLinks> Run() {
    std::error_code error;
    fs::recursive_directory_iterator entry(name_space_, error);
    if (error) return ErrorOf(name_space_, error);
    for (const fs::recursive_directory_iterator end; entry != end; entry.increment(error)) {
      if (error) return ErrorOf(name_space_, error);
      if (!entry->is_symlink(error)) continue;
      XEC_TRY(Link(entry->path()));
    }
    if (error) return ErrorOf(name_space_, error);
    return std::move(links_);
  }

 private:
  bool LeadsIntoDisk(const fs::path& target) const {
    if (disks_.empty()) return true;
    return std::any_of(disks_.begin(), disks_.end(),
                       [&](const fs::path& disk) { return IsIn(target, disk); });
  }

  Status Link(const fs::path& link) {
    ++links_.links;
    std::error_code error;
    const fs::path said = fs::read_symlink(link, error);
    if (error) return ErrorOf(link, error);
    const fs::path target = (link.parent_path() / said).lexically_normal();
    if (!LeadsIntoDisk(target)) return OkStatus();
    ++links_.into_disk;
    const fs::file_status status = fs::status(link, error);
    if (error == std::errc::permission_denied) return ErrorOf(target, error);
    // A disk that answers with errors has lost it as well.
    if (!error && fs::exists(status)) return OkStatus();
    ++links_.dangling;
    Count(link);
    return OkStatus();
  }

  void Count(const fs::path& link) {
    const std::string relative = "/" + link.lexically_relative(name_space_).string();
    if (relative == kIdentityPath) links_.identity = true;
    const std::optional<std::string> object = ObjectOf(link.parent_path());
    const std::optional<State> state = ParseState(link.filename().string());
    if (!object || !state) {
      ++links_.foreign;
    } else if (state->kind == StateKind::kPromoted) {
      ++links_.archives;
      found_({*object, *state});
    } else if (state->kind == StateKind::kSealed) {
      ++links_.uploads;
    } else {
      ++links_.others;
    }
  }

  // The object whose directory that is.
  std::optional<std::string> ObjectOf(const fs::path& directory) {
    const std::string name = directory.filename().string();
    const FolderEntryName entry = ParseFolderEntry(name);
    if (entry.kind == FolderEntryName::kOther) return std::nullopt;
    std::optional<std::string> last = entry.component;
    if (entry.kind == FolderEntryName::kLongObject) last = LongName(directory);
    const std::optional<std::string> above = DirectoryAt(directory.parent_path());
    if (!last || !above) return std::nullopt;
    return *above + "/" + *last;
  }

  static std::optional<std::string> LongName(const fs::path& object_directory) {
    Result<std::string> name = ReadLongName(NamesIn(object_directory));
    return name ? std::optional(std::move(*name)) : std::nullopt;
  }

  // The directory of the store whose folder that is; "" of the root. The last one is asked for again and
  // again.
  std::optional<std::string> DirectoryAt(const fs::path& folder) {
    if (folder == known_folder_) return known_directory_;
    std::string text;
    fs::path at = name_space_;
    for (const fs::path& part : folder.lexically_relative(name_space_)) {
      if (part == ".") continue;
      const std::string name = part.string();
      std::optional<std::string> component = PercentDecode(name);
      if (name.ends_with(kLongFolderSuffix)) {
        const std::string stem = name.substr(0, name.size() - kLongFolderSuffix.size());
        component = LongName(at / (stem + std::string(kLongObjectSuffix)));
      }
      if (!component) return std::nullopt;
      text += "/" + *component;
      at /= part;
    }
    known_folder_ = folder;
    known_directory_ = text;
    return text;
  }

  const fs::path name_space_;
  std::vector<fs::path> disks_;
  const std::function<void(LostFile)>& found_;
  LostLinks links_;
  fs::path known_folder_;
  std::string known_directory_;
};

}  // namespace

Result<LostLinks> FindLostLinks(const std::string& name_space, const std::string& disk,
                                const std::function<void(LostFile)>& found) {
  std::error_code error;
  const fs::path root = fs::absolute(name_space, error).lexically_normal();
  if (error) return ErrorOf(name_space, error);
  const bool slash = root.filename().empty() && root.has_parent_path() && root != root.root_path();
  return Search(slash ? root.parent_path() : root, disk, found).Run();
}

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// xec recover: finds archives below folders, chooses the object, writes it.
#include <cstdio>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "cli/commands.hh"
#include "cli/local_output.hh"
#include "cli/recover.hh"
#include "cli/terminal.hh"

namespace xec {
namespace {

namespace fs = std::filesystem;

struct Found {
  std::vector<RecoveredArchive> archives;
  std::vector<std::string> problems;  // files that are no readable archives
};

// All files below a folder; what cannot be looked at is a problem, and the rest is found.
std::vector<std::string> FilesBelow(const std::string& folder, std::vector<std::string>& problems) {
  std::vector<std::string> files;
  std::vector<fs::path> folders{folder};
  const auto note = [&](const fs::path& path, const std::error_code& error) {
    problems.push_back(fmt::format("{}: {}", path.string(), error.message()));
  };
  while (!folders.empty()) {
    const fs::path current = std::move(folders.back());
    folders.pop_back();
    std::error_code error;
    fs::directory_iterator entries(current, error);
    for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
      std::error_code unseen;
      // Symbolic links to files are followed, since a server with data spaces has them; those to folders not.
      const fs::file_status status = entries->status(unseen);
      if (fs::is_regular_file(status)) files.push_back(entries->path().string());
      if (status.type() == fs::file_type::none) note(entries->path(), unseen);
      if (!fs::is_directory(status) || entries->is_symlink(unseen)) continue;
      if ("/" + entries->path().filename().string() != kReservedDirectory) folders.push_back(entries->path());
    }
    if (error) note(current, error);
  }
  return files;
}

Status Search(const CommandLine& line, Found& found) {
  const auto wanted = [&](const std::string& path) {
    if (line.names.empty()) return true;
    return std::any_of(line.names.begin(), line.names.end(), [&](const std::string& name) {
      return path.ends_with(name) && (path.size() == name.size() || name.starts_with('/') ||
                                      path[path.size() - name.size() - 1] == '/');
    });
  };
  for (const std::string& folder : line.operands) {
    std::error_code error;
    const fs::file_status status = fs::status(folder, error);
    if (status.type() == fs::file_type::not_found) return Fail(Code::kNotFound, "{} does not exist", folder);
    std::vector<std::string> paths{folder};
    if (!fs::is_regular_file(status)) paths = FilesBelow(folder, found.problems);
    for (const std::string& path : paths) {
      if (!wanted(path)) continue;
      Result<RecoveredArchive> archive = ReadArchive(path);
      if (archive) {
        found.archives.push_back(std::move(*archive));
      } else {
        found.problems.push_back(archive.error().message);
      }
    }
  }
  return OkStatus();
}

std::string Describe(const FoundObject& object) {
  return fmt::format("{}  {}  {} bytes, {}, {} archives found", object.object_id, object.path,
                     object.size_bytes, object.geometry.ToString(), object.archives.size());
}

Result<FoundObject> Choose(const CommandLine& line, Found& found) {
  const Configuration& c = line.configuration;
  if (c.chunks || c.chunk_size_bytes || !line.names.empty()) {
    std::vector<RecoveredArchive> plain;
    for (RecoveredArchive& archive : found.archives) {
      if (!archive.manifest) plain.push_back(std::move(archive));
    }
    if (!plain.empty()) {
      if (!c.chunks || !c.chunk_size_bytes) {
        return Fail(Code::kInvalidArgument,
                    "archives of XrdEc do not say their geometry: say --geometry and --chunk-size");
      }
      return XrdecObject(line.names.empty() ? plain.front().path : line.names.front(), std::move(plain),
                         c.GeometryOver(Geometry{}), line.size);
    }
  }
  std::map<std::string, FoundObject> objects = GroupByObject(std::move(found.archives));
  std::erase_if(objects, [&](const auto& entry) {
    if (line.object.empty()) return false;
    return !entry.first.starts_with(line.object) && entry.second.path != line.object;
  });
  if (objects.empty()) {
    std::string message = "no archives of an object were found";
    if (!found.problems.empty()) message += "; the first problem: " + found.problems.front();
    return Fail(Code::kNotFound, "{}", message);
  }
  if (objects.size() > 1) {
    std::string message = "the folders hold several objects; choose one with --object ID:";
    for (const auto& [id, object] : objects) message += "\n  " + Describe(object);
    return Fail(Code::kInvalidArgument, "{}", message);
  }
  return std::move(objects.begin()->second);
}

}  // namespace

Result<int> RunRecover(const CommandLine& line) {
  CatchInterrupts();
  Found found;
  XEC_TRY(Search(line, found));
  XEC_ASSIGN_OR_RETURN(const FoundObject object, Choose(line, found));
  XEC_ASSIGN_OR_RETURN(LocalOutput output,
                       LocalOutput::Open(line.output, object.path.substr(object.path.rfind('/') + 1)));
  Progress progress("recover " + object.path, object.size_bytes, line.quiet);
  std::vector<std::string> bad = found.problems;
  const auto write = [&](ByteSpan bytes) {
    progress.Add(bytes.size());
    return output.Write(bytes);
  };
  XEC_TRY(WriteObject(object, write, [&](const std::string& problem) { bad.push_back(problem); }));
  XEC_TRY(output.Finish());
  if (line.json && !output.standard_output()) {
    const nlohmann::ordered_json json = {{"path", object.path},
                                         {"object_id", object.object_id},
                                         {"size", object.size_bytes},
                                         {"geometry", object.geometry.ToString()},
                                         {"archives", object.archives.size()},
                                         {"bad", bad}};
    fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  } else if (!line.quiet) {
    for (const std::string& problem : bad) fmt::print(stderr, "xec: {}\n", problem);
    if (!output.standard_output()) fmt::print("{}  from {}\n", output.target(), Describe(object));
  }
  return kExitOk;
}

}  // namespace xec

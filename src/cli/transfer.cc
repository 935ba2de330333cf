// SPDX-License-Identifier: LGPL-3.0-or-later
// put, get and cat.
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <map>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "cli/commands.hh"
#include "cli/local_output.hh"
#include "cli/owner.hh"
#include "cli/terminal.hh"
#include "runtime/sync_wait.hh"
#include "server/kinds/local_root.hh"

namespace xec {
namespace {

constexpr size_t kPieceBytes = 8 * kMiB;

std::string LastPart(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return std::string(path.substr(path.rfind('/') + 1));
}

struct Source {
  UniqueFd file;
  std::optional<uint64_t> size;  // of regular files
};

Result<Source> OpenSource(const std::string& path) {
  Source source;
  if (path == "-") {
    source.file = UniqueFd(dup(STDIN_FILENO));
  } else {
    const AsCaller caller;
    source.file = UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  }
  struct stat status = {};
  if (!source.file || fstat(source.file.get(), &status) != 0) {
    return Fail(CodeOfErrno(errno), "cannot read {}: {}", path, ErrnoWords(errno));
  }
  if (S_ISDIR(status.st_mode)) return Fail(Code::kIsDirectory, "{} is a directory", path);
  if (S_ISREG(status.st_mode)) source.size = static_cast<uint64_t>(status.st_size);
  return source;
}

// Fills `piece` from the file; fewer bytes only at its end.
Result<size_t> ReadPiece(int fd, MutableByteSpan piece, const std::string& path) {
  size_t got = 0;
  while (got < piece.size() && !Interrupted()) {
    const ssize_t count = read(fd, piece.data() + got, piece.size() - got);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Fail(CodeOfErrno(errno), "cannot read {}: {}", path, ErrnoWords(errno));
    if (count == 0) break;
    got += static_cast<size_t>(count);
  }
  return got;
}

Result<Committed> PutOne(const CommandLine& line, OpenedStore& store, const std::string& from,
                         const std::string& to) {
  XEC_ASSIGN_OR_RETURN(Source source, OpenSource(from));
  CreateOptions options = store.CreateOptionsFor(to);
  options.write.only_if.absent = line.exclusive;
  // The chunk size depends on it. Files of /proc have content and no size.
  if (source.size.value_or(0) > 0) options.write.size_hint = source.size;
  XEC_ASSIGN_OR_RETURN(std::unique_ptr<WriteHandle> writer, SyncWait(store.store().Create(to, options)));
  const auto buffer = Buffer::Allocate(kPieceBytes);
  Progress progress("put " + to, source.size.value_or(0), line.quiet);
  while (true) {
    Result<size_t> got = ReadPiece(source.file.get(), buffer->span(), from);
    if (got && Interrupted()) got = Fail(Code::kCancelled, "interrupted: nothing was stored under {}", to);
    Status appended = got ? OkStatus() : Status(got.error());
    if (got && *got > 0) appended = SyncWait(writer->Append(buffer->span().first(*got)));
    if (!appended) {
      SyncWait(writer->Abandon());
      return appended.error();
    }
    progress.Add(*got);
    if (*got < kPieceBytes) break;
  }
  return SyncWait(writer->Commit());
}

// Where `from` goes below the operand `to`: into it when it is a directory or ends with a slash.
Result<std::string> PutTarget(OpenedStore& store, const std::string& from, const std::string& to,
                              bool several) {
  bool directory = to.ends_with('/');
  if (!directory) {
    const Result<ObjectInfo> info = SyncWait(store.store().Stat(to));
    if (!info && info.code() != Code::kNotFound) return info.error();
    directory = info && info->directory;
  }
  if (!directory && several)
    return Fail(Code::kNotDirectory, "{} must be a directory to hold several objects", to);
  if (!directory) return to;
  if (from == "-") return Fail(Code::kInvalidArgument, "standard input needs a name: {} is a directory", to);
  return to + (to.ends_with('/') ? "" : "/") + LastPart(from);
}

struct Transfer {
  std::string from, to;
};

// All of them, before anything is stored.
Result<std::vector<Transfer>> PlanPut(const CommandLine& line, OpenedStore& store) {
  const size_t count = line.operands.size() - 1;
  std::vector<Transfer> plan;
  std::map<std::string, std::string> source_of;
  for (size_t i = 0; i < count; ++i) {
    const std::string& from = line.operands[i];
    XEC_ASSIGN_OR_RETURN(std::string to, PutTarget(store, from, line.operands.back(), count > 1));
    const auto [other, fresh] = source_of.emplace(to, from);
    if (!fresh)
      return Fail(Code::kInvalidArgument, "{} and {} would both become {}: nothing was stored", other->second,
                  from, to);
    plan.push_back({from, std::move(to)});
  }
  return plan;
}

Status CopyOut(OpenedStore& store, const std::string& path, LocalOutput& output, bool quiet) {
  XEC_ASSIGN_OR_RETURN(std::shared_ptr<ReadHandle> reader, SyncWait(store.store().Open(path)));
  const auto buffer = Buffer::Allocate(kPieceBytes);
  Progress progress("get " + path, reader->size(),
                    quiet || (output.standard_output() && isatty(STDOUT_FILENO) == 1));
  uint64_t offset = 0;
  while (offset < reader->size()) {
    if (Interrupted()) return Fail(Code::kCancelled, "interrupted");
    XEC_ASSIGN_OR_RETURN(const uint64_t got, SyncWait(reader->Read(offset, buffer->span())));
    if (got == 0) return Fail(Code::kInternal, "{} ended at byte {} of {}", path, offset, reader->size());
    XEC_TRY(output.Write(buffer->span().first(got)));
    offset += got;
    progress.Add(got);
  }
  return OkStatus();
}

}  // namespace

Result<int> RunPut(const CommandLine& line, OpenedStore& store) {
  XEC_ASSIGN_OR_RETURN(const std::vector<Transfer> plan, PlanPut(line, store));
  nlohmann::ordered_json report = nlohmann::ordered_json::array();
  for (const auto& [from, target] : plan) {
    Result<Committed> done = PutOne(line, store, from, target);
    if (!done && done.code() == Code::kCancelled && Interrupted()) return kExitInterrupted;
    if (!done) return done.error();
    if (line.json) {
      report.push_back(
          {{"path", target}, {"size", done->size}, {"checksums", done->checksums}, {"debts", done->debts}});
    } else if (!line.quiet) {
      const std::string debt =
          done->debts.empty() ? "" : fmt::format("  (a debt of {} archives)", done->debts.size());
      fmt::print("{}  {}{}\n", target, FormatSize(done->size), debt);
    }
  }
  if (line.json) fmt::print("{}\n", report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  return kExitOk;
}

Result<int> RunGet(const CommandLine& line, OpenedStore& store) {
  const bool cat = line.command == "cat";
  std::vector<std::string> sources = line.operands;
  std::string target = "-";
  if (!cat) {
    target = sources.back();
    sources.pop_back();
  }
  for (const std::string& path : sources) {
    XEC_ASSIGN_OR_RETURN(LocalOutput output, LocalOutput::Open(target, LastPart(path)));
    XEC_TRY(CopyOut(store, path, output, cat || line.quiet));
    XEC_TRY(output.Finish());
    if (!cat && !line.quiet && !output.standard_output()) {
      if (line.json) {
        fmt::print("{}\n", nlohmann::json({{"path", path}, {"file", output.target()}}).dump(2));
      } else {
        fmt::print("{}\n", output.target());
      }
    }
  }
  return kExitOk;
}

}  // namespace xec

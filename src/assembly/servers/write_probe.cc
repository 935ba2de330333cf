// SPDX-License-Identifier: LGPL-3.0-or-later
#include "assembly/servers/write_probe.hh"

#include <unistd.h>

#include "assembly/servers/server_kinds.hh"
#include "base/units.hh"
#include "placement/store_descriptor.hh"
#include "server/health/server_health.hh"

namespace xec {
namespace {

// Together with the folder it needs more than what a gateway's own clock (commit/disk/disk_clock.hh) frees on
// a full disk in one round, and takes again in the next: one small file.
constexpr size_t kProbeBytes = 64 * kKiB;
// With more bytes free than this something else has run out.
constexpr uint64_t kNotFullBytes = kMiB;

// A folder where the file should be, or a file in place of the folder, as a full disk may have left it.
bool IsInTheWay(const Status& made) {
  if (made) return false;
  switch (made.code()) {
    case Code::kAlreadyExists:
    case Code::kConflict:
    case Code::kIsDirectory:
    case Code::kNotDirectory: return true;
    default: return false;
  }
}

// A folder that is not empty cannot be removed; the system looks first whether names may be removed beside
// it.
Task<Status> TryRoot(CallContext call, DataServerPtr server) {
  Status removed = co_await RemoveDirectory(call, server, std::string(kReservedDirectory));
  if (removed) co_return OkStatus();
  // Any other answer came after that look.
  if (EndOf(removed.code()) != RequestEnd::kAnswered) co_return removed.error();
  if (!RefusalOf(removed.error())) co_return OkStatus();
  // Nobody need be alarmed by how it was asked.
  const std::string& words = removed.error().message;
  const size_t end = words.find_last_of(":;");
  co_return Fail(removed.code(), "no name can be made in {}:{}", server->name(),
                 end == std::string::npos ? " " + words : words.substr(end + 1));
}

Task<Status> TryFile(Executor& executor, DataServerPtr server, Duration each) {
  const auto call = [&] { return CallContext{&executor, executor.Now() + each}; };
  const std::string path(kProbePath);
  const std::string content(kProbeBytes, '\0');
  Status made = co_await CreateFile(call(), server, path, content, false);
  if (IsInTheWay(made)) {
    // Left by a process that was killed, or of one that is trying right now.
    const Status cleared = co_await ClearProbe(executor, server, each);
    if (!cleared && RefusalOf(cleared.error())) co_return cleared.error();
    made = co_await CreateFile(call(), server, path, content, false);
    if (IsInTheWay(made)) co_return OkStatus();
  }
  // What could not be written to its end is there.
  if (made || made.code() != Code::kPermissionDenied) (void)co_await ClearProbe(executor, server, each);
  co_return std::move(made);
}

std::string Describe(WriteRefusal refusal, const Error& error, const DataServer& server,
                     const Result<Space>& space) {
  const std::string& words = error.message;
  const bool local = KindOf(server.name()).local;
  switch (refusal) {
    case WriteRefusal::kReadOnly:
      return fmt::format(
          "its file system is read-only ({}): look for errors of its disk, then mount it for writing", words);
    case WriteRefusal::kDenied:
      return fmt::format("user {} has no permission ({}): see the owner and the mode of its directories",
                         local ? fmt::format("{}", geteuid()) : "of the data server", words);
    case WriteRefusal::kFull:
      if (space && space->free_bytes > kNotFullBytes)
        return fmt::format(
            "no small file can be made although {} are free ({}): its inodes, or a quota, are used up",
            FormatSize(space->free_bytes), words);
      return fmt::format("it is full ({}): remove objects, or make its file system larger", words);
  }
  return {};
}

}  // namespace

Task<Status> ClearProbe(Executor& executor, DataServerPtr server, Duration each) {
  const auto call = [&] { return CallContext{&executor, executor.Now() + each}; };
  Status removed = co_await Remove(call(), server, std::string(kProbePath));
  const Status folder = co_await RemoveDirectory(call(), server, std::string(kProbeFolder));
  if (!folder && folder.code() == Code::kNotDirectory)
    (void)co_await Remove(call(), server, std::string(kProbeFolder));
  const bool gone = removed || removed.code() == Code::kNotFound || removed.code() == Code::kNotDirectory;
  co_return gone ? OkStatus() : std::move(removed);
}

std::optional<WriteRefusal> RefusalOf(const Error& error) {
  if (error.code == Code::kNoSpace) return WriteRefusal::kFull;
  if (error.code != Code::kPermissionDenied) return std::nullopt;
  // One code for both; the words are the system's, those of a server in lower case.
  const bool read_only = error.message.find("ead-only file system") != std::string::npos;
  return read_only ? WriteRefusal::kReadOnly : WriteRefusal::kDenied;
}

Task<Result<TriedWrites>> TryWrites(Executor& executor, DataServerPtr server, bool root, Duration each) {
  Status tried;
  if (root) {
    const CallContext call{&executor, executor.Now() + each};
    tried = co_await TryRoot(call, server);
  }
  if (tried) tried = co_await TryFile(executor, server, each);
  TriedWrites shown;
  if (tried) co_return std::move(shown);
  shown.refusal = RefusalOf(tried.error());
  if (!shown.refusal) co_return tried.error();
  Result<Space> space = Space{};
  if (*shown.refusal == WriteRefusal::kFull) {
    const CallContext call{&executor, executor.Now() + each};
    space = co_await GetSpace(call, server);
  }
  shown.why = Describe(*shown.refusal, tried.error(), *server, space);
  co_return std::move(shown);
}

WriteWatch::News WriteWatch::Note(size_t server, std::optional<WriteRefusal> refusal, TimePoint now) {
  Told& told = told_[server];
  if (!refusal) {
    if (!told.refusal || ++told.well < kWellRounds) return News::kNone;
    told.refusal.reset();
    return News::kTakes;
  }
  told.well = 0;
  if (told.refusal == refusal) return News::kNone;
  if (!told.refusal) told.since = now;
  told.refusal = refusal;
  return News::kRefuses;
}

}  // namespace xec

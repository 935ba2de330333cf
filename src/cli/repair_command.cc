// SPDX-License-Identifier: LGPL-3.0-or-later
// xec repair.
#include <set>

#include "base/contains.hh"
#include "cli/census_report.hh"
#include "cli/commands.hh"
#include "cli/terminal.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

const std::string& IdOf(const StoreMaintenance& store, MemberIndex member) {
  return store.descriptor().members[member].id;
}

std::string Words(const StoreMaintenance& store, MemberIndex member) {
  return fmt::format("{} ({})", IdOf(store, member), store.AddressOf(member));
}

// Servers that will not come back: those the user says, and those whose folders are gone.
Result<std::vector<MemberIndex>> FindGone(const CommandLine& line, StoreMaintenance& store) {
  XEC_ASSIGN_OR_RETURN(std::vector<MemberIndex> gone, SyncWait(store.FindGone()));
  for (const MemberIndex member : gone) {
    fmt::print(stderr, "xec: {} has nothing of the store any more: what it held is written anew elsewhere\n",
               Words(store, member));
  }
  for (const std::string& said : line.gone) {
    std::optional<MemberIndex> found;
    const std::vector<Member>& members = store.descriptor().members;
    for (size_t i = 0; i < members.size(); ++i) {
      const auto member = static_cast<MemberIndex>(i);
      const bool meant =
          members[i].id == said || members[i].address == said || store.AddressOf(member) == said;
      if (meant) found = member;
    }
    if (!found)
      return Fail(Code::kInvalidArgument, "--gone: {} is no member of the store (see xec health)", said);
    if (!Contains(gone, *found)) gone.push_back(*found);
  }
  return gone;
}

class Repairs {
 public:
  Repairs(const CommandLine& line, StoreMaintenance& store, std::vector<MemberIndex> gone)
      : line_(line), store_(store), gone_(std::move(gone)), status_(line.quiet || line.json) {}

  // An object that cannot be repaired is told, and the next one follows.
  // `bring`: listings may not find it.
  Status One(const std::string& path, bool bring) {
    if (Interrupted()) return Fail(Code::kCancelled, "interrupted");
    RepairOptions options;
    options.gone = gone_;
    options.progress = [&](uint64_t bytes) {
      read_bytes_ += bytes;
      status_.Show([&] {
        return fmt::format("repair: {} objects looked at, {} needed repair, {} read; {}", objects_, needed_,
                           FormatSize(read_bytes_), path);
      });
    };
    const Result<RepairReport> report = SyncWait(store_.Repair(path, std::move(options)));
    if (!report && report.code() == Code::kNotFound) return report.error();
    if (!report && report.code() == Code::kUnsupported) return report.error();
    if (!report && report.code() == Code::kNotDirectory) return report.error();
    ++objects_;
    status_.Wipe();
    if (!report) {
      ++needed_;
      damaged_ = damaged_ || report.code() == Code::kDataLoss || report.code() == Code::kCorruption;
      TellError(path, report.error());
      return OkStatus();
    }
    if (report->archives_bad > 0) ++needed_;
    if (report->archives_bad > 0 && report->problems.empty()) ++repaired_;
    if (bring) Bring(path);
    silent_.insert(report->silent.begin(), report->silent.end());
    open_ = open_ || report->archives_silent > 0 || !report->problems.empty();
    Tell(path, *report);
    return OkStatus();
  }

  // All objects below a directory, also those that no listing finds. One that cannot be listed is told, and
  // the next one follows.
  Status Below(const std::string& directory, bool in_tree) {
    if (Interrupted()) return Fail(Code::kCancelled, "interrupted");
    const Result<StoredNames> names = SyncWait(store_.ListStored(directory));
    if (!names && names.code() == Code::kCancelled) return names.error();
    if (!names && names.code() != Code::kNotFound) {
      ++unlisted_;
      status_.Wipe();
      TellError(directory, names.error());
    }
    if (!names) return OkStatus();
    for (const ListedName& name : names->names) {
      const std::string path = (directory == "/" ? "" : directory) + "/" + name.name;
      const Status done = name.directory ? Below(path, in_tree) : One(path, !in_tree);
      // Removed meanwhile.
      if (!done && done.code() != Code::kNotFound) return done.error();
    }
    for (const std::string& gone : names->gone) {
      const Status done = Below(gone, false);
      if (!done) return done.error();
    }
    return OkStatus();
  }

  // What all came to; `census`: of --all.
  int Finish(const Census* census) {
    status_.Wipe();
    if (line_.json) {
      PrintJson(census ? Summary(*census) : json_);
    } else {
      if (census) {
        fmt::print("{} of {} objects needed repair; {} of them were repaired\n", needed_, objects_,
                   repaired_);
        if (brought_ > 0) fmt::print("{} objects were in no listing, and are again\n", brought_);
        if (unlisted_ > 0)
          fmt::print("{} directories could not be listed; what is below them was not looked at\n", unlisted_);
        fmt::print("\n");
        PrintCensus(*census);
      }
      TellSilent();
    }
    const int code = census ? CensusExitCode(*census) : kExitOk;
    if (damaged_ || code == kExitDamage) return kExitDamage;
    return open_ || code != kExitOk ? kExitRetry : kExitOk;
  }

 private:
  // Back into the tree, if no listing finds it.
  void Bring(const std::string& path) {
    const Result<bool> brought = SyncWait(store_.BringIntoTree(path));
    if (!brought) TellError(path, brought.error());
    if (!brought || !*brought) return;
    ++brought_;
    if (line_.json) {
      json_.push_back({{"path", path}, {"brought_back", true}});
    } else if (!line_.quiet) {
      fmt::print("{}  was in no listing, and is again\n", path);
    }
  }

  Json Summary(const Census& census) const {
    Json gone = Json::array();
    for (const MemberIndex member : gone_) gone.push_back(IdOf(store_, member));
    return {{"objects", objects_}, {"needed_repair", needed_},    {"repaired", repaired_},
            {"gone", gone},        {"unlisted", unlisted_},       {"brought_back", brought_},
            {"details", json_},    {"census", CensusJson(census)}};
  }

  void TellSilent() const {
    for (const MemberIndex member : silent_) {
      fmt::print("{} does not answer; what it holds was left alone. If it is lost for good: --gone {}\n",
                 Words(store_, member), IdOf(store_, member));
    }
  }

  void TellError(const std::string& path, const Error& error) {
    open_ = true;
    if (line_.json) {
      json_.push_back({{"path", path}, {"error", error.message}});
    } else {
      fmt::print("{}  {}\n", path, error.message);
    }
  }

  void Tell(const std::string& path, const RepairReport& report) {
    if (line_.all && report.Whole()) return;
    if (line_.json) {
      json_.push_back({{"path", path},
                       {"bad", report.archives_bad},
                       {"made", report.archives_made},
                       {"silent", report.archives_silent},
                       {"changes", report.made},
                       {"problems", report.problems}});
      return;
    }
    for (const std::string& problem : report.problems) fmt::print("{}  {}\n", path, problem);
    if (line_.quiet) return;
    std::string text = report.Whole() ? "is whole"
                                      : fmt::format("{} of {} archives written anew", report.archives_made,
                                                    report.archives_bad);
    if (report.archives_silent > 0)
      text += fmt::format(", {} on servers that do not answer", report.archives_silent);
    for (const std::string& made : report.made) text += "; " + made;
    fmt::print("{}  {}\n", path, text);
    std::fflush(stdout);  // a long run is watched, through a pipe too
  }

  const CommandLine& line_;
  StoreMaintenance& store_;
  const std::vector<MemberIndex> gone_;
  StatusLine status_;
  uint64_t objects_ = 0, needed_ = 0, repaired_ = 0;
  uint64_t unlisted_ = 0;  // directories
  uint64_t brought_ = 0;  // back into the tree
  uint64_t read_bytes_ = 0;
  std::set<MemberIndex> silent_;
  Json json_ = Json::array();
  bool damaged_ = false;
  bool open_ = false;
};

}  // namespace

Result<int> RunRepair(const CommandLine& line, OpenedStore& store) {
  if (line.all != line.operands.empty()) {
    return Fail(Code::kInvalidArgument, "xec repair wants either objects or --all; see xec repair --help");
  }
  XEC_ASSIGN_OR_RETURN(StoreMaintenance* const maintenance, store.maintenance());
  XEC_ASSIGN_OR_RETURN(std::vector<MemberIndex> gone, FindGone(line, *maintenance));
  Repairs repairs(line, *maintenance, std::move(gone));
  Status status;
  if (line.all) status = repairs.Below("/", true);
  for (const std::string& path : line.operands) {
    if (status) status = repairs.One(path, true);
  }
  std::optional<Census> census;
  if (status && line.all) {
    Result<Census> counted = CountObjects(line, *maintenance);
    if (!counted) status = counted.error();
    if (counted) census = std::move(*counted);
  }
  if (!status && status.code() == Code::kCancelled && Interrupted()) return kExitInterrupted;
  if (!status) return status.error();
  return repairs.Finish(census ? &*census : nullptr);
}

}  // namespace xec

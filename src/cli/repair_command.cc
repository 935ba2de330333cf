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

std::string ProgressText(const RebuildProgress& progress) {
  const double seconds = std::max(1e-3, std::chrono::duration<double>(progress.elapsed).count());
  const auto rate = static_cast<uint64_t>(static_cast<double>(progress.bytes_written) / seconds);
  std::string text = fmt::format(
      "repair: {} objects looked at, {}{} needed repair, {} repaired, {} read, {} of {} written, {}/s",
      progress.objects, progress.all_found ? "" : "so far ", progress.needed, progress.repaired,
      FormatSize(progress.bytes_read), FormatSize(progress.bytes_written), FormatSize(progress.bytes_lost),
      FormatSize(rate));
  text += fmt::format(", {} at once", progress.at_once);
  if (progress.not_done > 0) text += fmt::format(", {} cannot be repaired now", progress.not_done);
  if (progress.left)
    text +=
        fmt::format(", {} s left", std::chrono::duration_cast<std::chrono::seconds>(*progress.left).count());
  return text;
}

// Tells one object after the other, and what all came to.
class Repairs {
 public:
  Repairs(const CommandLine& line, StoreMaintenance& store, std::vector<MemberIndex> gone)
      : line_(line), store_(store), gone_(std::move(gone)), status_(line.quiet || line.json) {}

  // An object that cannot be repaired is told, and the next one follows.
  Status One(const std::string& path) {
    if (Interrupted()) return Fail(Code::kCancelled, "interrupted");
    RepairOptions options;
    options.gone = gone_;
    options.dry_run = line_.dry_run;
    options.progress = [&, read = uint64_t{0}](uint64_t bytes) mutable {
      read += bytes;
      status_.Show([&] { return fmt::format("repair: {} read; {}", FormatSize(read), path); });
    };
    const Result<RepairReport> report = SyncWait(store_.Repair(path, std::move(options)));
    if (!report && report.code() == Code::kNotFound) return report.error();
    if (!report && report.code() == Code::kUnsupported) return report.error();
    if (!report && report.code() == Code::kNotDirectory) return report.error();
    if (!report) {
      open_ = true;
      damaged_ = damaged_ || report.code() == Code::kDataLoss || report.code() == Code::kCorruption;
      status_.Wipe();
      TellError(path, report.error().message);
      return OkStatus();
    }
    open_ = open_ || report->archives_silent > 0 || !report->problems.empty();
    status_.Wipe();
    Tell(path, *report);
    silent_.insert(report->silent.begin(), report->silent.end());
    if (!line_.dry_run) Bring(path);
    return OkStatus();
  }

  // Every object of the store. What cannot be repaired is told, and the others are repaired all the same.
  Status All() {
    RebuildOptions options;
    options.gone = gone_;
    options.deep = !line_.lost;
    options.dry_run = line_.dry_run;
    options.told = [&](const RebuiltObject& object) { Take(object); };
    if (line_.by) options.due = RebuildDue{line_.bytes_due, *line_.by};
    options.progress = [&](const RebuildProgress& progress) {
      status_.Show([&] { return ProgressText(progress); });
      if (line_.by) WarnIfLate(progress);
      return !Interrupted();
    };
    Result<RebuildReport> report = SyncWait(store_.Rebuild(std::move(options)));
    if (!report) return report.error();
    all_ = std::move(*report);
    silent_.insert(all_.silent.begin(), all_.silent.end());
    open_ = open_ || !all_.Done() || !silent_.empty();
    for (const RebuildReport::NotDone& object : all_.not_done) damaged_ = damaged_ || object.lost;
    return OkStatus();
  }

  // What all came to; `census`: of --all.
  int Finish(const Census* census) {
    status_.Wipe();
    if (line_.json) {
      PrintJson(line_.all ? Summary(census) : json_);
    } else {
      if (line_.all) PrintAll();
      if (census) PrintCensus(*census);
      TellSilent();
    }
    const int code = census ? CensusExitCode(*census) : kExitOk;
    if (damaged_ || code == kExitDamage) return kExitDamage;
    return open_ || code != kExitOk ? kExitRetry : kExitOk;
  }

 private:
  void PrintAll() const {
    const RebuildProgress& total = all_.total;
    if (line_.dry_run) return PrintPlan();
    fmt::print("{} of {} objects needed repair; {} of them were repaired\n", total.needed, total.objects,
               total.repaired);
    if (total.twice > 0) {
      fmt::print(
          "{} archives are there twice; one of each is removed once both are older than the tombstone "
          "horizon\n",
          total.twice);
    }
    if (total.brought > 0) fmt::print("{} objects were in no listing, and are again\n", total.brought);
    if (total.unlisted > 0)
      fmt::print("{} directories could not be listed; what is below them was not looked at\n",
                 total.unlisted);
    fmt::print("\n");
  }

  // Once: it works as fast as it can by then.
  void WarnIfLate(const RebuildProgress& progress) {
    if (warned_ || !progress.left || progress.elapsed + *progress.left <= *line_.by) return;
    warned_ = true;
    status_.Wipe();
    const auto takes =
        std::chrono::duration_cast<std::chrono::seconds>(progress.elapsed + *progress.left).count();
    fmt::print(stderr, "xec: at this rate it takes {} s in all: {} s cannot be kept\n", takes,
               line_.by->count());
  }

  void PrintPlan() const {
    uint64_t archives = 0, bytes = 0;
    for (const auto& [server, written] : all_.written) {
      fmt::print("{}: {} archives of {} would be written\n", Words(store_, server), written.archives,
                 FormatSize(written.bytes));
      archives += written.archives;
      bytes += written.bytes;
    }
    fmt::print("{} of {} objects need repair; {} archives of {} would be written\n", all_.total.needed,
               all_.total.objects, archives, FormatSize(bytes));
  }

  // Back into the tree, if no listing finds it.
  void Bring(const std::string& path) {
    const Result<bool> brought = SyncWait(store_.BringIntoTree(path));
    open_ = open_ || !brought;
    if (!brought) TellError(path, brought.error().message);
    if (brought && *brought) TellBrought(path);
  }

  void TellBrought(const std::string& path) {
    if (line_.json) {
      json_.push_back({{"path", path}, {"brought_back", true}});
    } else if (!line_.quiet) {
      fmt::print("{}  was in no listing, and is again\n", path);
    }
  }

  Json Summary(const Census* census) const {
    Json gone = Json::array();
    for (const MemberIndex member : gone_) gone.push_back(IdOf(store_, member));
    Json written = Json::array();
    for (const auto& [server, on] : all_.written)
      written.push_back({{"server", IdOf(store_, server)}, {"archives", on.archives}, {"bytes", on.bytes}});
    const RebuildProgress& total = all_.total;
    Json json = {{"objects", total.objects},
                 {"needed_repair", total.needed},
                 {"repaired", total.repaired},
                 {"not_done", total.not_done},
                 {"gone", gone},
                 {"unlisted", total.unlisted},
                 {"details", json_},
                 {"brought_back", total.brought},
                 {"left_twice", total.twice},
                 {"dry_run", line_.dry_run},
                 {"written", written},
                 {"seconds", std::chrono::duration<double>(total.elapsed).count()},
                 {"bytes_lost", total.bytes_lost},
                 {"bytes_read", total.bytes_read},
                 {"bytes_written", total.bytes_written}};
    if (census) json["census"] = CensusJson(*census);
    return json;
  }

  void TellSilent() const {
    for (const MemberIndex member : silent_) {
      fmt::print("{} does not answer; what it holds was left alone. If it is lost for good: --gone {}\n",
                 Words(store_, member), IdOf(store_, member));
    }
  }

  // On any thread, one at a time.
  void Take(const RebuiltObject& object) {
    status_.Wipe();
    if (object.brought) TellBrought(object.path);
    if (object.report == nullptr) {
      TellError(object.path, object.problem);
    } else {
      Tell(object.path, *object.report);
    }
  }

  void TellError(const std::string& path, const std::string& problem) {
    if (line_.json) {
      json_.push_back({{"path", path}, {"error", problem}});
    } else {
      fmt::print("{}  {}\n", path, problem);
    }
  }

  std::string DoneText(const RepairReport& report) const {
    if (report.archives_surplus > 0) {
      return fmt::format("{} archives {}, which another server has as well", report.archives_surplus,
                         line_.dry_run ? "would be removed" : "removed");
    }
    if (report.Whole()) return "is whole";
    if (line_.dry_run) {
      std::string text = fmt::format("{} archives would be written anew", report.copies.size());
      for (const RepairReport::Copy& copy : report.copies)
        text += fmt::format("; {} on {}", FormatSize(copy.bytes), IdOf(store_, copy.server));
      return text;
    }
    return fmt::format("{} of {} archives written anew", report.archives_made, report.archives_bad);
  }

  void Tell(const std::string& path, const RepairReport& report) {
    const bool whole = report.Whole() && report.archives_surplus == 0 && report.problems.empty();
    if (line_.all && whole) return;
    if (line_.json) {
      json_.push_back({{"path", path},
                       {"bad", report.archives_bad},
                       {"made", report.archives_made},
                       {"surplus", report.archives_surplus},
                       {"silent", report.archives_silent},
                       {"changes", report.made},
                       {"problems", report.problems}});
      return;
    }
    for (const std::string& problem : report.problems) fmt::print("{}  {}\n", path, problem);
    if (line_.quiet) return;
    std::string text = DoneText(report);
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
  RebuildReport all_;
  std::set<MemberIndex> silent_;
  Json json_ = Json::array();
  bool damaged_ = false;
  bool open_ = false;
  bool warned_ = false;
};

}  // namespace

Result<int> RunRepair(const CommandLine& line, OpenedStore& store) {
  if (line.lost && !line.all)
    return Fail(Code::kInvalidArgument, "--lost goes with --all: an object that is named is read whole");
  if (line.all != line.operands.empty()) {
    return Fail(Code::kInvalidArgument, "xec repair wants either objects or --all; see xec repair --help");
  }
  XEC_ASSIGN_OR_RETURN(StoreMaintenance* const maintenance, store.maintenance());
  XEC_ASSIGN_OR_RETURN(std::vector<MemberIndex> gone, FindGone(line, *maintenance));
  Repairs repairs(line, *maintenance, std::move(gone));
  Status status;
  if (line.all) status = repairs.All();
  for (const std::string& path : line.operands) {
    if (status) status = repairs.One(path);
  }
  std::optional<Census> census;
  if (status && line.all && !line.dry_run) {
    Result<Census> counted = CountObjects(line, *maintenance);
    if (!counted) status = counted.error();
    if (counted) census = std::move(*counted);
  }
  if (!status && status.code() == Code::kCancelled && Interrupted()) return kExitInterrupted;
  if (!status) return status.error();
  return repairs.Finish(census ? &*census : nullptr);
}

}  // namespace xec

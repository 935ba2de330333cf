// SPDX-License-Identifier: LGPL-3.0-or-later
// xec repair.
#include "cli/commands.hh"
#include "cli/json_output.hh"
#include "cli/terminal.hh"

namespace xec {
namespace {

// Calls `visit` for every object below a directory.
Status VisitObjects(Store& store, const std::string& directory,
                    const std::function<Status(const std::string&)>& visit) {
  XEC_ASSIGN_OR_RETURN(const std::vector<ListedName> names, SyncWait(store.List(directory)));
  for (const ListedName& name : names) {
    const std::string path = (directory == "/" ? "" : directory) + "/" + name.name;
    const Status visited = name.directory ? VisitObjects(store, path, visit) : visit(path);
    // Removed meanwhile.
    if (!visited && visited.code() != Code::kNotFound) return visited.error();
  }
  return OkStatus();
}

class Repairs {
 public:
  Repairs(const CommandLine& line, Store& store) : line_(line), store_(store) {}

  // An object that cannot be repaired is told, and the next one follows.
  Status One(const std::string& path) {
    if (Interrupted()) return Fail(Code::kCancelled, "interrupted");
    Result<RepairReport> report = Fail(Code::kInternal, "not tried");
    {
      Progress progress("repair " + path, 0, line_.quiet || line_.json);
      report = SyncWait(store_.Repair(path, [&](uint64_t bytes) { progress.Add(bytes); }));
    }
    if (!report) {
      if (report.code() == Code::kNotFound || report.code() == Code::kUnsupported) return report.error();
      damaged_ = damaged_ || report.code() == Code::kDataLoss || report.code() == Code::kCorruption;
      TellError(path, report.error());
      return OkStatus();
    }
    open_ = open_ || report->archives_silent > 0 || !report->problems.empty();
    Tell(path, *report);
    return OkStatus();
  }

  int Finish() const {
    if (line_.json) PrintJson(json_);
    return damaged_ ? kExitDamage : open_ ? kExitRetry : kExitOk;
  }

 private:
  void TellError(const std::string& path, const Error& error) {
    open_ = true;
    if (line_.json) {
      json_.push_back({{"path", path}, {"error", error.message}});
    } else {
      fmt::print("{}  {}\n", path, error.message);
    }
  }

  void Tell(const std::string& path, const RepairReport& report) {
    if (line_.json) {
      json_.push_back({{"path", path},
                       {"bad", report.archives_bad},
                       {"made", report.archives_made},
                       {"silent", report.archives_silent},
                       {"problems", report.problems}});
      return;
    }
    for (const std::string& problem : report.problems) fmt::print("{}  {}\n", path, problem);
    const bool whole = report.archives_bad == 0 && report.archives_silent == 0;
    if (line_.quiet || (whole && line_.all)) return;
    std::string text =
        whole ? "is whole"
              : fmt::format("{} of {} archives written anew", report.archives_made, report.archives_bad);
    if (report.archives_silent > 0)
      text += fmt::format(", {} on servers that do not answer", report.archives_silent);
    fmt::print("{}  {}\n", path, text);
  }

  const CommandLine& line_;
  Store& store_;
  Json json_ = Json::array();
  bool damaged_ = false;
  bool open_ = false;
};

}  // namespace

Result<int> RunRepair(const CommandLine& line, OpenedStore& store) {
  if (line.all != line.operands.empty()) {
    return Fail(Code::kInvalidArgument, "xec repair wants either objects or --all; see xec repair --help");
  }
  Repairs repairs(line, store.store());
  Status status;
  if (line.all)
    status = VisitObjects(store.store(), "/", [&](const std::string& path) { return repairs.One(path); });
  for (const std::string& path : line.operands) {
    if (status) status = repairs.One(path);
  }
  if (!status && status.code() == Code::kCancelled && Interrupted()) return kExitInterrupted;
  if (!status) return status.error();
  return repairs.Finish();
}

}  // namespace xec

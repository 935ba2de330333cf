// SPDX-License-Identifier: LGPL-3.0-or-later
// xec balance.
#include "cli/commands.hh"
#include "cli/json_output.hh"
#include "cli/terminal.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

constexpr double kPercent = 100;

std::string ProgressText(const RebuildProgress& progress) {
  const double seconds = std::max(1e-3, std::chrono::duration<double>(progress.elapsed).count());
  const auto rate = static_cast<uint64_t>(static_cast<double>(progress.bytes_written) / seconds);
  std::string text = fmt::format(
      "balance: {} objects looked at, archives of {} {}to move, of {} moved, {} of {} written, {}/s, {} at "
      "once",
      progress.objects, progress.needed, progress.all_found ? "" : "so far ", progress.repaired,
      FormatSize(progress.bytes_written), FormatSize(progress.bytes_lost), FormatSize(rate),
      progress.at_once);
  if (progress.left)
    text +=
        fmt::format(", {} s left", std::chrono::duration_cast<std::chrono::seconds>(*progress.left).count());
  return text;
}

void PrintReport(const CommandLine& line, StoreMaintenance& store, const BalanceReport& report) {
  for (const RebuildReport::NotDone& object : report.not_done)
    fmt::print("{}  {}\n", object.path, object.problem);
  if (!line.quiet) {
    fmt::print("{:<8}{:>12}{:>9}{:>9}\n", "SERVER", "DISK", "BEFORE", line.dry_run ? "PLANNED" : "AFTER");
    for (size_t i = 0; i < report.members.size(); ++i) {
      const std::string& id = store.descriptor().members[i].id;
      const std::optional<MemberFill>& fill = report.members[i];
      if (!fill) {
        fmt::print("{:<8}{:>12}\n", id, "-");
      } else {
        fmt::print("{:<8}{:>12}{:>8.1f}%{:>8.1f}%\n", id, FormatSize(fill->total_bytes),
                   kPercent * fill->before(), kPercent * fill->after());
      }
    }
  }
  fmt::print("{} archives of {} {}moved; {} was the least\n", report.moved_archives,
             FormatSize(report.moved_bytes), line.dry_run ? "would be " : "", FormatSize(report.least_bytes));
  if (report.skipped > 0)
    fmt::print("{} objects lack archives, and none of theirs were moved: xec repair --all --lost\n",
               report.skipped);
  fmt::print("{} within {:g} points of {:.1f}%\n", report.balanced ? "all disks are" : "not all disks are",
             kPercent * line.within, kPercent * report.mean);
}

Json ReportJson(const CommandLine& line, StoreMaintenance& store, const BalanceReport& report) {
  Json members = Json::array();
  for (size_t i = 0; i < report.members.size(); ++i) {
    const std::optional<MemberFill>& fill = report.members[i];
    if (!fill) continue;
    members.push_back({{"server", store.descriptor().members[i].id},
                       {"total_bytes", fill->total_bytes},
                       {"before", fill->before()},
                       {"after", fill->after()}});
  }
  Json not_done = Json::array();
  for (const RebuildReport::NotDone& object : report.not_done)
    not_done.push_back({{"path", object.path}, {"problem", object.problem}});
  return {{"balanced", report.balanced},
          {"dry_run", line.dry_run},
          {"mean", report.mean},
          {"within", line.within},
          {"least_bytes", report.least_bytes},
          {"moved_bytes", report.moved_bytes},
          {"moved_archives", report.moved_archives},
          {"objects", report.objects},
          {"skipped", report.skipped},
          {"members", std::move(members)},
          {"not_done", std::move(not_done)}};
}

}  // namespace

Result<int> RunBalance(const CommandLine& line, OpenedStore& store) {
  XEC_ASSIGN_OR_RETURN(StoreMaintenance* const maintenance, store.maintenance());
  StatusLine status(line.quiet || line.json);
  BalanceOptions options;
  options.within = line.within;
  options.dry_run = line.dry_run;
  options.progress = [&](const RebuildProgress& progress) {
    status.Show([&] { return ProgressText(progress); });
    return !Interrupted();
  };
  const Result<BalanceReport> report = SyncWait(maintenance->Balance(std::move(options)));
  status.Wipe();
  if (!report && report.code() == Code::kCancelled && Interrupted()) return kExitInterrupted;
  if (!report) return report.error();
  if (line.json) {
    PrintJson(ReportJson(line, *maintenance, *report));
  } else {
    PrintReport(line, *maintenance, *report);
  }
  return report->balanced && report->not_done.empty() ? kExitOk : kExitRetry;
}

}  // namespace xec

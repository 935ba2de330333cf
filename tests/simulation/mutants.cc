// SPDX-License-Identifier: LGPL-3.0-or-later
#include "mutants.hh"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/core.h>

#include "base/mutant.hh"

namespace xec::sim {
namespace {

struct PlantedBug {
  Mutant mutant;
  const char* name;
  const char* promise;  // of ARCHITECTURE.md, "Promises"
  const char* what;
};

constexpr size_t kMutantCount = static_cast<size_t>(Mutant::kCount) - 1;
constexpr std::array<PlantedBug, kMutantCount> kPlantedBugs = {{
    {Mutant::kCommitOneHomeEarly, "commit-one-home-early", "P1",
     "a version counts as committed one home below a quorum"},
    {Mutant::kPromoteBeforeSync, "promote-before-sync", "P1",
     "archives are promoted without having been synced"},
    {Mutant::kAnswerWithoutRolling, "answer-without-rolling", "P2",
     "a look-up answers with a version fewer than a quorum have"},
    {Mutant::kExclusiveByLookOnly, "exclusive-by-look-only", "P3",
     "exclusive creation does not look for rivals after sealing"},
    {Mutant::kSweepSupersededAtOnce, "sweep-superseded-at-once", "P3",
     "a replaced version goes while readers have it open"},
    {Mutant::kSayDoneWhenUnknown, "say-done-when-unknown", "P4",
     "a writer that cannot know its outcome is told OK"},
    {Mutant::kAbortAtMajority, "abort-at-majority", "P5",
     "an upload or rename is given up when a majority of homes is fenced"},
    {Mutant::kCollectTombstoneEarly, "collect-tombstone-early", "P5",
     "a tombstone is forgotten while servers are away"},
    {Mutant::kCopyWithoutLookingAgain, "copy-without-looking-again", "P5",
     "a witness is proved without another look"},
    {Mutant::kGoneBeforeItArrives, "gone-before-it-arrives", "P5",
     "a moved object is gone from its old name before it is at the new one"},
    {Mutant::kNotFoundWithTooFewHomes, "not-found-with-too-few-homes", "P6",
     "\"not found\" is said when too few homes answer"},
    {Mutant::kIgnorePageChecksum, "ignore-page-checksum", "P6",
     "bytes are returned whose page checksum is wrong"},
    {Mutant::kAdmitHalfAStripe, "admit-half-a-stripe", "P7",
     "a writer waits for memory while it holds half a stripe"},
    {Mutant::kVersionByClockAlone, "version-by-clock-alone", "P9",
     "a new version is not put above those that were seen"},
    {Mutant::kForgetDirectoryRename, "forget-directory-rename", "P5",
     "a rename of a directory is not logged before it begins"},
    {Mutant::kRemoveFullDirectory, "remove-full-directory", "P6",
     "a directory is removed without a look whether it is empty"},
    {Mutant::kRenameWithoutAttributes, "rename-without-attributes", "P1",
     "a rename leaves the user attributes behind"},
    {Mutant::kForgetAttributesSetAtOnce, "forget-attributes-set-at-once", "P4",
     "of user attributes set at the same time only the last count"},
    {Mutant::kTakeAnyDisk, "take-any-disk", "P6", "a server is used that has another store's disk"},
    {Mutant::kTrustOlderDisk, "trust-older-disk", "P5", "a server is used whose disk went back in time"},
    {Mutant::kWaitForEverybody, "wait-for-everybody", "P8", "no server is ever late before its deadline"},
    {Mutant::kMakeDirectoryByLookOnly, "make-directory-by-look-only", "P1",
     "the making of a directory does not look for uploads after sealing"},
    {Mutant::kPutOverDirectoryUnderWay, "put-over-directory-under-way", "P1",
     "an upload is promoted although a directory of its name is being made"},
    {Mutant::kRemoveAbove, "remove-above", "P1",
     "a removal removes what was put or made since it looked, too"},
    {Mutant::kExclusiveOverRename, "exclusive-over-rename", "P3",
     "exclusive creation does not mind a rename onto its name that is under way"},
    {Mutant::kLaterOnesGiveWay, "later-ones-give-way", "P3",
     "an exclusive creator goes on beside the seal of a later one"},
    {Mutant::kSetBesideRename, "set-beside-rename", "P4",
     "attributes are set on an object whose rename has read them already"},
    {Mutant::kRetireBeforeItCame, "retire-before-it-came", "P1",
     "a rename is told as done while what it renames has not come from where it was before"},
    {Mutant::kLeaveMovedHidden, "leave-moved-hidden", "P1",
     "a rename goes on that one home tells of, below a removal"},
    {Mutant::kDoneSinceSuperseded, "done-since-superseded", "P4",
     "a version counts as committed that no home took, since all have something higher"},
    {Mutant::kListHalfRenamed, "list-half-renamed", "P5",
     "a listing leaves out both names of a rename that has committed and is not finished"},
    {Mutant::kListWhatWas, "list-what-was", "P2",
     "a listing tells what the cleaner once found though the name has changed since"},
    {Mutant::kParentRememberedTooLong, "parent-remembered-too-long", "P10",
     "a directory seen ten seconds ago is not looked at before something in it is committed"},
    {Mutant::kRemoveBesideUploads, "remove-beside-uploads", "P10",
     "a directory is removed although something is being put into it"},
    {Mutant::kRenameLeavesUploads, "rename-leaves-uploads", "P10",
     "a directory is renamed without the uploads to it that are under way"},
    {Mutant::kHalfMadeEndsGrace, "half-made-ends-grace", "P3",
     "a version that too few homes accepted ends the time of those who read the one before"},
    {Mutant::kRepairSinksHome, "repair-sinks-home", "P1",
     "a repair removes a bad archive that is all a home knows of its version"},
    {Mutant::kListUndecided, "list-undecided", "P2",
     "a listing tells what too few homes show, or leave out, to decide it"},
    {Mutant::kListWithTooFew, "list-with-too-few", "P6",
     "a listing does without one server more than it can do without"},
    {Mutant::kReplaceByLookOnly, "replace-by-look-only", "P3",
     "an upload that replaces one version only does not look for others after sealing"},
    {Mutant::kSweepArchives, "sweep-archives", "P1",
     "archives go with the names from servers that are no homes of these any more"},
    {Mutant::kMoveBeforeAllKnow, "move-before-all-know", "P6",
     "names move while somebody may go by the list of members before"},
    {Mutant::kChangeByListAfter, "change-by-list-after", "P6",
     "while the members change only the list after the change is asked"},
    {Mutant::kListForEver, "list-for-ever", "P6",
     "whoever has not heard of the list of members for long goes on by it"},
    {Mutant::kRenameLosesSettings, "rename-loses-settings", "P1",
     "a rename leaves the settings of the object behind"},
}};

static_assert(
    [] {
      for (size_t i = 0; i < kMutantCount; ++i) {
        if (kPlantedBugs[i].mutant != static_cast<Mutant>(i + 1)) return false;
      }
      return true;
    }(),
    "each mutant of base/mutant.hh has its row, in order");

#if defined(XEC_MUTANTS)

int answer_pipe = STDERR_FILENO;

void Answer(uint64_t seed, const std::string& rule) {
  const std::string line = fmt::format("{}\t{}", seed, rule);
  if (write(answer_pipe, line.data(), line.size()) < 0) std::perror("simulate");
}

// An engine check that fails finds a mutant as well.
void OnAbort(int) {
  Answer(RunningSeed(), "a check of the engine fails");
  _exit(0);
}

struct Finding {
  uint64_t seed = 0;  // 0: not found
  std::string rule;
};

// In a process of its own, since a wrong engine may abort.
Finding LookFor(Mutant mutant, const SeedRange& range) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    answer_pipe = ends[1];
    std::signal(SIGABRT, OnAbort);
    active_mutant = mutant;
    const Summary summary = RunSeeds(range);
    if (!summary.broken.empty()) Answer(summary.broken.begin()->first, summary.broken.begin()->second);
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t got = 0; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  const size_t tab = text.find('\t');
  if (tab == std::string::npos) return {};
  return Finding{std::strtoull(text.c_str(), nullptr, 10), text.substr(tab + 1)};
}

#endif

}  // namespace

#if defined(XEC_MUTANTS)

bool PlantMutant(const std::string& name) {
  for (const PlantedBug& bug : kPlantedBugs) {
    if (name == bug.name) active_mutant = bug.mutant;
  }
  if (active_mutant != Mutant::kNone) return true;
  fmt::print(stderr, "simulate: there is no mutant \"{}\"; there are:\n", name);
  for (const PlantedBug& bug : kPlantedBugs)
    fmt::print(stderr, "  {:30} {}: {}\n", bug.name, bug.promise, bug.what);
  return false;
}

bool RunMutants(const SeedRange& range) {
  constexpr size_t kRuleBytes = 160;
  bool good = true;
  uint64_t latest = range.first;
  fmt::print("{:30} {:8} {:>10}  {}\n", "mutant", "promise", "first seed", "rule that is broken");
  for (const PlantedBug& bug : kPlantedBugs) {
    const Finding found = LookFor(bug.mutant, range);
    good = good && found.seed != 0;
    latest = std::max(latest, found.seed);
    fmt::print("{:30} {:8} {:>10}  {}\n", bug.name, bug.promise,
               found.seed == 0 ? "NOT FOUND" : std::to_string(found.seed), found.rule.substr(0, kRuleBytes));
    std::fflush(stdout);
  }
  // What an engine without mutants breaks too shows nothing.
  SeedRange healthy = range;
  healthy.last = latest;
  const Finding broken = LookFor(Mutant::kNone, healthy);
  fmt::print("{:30} {:8} {:>10}  {}\n", "(none)", "-",
             broken.seed == 0 ? "none" : std::to_string(broken.seed), broken.rule.substr(0, kRuleBytes));
  return good && broken.seed == 0;
}

#else

namespace {
bool NoMutants() {
  fmt::print(stderr, "simulate: this build has no mutants; ./dev simulate makes one that has\n");
  return false;
}
}  // namespace
bool PlantMutant(const std::string&) { return NoMutants(); }
bool RunMutants(const SeedRange&) { return NoMutants(); }

#endif

}  // namespace xec::sim

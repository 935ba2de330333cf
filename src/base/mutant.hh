// SPDX-License-Identifier: LGPL-3.0-or-later
// Mutants: bugs planted on purpose, one at a time, to show that the simulator would find them (./dev simulate
// --mutants). Only a build with XEC_MUTANTS has them; in every other one MutantActive is the constant false.
// What each one breaks is told in the table of tests/simulation/mutants.cc.
#pragma once

namespace xec {

enum class Mutant {
  kNone,
  kCommitOneHomeEarly,
  kPromoteBeforeSync,
  kAnswerWithoutRolling,
  kExclusiveByLookOnly,
  kSweepSupersededAtOnce,
  kSayDoneWhenUnknown,
  kAbortAtMajority,
  kCollectTombstoneEarly,
  kCopyWithoutLookingAgain,
  kGoneBeforeItArrives,
  kNotFoundWithTooFewHomes,
  kIgnorePageChecksum,
  kAdmitHalfAStripe,
  kVersionByClockAlone,
  kForgetDirectoryRename,
  kRemoveFullDirectory,
  kRenameWithoutAttributes,
  kForgetAttributesSetAtOnce,
  kTakeAnyDisk,
  kTrustOlderDisk,
  kWaitForEverybody,
  kMakeDirectoryByLookOnly,
  kPutOverDirectoryUnderWay,
  kRemoveAbove,
  kExclusiveOverRename,
  kLaterOnesGiveWay,
  kSetBesideRename,
  kRetireBeforeItCame,
  kLeaveMovedHidden,
  kDoneSinceSuperseded,
  kListHalfRenamed,
  kListWhatWas,
  kParentRememberedTooLong,
  kRemoveBesideUploads,
  kRenameLeavesUploads,
  kHalfMadeEndsGrace,
  kRepairSinksHome,
  kListUndecided,
  kListWithTooFew,
  kReplaceByLookOnly,
  kSweepArchives,
  kMoveBeforeAllKnow,
  kChangeByListAfter,
  kListForEver,
  kRenameLosesSettings,
  kCount,
};

#if defined(XEC_MUTANTS)
// Set once, before the first engine is made.
inline Mutant active_mutant = Mutant::kNone;
inline bool MutantActive(Mutant mutant) { return active_mutant == mutant; }
#else
constexpr bool MutantActive(Mutant) { return false; }
#endif

}  // namespace xec

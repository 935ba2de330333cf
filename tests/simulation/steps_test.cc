// SPDX-License-Identifier: LGPL-3.0-or-later
// What a request is for follows from what its gateway asked for before.
#include "steps.hh"

#include <gtest/gtest.h>

#include "protocol/state_name.hh"

namespace xec::sim {
namespace {

const std::string kFolder = "/a/x.~xo";
const std::string kOid(24, 'a');
const Version kVersion{uint64_t{1} << 20, 7, 0};

std::string In(const State& state) { return kFolder + "/" + FormatState(state); }

TEST(StepNamer, WhoComesOnceSomethingIsWrittenIsASpare) {
  StepNamer steps;
  const std::string seal = In(SealedState(kOid));
  for (size_t server = 0; server < 3; ++server)
    EXPECT_EQ(steps.Name(server, Operation::kCreate, seal, ""), "seal: create");
  EXPECT_EQ(steps.Name(1, Operation::kWrite, seal, ""), "seal: write");
  EXPECT_EQ(steps.Name(3, Operation::kCreate, seal, ""), "spare: create");
  EXPECT_EQ(steps.Name(0, Operation::kRead, seal, ""), "spare: read back");
  EXPECT_EQ(steps.Name(3, Operation::kWrite, seal, ""), "spare: write");
  EXPECT_EQ(steps.Name(0, Operation::kWrite, seal, ""), "seal: write");
  const std::string other = In(SealedState(std::string(24, 'b')));
  EXPECT_EQ(steps.Name(3, Operation::kCreate, other, ""), "seal: create");
}

TEST(StepNamer, AnExclusiveCreatorLooksOnceItHasSealed) {
  StepNamer steps;
  const std::string seal = In(ExclusiveSealedState(kVersion, kOid));
  const std::string promoted = In(PromotedState(kVersion, kOid, 10));
  EXPECT_EQ(steps.Name(0, Operation::kCreate, seal, ""), "exclusive seal: create");
  EXPECT_EQ(steps.Name(0, Operation::kList, kFolder, ""), "look");
  EXPECT_EQ(steps.Name(0, Operation::kClose, seal, ""), "exclusive seal: close");
  EXPECT_EQ(steps.Name(0, Operation::kList, kFolder, ""), "look: barrier");
  EXPECT_EQ(steps.Name(0, Operation::kList, "/a/y.~xo", ""), "look");
  EXPECT_EQ(steps.Name(0, Operation::kRename, seal, promoted), "promote exclusive");
  EXPECT_EQ(steps.Name(0, Operation::kList, kFolder, ""), "look");
}

TEST(StepNamer, ARepairsRequestsAreItsOwnWhileItRuns) {
  StepNamer steps;
  const std::string archive = In(PromotedState(kVersion, kOid, 10));
  State copy = PromotedState(kVersion, kOid, 0);
  copy.kind = StateKind::kUnproved;
  copy.nonce = "01234567";
  EXPECT_EQ(steps.Name(0, Operation::kRead, archive, ""), "read: read");
  EXPECT_EQ(steps.Name(0, Operation::kWrite, In(copy), ""), "witness: write");
  steps.BeginRepair(kFolder);
  steps.BeginRepair(kFolder);
  EXPECT_EQ(steps.Name(0, Operation::kWrite, In(copy), ""), "repair: write draft");
  EXPECT_EQ(steps.Name(0, Operation::kRename, In(copy), archive), "repair: place");
  steps.EndRepair(kFolder);
  EXPECT_EQ(steps.Name(0, Operation::kRead, archive, ""), "repair: read");
  steps.EndRepair(kFolder);
  EXPECT_EQ(steps.Name(0, Operation::kRead, archive, ""), "read: read");
}

}  // namespace
}  // namespace xec::sim

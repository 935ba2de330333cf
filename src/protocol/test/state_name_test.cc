// SPDX-License-Identifier: LGPL-3.0-or-later
#include "protocol/state_name.hh"

#include <gtest/gtest.h>

namespace xec {
namespace {

const Version kV{0x123456, 7, 0};
const std::string kOid = "0123456789abcdef01234567";

TEST(StateName, EveryKindRoundTrips) {
  State unproved = PromotedState(kV, kOid, 0);
  unproved.kind = StateKind::kUnproved;
  unproved.nonce = "00c0ffee";
  State unproved_directory = unproved;
  unproved_directory.oid = kDirectoryOid;
  const std::string rid = "fedcba9876543210fedcba98";
  const State moved = MovedState(kV, rid, Version{9, 9, 0}, "Zk-_0aB9");
  State moved_in = WitnessState(kV, kOid, 7);
  moved_in.origin = rid;
  State moved_in_with_etag = moved_in;
  moved_in_with_etag.given.etag = std::string(kEtagSizeMax, 'Z');
  State moved_in_with_all = moved_in_with_etag;
  moved_in_with_all.size = UINT64_MAX;
  moved_in_with_all.given.settings = {.mtime_ns = INT64_MIN, .mode = 0644, .link = true};
  State draft;
  draft.kind = StateKind::kAttributesDraft;
  draft.version = kV;
  draft.target = Version{9, 9, 0};
  draft.nonce = "0000abcd";
  State attributes = draft;
  attributes.kind = StateKind::kAttributes;
  attributes.nonce.clear();
  State with_settings = attributes, with_none = attributes;
  with_settings.changed = {.mtime_ns = -1, .mode = 0};
  with_none.changed = Settings();
  const State exclusive = ExclusiveSealedState(kV, kOid);
  for (const State& state : {SealedState(kOid),
                             exclusive,
                             PromotedState(kV, kOid, 27000),
                             unproved,
                             unproved_directory,
                             WitnessState(kV, kOid, 0),
                             moved_in,
                             moved_in_with_etag,
                             moved_in_with_all,
                             PromotedState(kV, kOid, 27000, {.etag = "d41d8cd98f00b204e9800998ecf8427e-12"}),
                             WitnessState(kV, kOid, 0, {.etag = "x"}),
                             WitnessState(kV, kOid, 0, {.settings = {.link = true}}),
                             DirectoryState(kV),
                             TombstoneState(kV),
                             TombstoneState(kV.MoveDone()),
                             TombstoneState(kV.Removed()),
                             DirectorySealState(kV, kOid),
                             RemovalSealState(kV, kOid),
                             AbortedState(DirectorySealState(kV, kOid)),
                             AbortMarkState(DirectorySealState(kV, kOid)),
                             moved,
                             MoveOutState(rid),
                             MoveInState(rid),
                             AbortedState(MoveOutState(rid)),
                             AbortMarkState(MoveOutState(rid)),
                             AbortedState(SealedState(kOid)),
                             AbortedState(exclusive),
                             AbortMarkState(SealedState(kOid)),
                             AbortMarkState(exclusive),
                             draft,
                             attributes,
                             with_settings,
                             with_none}) {
    EXPECT_EQ(ParseState(FormatState(state)), state) << FormatState(state);
  }
  EXPECT_EQ(FormatState(moved_in_with_all).size(), 202u) << "a file's name has 255 bytes at most";
}

TEST(StateName, NamesAreThoseOfTheDocument) {
  const std::string rid = "fedcba9876543210fedcba98";
  EXPECT_EQ(FormatState(MovedState(kV, rid, Version{9, 9, 0}, "Zk-_0aB9")),
            "t.0000000000123456-00000007m.fedcba9876543210fedcba98.0000000000000009-00000009.hZk-_0aB9");
  EXPECT_EQ(FormatState(AbortedState(MoveOutState(rid))), "x.r." + rid);
  const State making = DirectorySealState(kV, kOid);
  EXPECT_EQ(FormatState(making), "f.0000000000123456-00000007.0123456789abcdef01234567");
  EXPECT_EQ(FormatState(AbortedState(making)), "x." + FormatState(making));
  EXPECT_EQ(FormatState(TombstoneState(kV.Removed())), "t.0000000000123456-00000007r");
  const State removal = RemovalSealState(kV, kOid);
  EXPECT_EQ(FormatState(removal), "g.0000000000123456-00000007.0123456789abcdef01234567");
  EXPECT_FALSE(removal.Accepted());
  for (const State& mark : {making, removal, AbortedState(making), AbortMarkState(making), DirectoryState(kV),
                            TombstoneState(kV), TombstoneState(kV.Removed())})
    EXPECT_TRUE(mark.IsMark()) << FormatState(mark);
  EXPECT_EQ(FormatState(PromotedState(kV, kOid, 5)),
            "p.0000000000123456-00000007.0123456789abcdef01234567.5");
  EXPECT_EQ(FormatState(PromotedState(kV, kOid, 5, {.etag = "0aZ-9"})),
            "p.0000000000123456-00000007.0123456789abcdef01234567.5.etag-0aZ-9");
  EXPECT_EQ(FormatState(PromotedState(kV, kOid, 5, {.settings = {.mtime_ns = -7, .mode = 0640}})),
            "p.0000000000123456-00000007.0123456789abcdef01234567.5.set-m0640_t-7");
  EXPECT_EQ(FormatState(WitnessState(kV, kOid, 5, {.etag = "e", .settings = {.link = true}})),
            "w.0000000000123456-00000007.0123456789abcdef01234567.5.etag-e.set-l");
  State attributes;
  attributes.kind = StateKind::kAttributes;
  attributes.version = kV;
  attributes.target = Version{9, 9, 0};
  attributes.changed = {.mode = 0640};
  EXPECT_EQ(FormatState(attributes), "a.0000000000123456-00000007.0000000000000009-00000009.set-m0640");
}

TEST(StateName, RefusesEverythingElse) {
  const std::string v = kV.ToString();
  const std::vector<std::string> wrong = {"",
                                          "p",
                                          "p." + v,
                                          "p." + v + "." + kOid,
                                          "p." + v + "." + kOid + ".-1",
                                          "p." + v + "m." + kOid + ".1",
                                          "s." + v + "." + kOid,
                                          "e." + kOid,
                                          "t." + v + "m",
                                          "t." + v + "." + v,
                                          "t." + v + "." + kOid + "." + v + ".3",
                                          "t." + v + "m." + kOid + "." + v + "m.3",
                                          "t." + v + "m." + kOid + "." + v,
                                          "t." + v + "m." + kOid + "." + v + ".x",
                                          "d." + v + "m",
                                          "t." + v + "x",
                                          "f." + kOid,
                                          "f." + v,
                                          "f." + v + "r." + kOid,
                                          "f." + v + "." + kOid + ".1",
                                          "x.f." + kOid,
                                          "x.f." + v,
                                          "q." + v,
                                          "r." + kOid + ".",
                                          "x.q." + kOid,
                                          "w." + v + "." + kOid + ".1." + v,
                                          "p." + v + "." + kOid + ".1." + kOid,
                                          "p." + v + "." + kOid + ".1.etag-",
                                          "p." + v + "." + kOid + ".1.etag-a_b",
                                          "p." + v + "." + kOid + ".1.etag-" + std::string(65, 'a'),
                                          "p." + v + "." + kOid + ".1.etag-a.etag-b",
                                          "p." + v + "." + kOid + ".etag-a",
                                          "w." + v + "." + kOid + ".1.etag-a." + kOid,
                                          "s." + kOid + ".etag-a",
                                          "p." + v + "." + kOid + ".1.set-",
                                          "p." + v + "." + kOid + ".1.set-m751",
                                          "p." + v + "." + kOid + ".1.set-l_m0751",
                                          "p." + v + "." + kOid + ".1.set-l.set-l",
                                          "p." + v + "." + kOid + ".1.set-l.etag-a",
                                          "w." + v + "." + kOid + ".1.set-l." + kOid,
                                          "p." + v + "." + kOid + ".set-l",
                                          "s." + kOid + ".set-l",
                                          "d." + v + ".set-m0755",
                                          "d." + v + ".etag-a",
                                          "a." + v + "." + v + ".set",
                                          "a." + v + "." + v + ".set-m640",
                                          "a." + v + "." + v + ".etag-a.set-",
                                          "a." + v + "." + v + ".set-.set-",
                                          "a." + v + ".set-",
                                          "b." + v + "." + v + ".0000abcd.set-",
                                          "s." + kOid + ".",
                                          "n.0.1.rest",
                                          "y." + v + "." + kOid + ".1",
                                          "s.0123456789ABCDEF01234567"};
  for (const std::string& bad : wrong) {
    EXPECT_FALSE(ParseState(bad)) << bad;
  }
}

}  // namespace
}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_access/scopes.hh"

#include <gtest/gtest.h>

namespace xec {
namespace {

TEST(CanonicalTest, HasNoEmptyComponentsAndNoEscapes) {
  EXPECT_EQ(Canonical("/"), "");
  EXPECT_EQ(Canonical("//a///b/"), "/a/b");
  EXPECT_EQ(Canonical("/a/..b/.c/d."), "/a/..b/.c/d.");
  for (const char* path : {"", "a", "/..", "/a/../b", "/a/./b", "/a/."})
    EXPECT_EQ(Canonical(path), std::nullopt);
  EXPECT_EQ(Canonical(std::string_view("/a\0b", 4)), std::nullopt);
}

TEST(CoversTest, GoesByWholeComponents) {
  EXPECT_TRUE(Covers("/a", "/a"));
  EXPECT_TRUE(Covers("/a", "/a/b"));
  EXPECT_TRUE(Covers("", "/a"));
  EXPECT_FALSE(Covers("/a", "/ab"));
  EXPECT_FALSE(Covers("/a/b", "/a"));
}

Scope Only(const char* claim) {
  const std::optional<std::vector<Scope>> scopes = ParseScopes(claim);
  if (!scopes || scopes->size() != 1) {
    ADD_FAILURE() << claim;
    return {};
  }
  return scopes->front();
}

TEST(ParseScopesTest, KnowsTheWordsOfBothProfiles) {
  EXPECT_EQ(Only("storage.read:/a").ability, Ability::kRead);
  EXPECT_EQ(Only("storage.stage:/a").ability, Ability::kRead);
  EXPECT_EQ(Only("storage.create:/a").ability, Ability::kCreate);
  EXPECT_EQ(Only("storage.modify:/a").ability, Ability::kModify);
  EXPECT_EQ(Only("read:/a").ability, Ability::kRead);
  EXPECT_EQ(Only("write:/a").ability, Ability::kModify);
  EXPECT_EQ(Only("openid storage.read:/a/ compute.read").path, "/a");
  EXPECT_EQ(Only("storage.read:/%41%2Fb").path, "/A/b");
  EXPECT_EQ(Only("read").path, "");
  EXPECT_EQ(ParseScopes("storage.read:/a  storage.create:/b")->size(), 2u);
}

TEST(ParseScopesTest, ATokenThatSaysNothingOfStorageIsNoneThatAdmitsNothing) {
  EXPECT_EQ(ParseScopes("openid compute.read reader:/a"), std::nullopt);
  EXPECT_EQ(ParseScopes(""), std::nullopt);
  // What has a path that escapes, or an ability that is not ours, is about storage all the same.
  for (const char* claim : {"storage.read:/a/../b", "storage.read:/a/%2e%2e/b", "storage.read:a",
                            "storage.read:/%4", "storage.poll:/", "storage.reads:/"}) {
    const std::optional<std::vector<Scope>> scopes = ParseScopes(claim);
    ASSERT_TRUE(scopes) << claim;
    EXPECT_TRUE(scopes->empty()) << claim;
  }
}

// Which of the operations, in this order, a scope for /a admits there: Stat Read reaDdir Create newName Mkdir
// Rename(source) Insert iNsert-new Update dElete Chmod lock.
std::string Admitted(Ability ability, std::string_view path) {
  constexpr std::pair<char, Access_Operation> kOperations[] = {
      {'S', AOP_Stat},        {'R', AOP_Read},   {'D', AOP_Readdir}, {'C', AOP_Create},
      {'c', AOP_Excl_Create}, {'M', AOP_Mkdir},  {'N', AOP_Rename},  {'I', AOP_Insert},
      {'i', AOP_Excl_Insert}, {'U', AOP_Update}, {'E', AOP_Delete},  {'H', AOP_Chmod},
      {'L', AOP_Lock},        {'A', AOP_Any}};
  std::string letters;
  for (const auto& [letter, operation] : kOperations) {
    if (Admits({ability, "/a"}, operation, path)) letters += letter;
  }
  return letters;
}

TEST(AdmitsTest, FollowsTheProfile) {
  for (const char* path : {"/a", "/a/b"}) {
    EXPECT_EQ(Admitted(Ability::kRead, path), "SRD");
    EXPECT_EQ(Admitted(Ability::kCreate, path), "ScMNi");
    EXPECT_EQ(Admitted(Ability::kModify, path), "SCcMNIiUEH");
  }
}

TEST(AdmitsTest, TheWayToTheScopeCanBeSeenAndMade) {
  EXPECT_EQ(Admitted(Ability::kRead, ""), "S");
  EXPECT_EQ(Admitted(Ability::kCreate, ""), "SM");
  EXPECT_EQ(Admitted(Ability::kModify, ""), "SM");
}

TEST(AdmitsTest, NothingBesideIt) {
  for (const char* path : {"/ab", "/b", "/A"}) EXPECT_EQ(Admitted(Ability::kModify, path), "");
}

}  // namespace
}  // namespace xec

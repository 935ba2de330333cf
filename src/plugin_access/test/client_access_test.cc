// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_access/client_access.hh"

#include <cstring>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include <XrdNet/XrdNetAddr.hh>
#include <XrdOuc/XrdOucEnv.hh>
#include <XrdSec/XrdSecEntityAttr.hh>

#include "plugin_access/test/bearers.hh"

namespace xec {
namespace {

// XRootD 5.5.3's plug-ins as far as they matter here: paths as text, and rules for names where a token says
// nothing.
class StockAccess final : public XrdAccAuthorize {
 public:
  XrdAccPrivs Access(const XrdSecEntity* client, const char* path, Access_Operation operation,
                     XrdOucEnv* env) override {
    const char* authz = env == nullptr ? nullptr : env->Get("authz");
    if (authz == nullptr && std::strcmp(client->prot, "ztn") == 0) authz = client->creds;
    const bool verified = authz != nullptr && std::string_view(authz).ends_with(good_token);
    if (verified && operation == granted && std::string_view(path).starts_with("/tokens/a"))
      return XrdAccPriv_All;
    std::string name = client->name == nullptr ? "" : client->name;
    client->eaAPI->Get("request.name", name);
    if (name == "alice" || client->vorg != nullptr || client->role != nullptr) return XrdAccPriv_All;
    if (std::string_view(path).starts_with("/public") && operation == AOP_Read) return XrdAccPriv_Read;
    return XrdAccPriv_None;
  }
  int Audit(int, const XrdSecEntity*, const char*, Access_Operation, XrdOucEnv*) override { return 0; }
  int Test(XrdAccPrivs, Access_Operation) override { return 0; }

  std::string good_token;
  Access_Operation granted = AOP_Read;
};

class ClientAccessTest : public testing::Test {
 protected:
  ClientAccessTest() {
    std::ofstream(file_) << "[Issuer test]\nissuer = https://i\nbase_path = /tokens\n";
    std::ofstream(banned_) << "name mallory\nsubject evil\n";
    auto made =
        ClientAccess::Make("tokens=" + file_ + " banned=" + banned_, stock_, [this](const Refusal& refusal) {
          told_ += fmt::format("{} {} by {},", refusal.operation, refusal.path, refusal.claimed);
        });
    EXPECT_TRUE(made) << made.error().message;
    access_ = std::move(*made);
    Be("https", nullptr);
  }
  ~ClientAccessTest() override {
    std::filesystem::remove(file_);
    std::filesystem::remove(banned_);
  }

  void Be(const char* protocol, const char* name) {
    std::strncpy(client_.prot, protocol, sizeof client_.prot);
    name_ = name == nullptr ? "" : name;
    client_.name = name == nullptr ? nullptr : name_.data();
  }

  // A token that XRootD's plug-in takes for good, with its scopes.
  std::string Good(std::string_view scope, std::string_view issuer = "https://i",
                   std::string_view subject = "s") {
    stock_.good_token =
        TokenOf(fmt::format(R"({{"iss":"{}","sub":"{}","scope":"{}"}})", issuer, subject, scope));
    return stock_.good_token;
  }

  bool May(Access_Operation operation, const char* path, const std::string& token) {
    XrdOucEnv env;
    if (!token.empty()) env.Put("authz", ("Bearer%20" + token).c_str());
    return access_->Access(&client_, path, operation, &env) != XrdAccPriv_None;
  }

  const std::string file_ = testing::TempDir() + "/scitokens.cfg", banned_ = testing::TempDir() + "/banned";
  StockAccess stock_;
  std::unique_ptr<ClientAccess> access_;
  XrdSecEntity client_{"https"};
  std::string name_;
  std::string told_;
};

TEST_F(ClientAccessTest, AScopeAdmitsWholeComponents) {
  const std::string token = Good("storage.read:/a");
  EXPECT_TRUE(May(AOP_Read, "/tokens/a/file", token));
  EXPECT_TRUE(May(AOP_Read, "//tokens//a", token));
  EXPECT_FALSE(May(AOP_Read, "/tokens/ab", token));
  EXPECT_FALSE(May(AOP_Read, "/tokens/a/../b", token));
  EXPECT_FALSE(May(AOP_Read, "/tokens", token));
  EXPECT_TRUE(May(AOP_Stat, "/tokens", token));
}

TEST_F(ClientAccessTest, WhatXrootdDoesNotVouchForIsRefused) {
  Good("storage.read:/a");
  EXPECT_FALSE(May(AOP_Read, "/tokens/a", TokenOf(R"({"iss":"https://i","scope":"storage.read:/a"})")));
  EXPECT_FALSE(May(AOP_Read, "/tokens/a", Good("storage.read:/a", "https://other")));
  // It takes tokens only by what they may.
  stock_.granted = AOP_Excl_Create;
  EXPECT_FALSE(May(AOP_Read, "/tokens/a", Good("storage.read:/a")));
  EXPECT_TRUE(May(AOP_Stat, "/tokens/a", Good("storage.create:/a")));
  EXPECT_FALSE(May(AOP_Create, "/tokens/a", Good("storage.create:/a")));
  EXPECT_FALSE(May(AOP_Delete, "/tokens/a", Good("storage.create:/a")));
}

TEST_F(ClientAccessTest, ARenameByOneThatOnlyCreatesIsMarked) {
  stock_.granted = AOP_Excl_Create;
  XrdOucEnv env(("authz=Bearer%20" + Good("storage.create:/a")).c_str());
  EXPECT_EQ(access_->Access(&client_, "/tokens/a", AOP_Insert, &env), XrdAccPriv_None);
  EXPECT_EQ(env.Get(kTargetAbsent), nullptr);
  EXPECT_NE(access_->Access(&client_, "/tokens/a", AOP_Excl_Insert, &env), XrdAccPriv_None);
  EXPECT_STREQ(env.Get(kTargetAbsent), "1");
}

TEST_F(ClientAccessTest, OnlyTheTokenCounts) {
  Be("https", "alice");
  EXPECT_TRUE(May(AOP_Delete, "/tokens/a", ""));
  for (const std::string& token : {Good("storage.read:/a"), TokenOf(R"({"iss":"https://i"})"),
                                   MacaroonOf({"cid path:/tokens/a"}), std::string("neither")}) {
    EXPECT_FALSE(May(AOP_Delete, "/tokens/a", token)) << token;
    EXPECT_TRUE(May(AOP_Read, "/public/file", token)) << token;
  }
}

TEST_F(ClientAccessTest, TheTokenMayBeThatOfTheLogin) {
  Be("ztn", "alice");
  std::string token = Good("storage.read:/a");
  client_.creds = token.data();
  client_.credslen = static_cast<int>(token.size());
  XrdNetAddr address;
  client_.addrInfo = &address;
  EXPECT_FALSE(May(AOP_Read, "/tokens/a", "")) << "without TLS";
  address.SetTLS(true);
  EXPECT_TRUE(May(AOP_Read, "/tokens/a", ""));
  EXPECT_FALSE(May(AOP_Read, "/tokens/ab", ""));
  EXPECT_FALSE(May(AOP_Delete, "/tokens/a", ""));
}

// A login by a token gives the client the name that the token claims.
TEST_F(ClientAccessTest, SomethingElseShownInPlaceOfTheLoginsTokenLeavesNoName) {
  Be("ztn", "alice");
  std::string token = Good("storage.read:/a");
  client_.creds = token.data();
  client_.credslen = static_cast<int>(token.size());
  for (const char* shown : {"authz=Basic%20x", "authz=%", "authz=Bearer%20", "authz=x"}) {
    XrdOucEnv env(shown);
    EXPECT_EQ(access_->Access(&client_, "/b", AOP_Delete, &env), XrdAccPriv_None) << shown;
    EXPECT_NE(access_->Access(&client_, "/public/file", AOP_Read, &env), XrdAccPriv_None) << shown;
  }
  client_.creds = nullptr;
  client_.credslen = 0;
  EXPECT_FALSE(May(AOP_Delete, "/b", ""));
}

TEST_F(ClientAccessTest, AHolderOfASharedSecretIsWhomItsKeySays) {
  Be("sss", "carol");
  char claimed[] = "testvo";
  client_.vorg = client_.role = claimed;
  client_.eaAPI->Add("request.name", "alice", true);
  EXPECT_FALSE(May(AOP_Delete, "/b", ""));
  EXPECT_TRUE(May(AOP_Read, "/public/file", ""));
  client_.vorg = client_.role = nullptr;
  Be("sss", "alice");
  EXPECT_TRUE(May(AOP_Delete, "/b", ""));
}

TEST_F(ClientAccessTest, ATokenThatOthersMayHaveSeenIsNone) {
  Be("http", nullptr);
  EXPECT_FALSE(May(AOP_Read, "/tokens/a", Good("storage.read:/a")));
}

// XRootD's http plug-in for VOMS calls such clients "gsi".
TEST_F(ClientAccessTest, HttpsWithAttributesIsSecret) {
  Be("gsi", nullptr);
  const std::string token = Good("storage.read:/a");
  client_.ueid = 12;
  client_.tident = "unknown.12:34@host";
  EXPECT_TRUE(May(AOP_Read, "/tokens/a", token));
  client_.tident = "http";
  EXPECT_TRUE(May(AOP_Read, "/tokens/a", token)) << "in a third-party copy";
  Be("sss", nullptr);
  client_.tident = "unknown.12:34@host";
  EXPECT_FALSE(May(AOP_Read, "/tokens/a", token)) << "a client of root:// chooses its number";
  Be("gsi", nullptr);
  client_.tident = "alice.345:34@host";
  EXPECT_FALSE(May(AOP_Read, "/tokens/a", token)) << "by root:// without TLS";
}

TEST_F(ClientAccessTest, MacaroonsAdmitWholeComponents) {
  const std::string macaroon = MacaroonOf({"location x", "cid path:/tokens/a", "cid path:/tokens"});
  stock_.good_token = macaroon;
  EXPECT_TRUE(May(AOP_Read, "/tokens/a/b", macaroon));
  EXPECT_FALSE(May(AOP_Read, "/tokens/ab", macaroon));
}

TEST_F(ClientAccessTest, BannedClientsMayNothing) {
  EXPECT_TRUE(May(AOP_Read, "/public/file", ""));
  EXPECT_FALSE(May(AOP_Read, "/public/file", Good("storage.read:/", "https://i", "evil")));
  Be("https", "mallory");
  EXPECT_FALSE(May(AOP_Read, "/public/file", ""));
  std::ofstream(banned_) << "name somebody\n";
  EXPECT_TRUE(May(AOP_Read, "/public/file", "")) << "the file is followed";
}

TEST_F(ClientAccessTest, ABanHoldsWhateverElseIsShown) {
  Be("ztn", "evil");
  EXPECT_FALSE(May(AOP_Read, "/public/file", Good("storage.read:/", "https://i", "good")));
  Be("https", nullptr);
  const auto named = [](const char* name) {
    return MacaroonOf({"identifier x", fmt::format("cid name:{}", name), "cid name:somebody"});
  };
  EXPECT_FALSE(May(AOP_Read, "/public/file", named("mallory")));
  EXPECT_TRUE(May(AOP_Read, "/public/file", named("alice")));
}

// A bearer can add a name to it.
TEST_F(ClientAccessTest, AMacaroonIsOfTheClientThatItWasGivenTo) {
  const auto subject_of = [this](const std::vector<std::string>& packets) {
    stock_.good_token = MacaroonOf(packets);
    XrdOucEnv env(("authz=Bearer%20" + stock_.good_token).c_str());
    EXPECT_NE(access_->Access(&client_, "/tokens/a", AOP_Read, &env), XrdAccPriv_None);
    return std::string(env.Get(SubjectKey()));
  };
  EXPECT_EQ(subject_of({"cid name:alice", "cid path:/tokens", "cid name:bob"}), "alice");
  EXPECT_EQ(subject_of({"cid path:/tokens", "cid name:bob"}), "");
}

TEST_F(ClientAccessTest, AForgedSubjectThatIsTooLongIsCut) {
  EXPECT_FALSE(May(AOP_Delete, "/b", TokenOf(fmt::format(R"({{"sub":"{}"}})", std::string(40'000, 'a')))));
  EXPECT_EQ(told_, "remove /b by " + std::string(255, 'a') + ",");
}

TEST_F(ClientAccessTest, RefusalsAreTold) {
  EXPECT_TRUE(May(AOP_Read, "/public/file", ""));
  EXPECT_TRUE(May(AOP_Read, "/tokens/a", Good("storage.read:/a")));
  EXPECT_FALSE(May(AOP_Create, "/b", "")) << "XRootD asks next whether it may be created";
  EXPECT_EQ(told_, "");
  EXPECT_FALSE(May(AOP_Excl_Create, "/b", ""));
  EXPECT_FALSE(May(AOP_Delete, "/tokens/a", Good("storage.read:/a")));
  EXPECT_EQ(told_, "create /b by ,remove /tokens/a by s,");
}

TEST_F(ClientAccessTest, AWrongParameterIsAnError) {
  const auto made = ClientAccess::Make("token=/x", stock_, [](const Refusal&) {});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message, "ofs.authlib: \"token=/x\" is neither tokens=FILE nor banned=FILE");
  EXPECT_FALSE(ClientAccess::Make("tokens=/nowhere/at/all", stock_, [](const Refusal&) {}));
}

}  // namespace
}  // namespace xec

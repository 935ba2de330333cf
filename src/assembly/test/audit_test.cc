// SPDX-License-Identifier: LGPL-3.0-or-later
// What a store on real directories tells of its changes.
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "assembly/configuration/options.hh"
#include "assembly/open_store.hh"
#include "edit/object_edit.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

namespace fs = std::filesystem;

class AuditTest : public testing::Test {
 protected:
  AuditTest() {
    fs::remove_all(root_);
    fs::create_directories(root_);
    Configuration configuration;
    for (const char* name : {"d1", "d2", "d3"})
      EXPECT_TRUE(SetOption(configuration, "data", (root_ / name).string(), "test"));
    EXPECT_TRUE(SetOption(configuration, "geometry", "2+1", "test"));
    EXPECT_TRUE(SetOption(configuration, "audit", file_.string(), "test"));
    auto opened = OpenStore(configuration, {.create_if_new = true, .process = "host:1"});
    EXPECT_TRUE(opened) << opened.error().message;
    opened_ = std::move(*opened);
    Caller alice;
    alice.subject = "alice";
    alice.door = "https";
    call_.caller = std::make_shared<const Caller>(std::move(alice));
  }
  ~AuditTest() override {
    opened_.reset();
    fs::remove_all(root_);
  }

  Store& store() { return opened_->store(); }

  Result<Version> Put(const std::string& path, std::string_view content, OnlyIf only_if = {}) {
    CreateOptions options;
    options.write.only_if = only_if;
    auto writer = SyncWait(store().Create(path, std::move(options), call_));
    if (!writer) return writer.error();
    XEC_TRY(SyncWait((*writer)->Append(AsBytes(content))));
    XEC_ASSIGN_OR_RETURN(const Committed committed, SyncWait((*writer)->Commit()));
    return committed.version;
  }

  // The lines since the last call.
  std::vector<nlohmann::json> Told() {
    std::vector<nlohmann::json> lines;
    std::ifstream file(file_);
    std::string line;
    for (size_t number = 0; std::getline(file, line); ++number) {
      if (number >= told_) lines.push_back(nlohmann::json::parse(line));
    }
    told_ += lines.size();
    return lines;
  }
  // "event path", each followed by a comma.
  std::string Events() {
    std::string events;
    for (const auto& line : Told())
      events += line["event"].get<std::string>() + " " + line["path"].get<std::string>() + ",";
    return events;
  }

  const fs::path root_ = fs::path(testing::TempDir()) / "audit_test";
  const fs::path file_ = root_ / "audit.log";
  std::unique_ptr<OpenedStore> opened_;
  CallOptions call_;
  size_t told_ = 0;
};

TEST_F(AuditTest, EachChangeOnce) {
  const Result<Version> first = Put("/a", "12345");
  ASSERT_TRUE(first) << first.error().message;
  std::vector<nlohmann::json> told = Told();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0]["event"], "create");
  EXPECT_EQ(told[0]["version"], first->ToString());
  EXPECT_EQ(told[0]["size"], 5);
  EXPECT_EQ(told[0]["subject"], "alice");
  EXPECT_EQ(told[0]["door"], "https");
  EXPECT_EQ(told[0]["process"], "host:1");
  EXPECT_EQ(told[0]["result"], "ok");

  ASSERT_TRUE(Put("/a", "2"));
  EXPECT_TRUE(SyncWait(store().SetAttribute("/a", "color", "red", OnlyIf(), call_)));
  EXPECT_TRUE(SyncWait(store().SetSettings("/a", {.mode = 0600}, call_)));
  EXPECT_TRUE(SyncWait(store().MakeDirectory("/d", false, call_)));
  EXPECT_TRUE(SyncWait(store().Rename("/a", "/d/b", {}, call_)));
  EXPECT_TRUE(SyncWait(store().Copy("/d/b", "/d/c", {}, call_)));
  EXPECT_TRUE(SyncWait(store().Copy("/d/b", "/d/c", {}, call_)));
  EXPECT_TRUE(SyncWait(store().Remove("/d/b", OnlyIf(), call_)));
  EXPECT_TRUE(SyncWait(store().Remove("/d/c", OnlyIf(), call_)));
  EXPECT_TRUE(SyncWait(store().RemoveDirectory("/d", call_)));
  EXPECT_EQ(
      Events(),
      "replace /a,attribute /a,mode /a,mkdir /d,rename /a,create /d/c,replace /d/c,remove /d/b,remove /d/c,"
      "rmdir /d,");
}

TEST_F(AuditTest, WhatChangesNothingIsNotTold) {
  ASSERT_TRUE(Put("/a", "1"));
  Told();
  EXPECT_EQ(Put("/a", "2", OnlyIf::Absent()).code(), Code::kAlreadyExists);
  EXPECT_EQ(SyncWait(store().Remove("/b", OnlyIf(), call_)).code(), Code::kNotFound);
  EXPECT_EQ(SyncWait(store().RemoveDirectory("/a", call_)).code(), Code::kNotDirectory);
  {
    auto writer = SyncWait(store().Create("/c", {}, call_));
    ASSERT_TRUE(writer);
    SyncWait((*writer)->Abandon());
  }
  EXPECT_EQ(Events(), "");
  // After a removal it is a creation again.
  EXPECT_TRUE(SyncWait(store().Remove("/a", OnlyIf(), call_)));
  ASSERT_TRUE(Put("/a", "3"));
  EXPECT_EQ(Events(), "remove /a,create /a,");
}

TEST_F(AuditTest, AnObjectThatIsChangedIsReplaced) {
  ASSERT_TRUE(Put("/a", "12345"));
  Told();
  Scratch scratch((root_ / "scratch").string(), 1 << 20);
  auto edit = SyncWait(ObjectEdit::Open(store(), scratch, "/a", {}, call_));
  ASSERT_TRUE(edit) << edit.error().message;
  ASSERT_TRUE(SyncWait((*edit)->Write(5, AsBytes("6"))));
  EXPECT_EQ(Events(), "");
  ASSERT_TRUE(SyncWait((*edit)->Close()));
  const std::vector<nlohmann::json> told = Told();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0]["event"], "replace");
  EXPECT_EQ(told[0]["size"], 6);
  EXPECT_EQ(told[0]["subject"], "alice");
}

TEST_F(AuditTest, WhatIsGoneOrRenamedIsToldByItsVersion) {
  const Result<Version> first = Put("/a", "12345");
  ASSERT_TRUE(first);
  Told();
  ASSERT_TRUE(SyncWait(store().Rename("/a", "/b", {}, call_)));
  const Result<ObjectInfo> renamed = SyncWait(store().Stat("/b"));
  ASSERT_TRUE(renamed);
  ASSERT_TRUE(SyncWait(store().Remove("/b", OnlyIf(), call_)));
  const std::vector<nlohmann::json> told = Told();
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0]["version"], first->ToString());
  EXPECT_EQ(told[1]["version"], renamed->version.ToString());
  EXPECT_EQ(told[0]["size"], 5);
  EXPECT_EQ(told[1]["size"], 5);
}

}  // namespace
}  // namespace xec

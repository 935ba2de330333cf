// SPDX-License-Identifier: LGPL-3.0-or-later
// A store of layout xrdec on memory servers, and looks at what lies on them.
#pragma once

#include <set>

#include <gmock/gmock.h>

#include "archive/xrdec_attributes.hh"
#include "object/test/test_store.hh"
#include "runtime/sync_wait.hh"
#include "store/layout_store.hh"
#include "store/make_layout_store.hh"

namespace xec {

inline TestStore::Options FourPlusTwo() {
  TestStore::Options options;
  options.layout = Layout::kXrdec;
  options.servers = 9;
  options.engine.superseded_grace = Duration(0);
  options.engine.upload_grace = Duration(0);
  options.engine.tombstone_horizon = Duration(0);
  return options;
}

class XrdecStoreTest : public ::testing::Test {
 protected:
  explicit XrdecStoreTest(const TestStore::Options& options = FourPlusTwo())
      : test_(options), store_(MakeLayoutStore(test_.engine())) {}

  Status Put(const std::string& path, const std::string& bytes, CreateOptions options = {}) {
    auto writer = SyncWait(store_->Create(path, std::move(options)));
    if (!writer) return writer.error();
    for (size_t at = 0; at < bytes.size(); at += 100'003) {
      const Status appended =
          SyncWait((*writer)->Append(AsBytes(std::string_view(bytes).substr(at, 100'003))));
      if (!appended) return appended.error();
    }
    const auto committed = SyncWait((*writer)->Commit());
    return committed ? OkStatus() : Status(committed.error());
  }

  Result<std::string> Get(const std::string& path) {
    auto reader = SyncWait(store_->OpenRead(path));
    if (!reader) return reader.error();
    return TestStore::Read(**reader, 0, (*reader)->size() + 1);
  }

  Code StatCode(const std::string& path) {
    const auto info = SyncWait(store_->Stat(path));
    return info ? Code::kInternal : info.code();
  }

  std::vector<std::string> Names(const std::string& path) {
    const auto listed = SyncWait(store_->List(path));
    if (!listed) return {listed.error().ToString()};
    std::vector<std::string> names;
    for (const ListedName& name : *listed) names.push_back(name.name + (name.directory ? "/" : ""));
    return names;
  }

  void SetDown(const std::vector<MemberIndex>& servers, bool down) {
    for (const MemberIndex server : servers) test_.memory(server).SetDown(down);
  }

  std::vector<MemberIndex> ServersWith(const std::string& file) {
    std::vector<MemberIndex> servers;
    for (size_t i = 0; i < test_.server_count(); ++i) {
      if (test_.memory(i).Content(file)) servers.push_back(static_cast<MemberIndex>(i));
    }
    return servers;
  }

  std::set<std::string> FilesOutsideReservedArea() {
    std::set<std::string> files;
    for (size_t i = 0; i < test_.server_count(); ++i) {
      for (const auto& [file, size] : test_.memory(i).Files()) {
        if (!file.starts_with("/.xec/")) files.insert(file);
      }
    }
    return files;
  }

  std::vector<std::string> AllFiles() {
    std::vector<std::string> files;
    for (size_t i = 0; i < test_.server_count(); ++i) {
      for (const auto& [file, size] : test_.memory(i).Files()) files.push_back(file);
    }
    return files;
  }

  size_t FilesLeft() {
    size_t count = 0;
    for (size_t i = 0; i < test_.server_count(); ++i) count += test_.memory(i).Files().size();
    return count;
  }

  XrdecAttributes AttributesOn(MemberIndex server, const std::string& file) {
    const auto got =
        SyncWait(GetAttributes(test_.engine().MetadataCall(), test_.engine().server(server), file, "xrdec."));
    EXPECT_TRUE(got);
    const auto parsed = XrdecAttributes::Parse(std::map<std::string, std::string>(got->begin(), got->end()));
    EXPECT_TRUE(parsed);
    return parsed ? *parsed : XrdecAttributes();
  }

  // As a stock client leaves it: the bytes of an archive at the plain name, with attributes.
  void PlaceArchive(MemberIndex server, const std::string& path, const std::string& bytes, uint64_t size,
                    uint64_t version) {
    const auto call = test_.engine().MetadataCall();
    EXPECT_TRUE(SyncWait(CreateFile(call, test_.engine().server(server), path, bytes, false)));
    XrdecAttributes attributes;
    attributes.file_size = size;
    attributes.version = version;
    EXPECT_TRUE(SyncWait(SetAttributes(call, test_.engine().server(server), path, attributes.Format())));
  }

  void CleanTwice() {
    for (int pass = 0; pass < 2; ++pass) {
      const auto cleaned = SyncWait(store_->Clean());
      EXPECT_TRUE(cleaned) << cleaned.error().ToString();
    }
  }

  void FailOn(Operation operation, const std::string& path, size_t servers) {
    for (size_t i = 0; i < servers; ++i) {
      FaultRule rule;
      rule.operation = operation;
      rule.path_contains = path;
      test_.faults(i).Add(rule);
    }
  }
  void ClearFaults() {
    for (size_t i = 0; i < test_.server_count(); ++i) test_.faults(i).Clear();
  }

  TestStore test_;
  std::unique_ptr<LayoutStore> store_;
};

}  // namespace xec

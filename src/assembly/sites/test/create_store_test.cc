// SPDX-License-Identifier: LGPL-3.0-or-later
// The making of a store by a process that slept after it had looked at the directories.
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "assembly/configuration/options.hh"
#include "assembly/open_store.hh"
#include "assembly/sites/site_server.hh"
#include "assembly/sites/sites.hh"
#include "assembly/store_process.hh"
#include "runtime/sync_wait.hh"
#include "runtime/thread_pool.hh"

namespace xec {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr int kDirectories = 3;

class CreateStoreTest : public testing::Test {
 protected:
  CreateStoreTest() {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    root_ = fs::path(testing::TempDir()) / (std::string("create_store_") + info->name());
    Clear();
    for (int i = 1; i <= kDirectories; ++i)
      EXPECT_TRUE(SetOption(configuration_, "data", Directory(i).string(), "test"));
    EXPECT_TRUE(SetOption(configuration_, "geometry", "2+1", "test"));
  }
  ~CreateStoreTest() override {
    gate_->Close();
    fs::remove_all(root_);
  }

  fs::path Directory(int i) const { return root_ / fmt::format("d{}", i); }
  void Clear() const { fs::remove_all(root_); }

  // Identities of a store without any descriptor.
  void CutShort() const {
    Clear();
    for (int i = 1; i <= kDirectories; ++i) {
      fs::create_directories(Directory(i) / ".xec");
      std::ofstream(Directory(i) / ".xec/server") << FormatIdentity(old_id_, fmt::format("s{:02}", i));
    }
  }

  std::vector<SiteView> Look() {
    std::vector<SiteView> views;
    for (int i = 1; i <= kDirectories; ++i) {
      const std::string path = Directory(i).string();
      const auto site = MakeSite(Site{path, ""}, pool_, gate_);
      EXPECT_TRUE(site);
      const CallContext call{&pool_, pool_.Now() + 30s};
      views.push_back(SyncWait(InspectSite(call, *site)));
      EXPECT_EQ(views.back().state, SiteView::kMember);
    }
    return views;
  }

  Status Create(std::vector<SiteView> views, TimePoint asked) {
    const auto descriptor = NewDescriptor(views, configuration_, new_id_);
    EXPECT_TRUE(descriptor);
    return SyncWait(CreateStoreOn(pool_, std::move(views), *descriptor, asked));
  }

  // The id of the store that is there, or why there is none.
  std::string StoreId(bool make = false) const {
    OpenOptions options;
    options.create_if_new = make;
    auto store = OpenStore(configuration_, options);
    return store ? EngineOf(**store)->descriptor().store_id : store.error().message;
  }

  const std::string old_id_ = std::string(32, 'a');
  const std::string new_id_ = std::string(32, 'b');
  fs::path root_;
  Configuration configuration_;
  ThreadPool pool_{"test", 1};
  std::shared_ptr<CompletionGate> gate_ = std::make_shared<CompletionGate>();
};

TEST_F(CreateStoreTest, MakesAnewWhatWasCutShort) {
  CutShort();
  std::ofstream(Directory(2) / ".xec/store") << "xec-store 1\n";
  const Status created = Create(Look(), pool_.Now());
  EXPECT_TRUE(created) << created.error().message;
  EXPECT_EQ(StoreId(), new_id_);
}

TEST_F(CreateStoreTest, DestroysNoStoreThatWasMadeMeanwhile) {
  CutShort();
  const std::vector<SiteView> before = Look();
  Clear();
  const std::string made = StoreId(true);
  EXPECT_EQ(made.size(), 32u) << made;
  EXPECT_EQ(Create(before, pool_.Now()).code(), Code::kConflict);
  EXPECT_EQ(StoreId(), made);
}

TEST_F(CreateStoreTest, DestroysNoCreationThatBeganMeanwhile) {
  CutShort();
  std::vector<SiteView> before = Look();
  for (SiteView& view : before) view.identity->store_id = std::string(32, 'c');
  EXPECT_EQ(Create(before, pool_.Now()).code(), Code::kConflict);
  EXPECT_EQ(Look()[0].identity->store_id, old_id_);

  // A descriptor that is being written.
  before = Look();
  std::ofstream(Directory(1) / ".xec/store") << "xec-st";
  EXPECT_EQ(Create(before, pool_.Now()).code(), Code::kConflict);
  EXPECT_EQ(Look()[0].identity->store_id, old_id_);
}

TEST_F(CreateStoreTest, RemovesNothingOnTheWordOfAnOldLook) {
  CutShort();
  EXPECT_EQ(Create(Look(), pool_.Now() - 5s).code(), Code::kUnavailable);
  EXPECT_EQ(Look()[0].identity->store_id, old_id_);
}

}  // namespace
}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "api/gated_store.hh"

#include <gtest/gtest.h>

#include "runtime/sync_wait.hh"

namespace xec {
namespace {

TEST(GatedStore, WhatTheGateRefusesIsNotAsked) {
  int asked = 0;
  GatedStore store([&](std::string_view path, const CallOptions& call) -> Result<Store*> {
    ++asked;
    return Fail(Code::kPermissionDenied, "{} may not see {}", call.caller ? call.caller->subject : "nobody",
                path);
  });
  CallOptions call;
  call.caller = std::make_shared<const Caller>(Caller{"alice", {}, "", "root"});
  EXPECT_EQ(SyncWait(store.Stat("/a", call)).error().message, "alice may not see /a");
  EXPECT_EQ(SyncWait(store.Rename("/a", "/b", {}, {})).error().message, "nobody may not see /b");
  EXPECT_EQ(SyncWait(ListAll(store, "/")).code(), Code::kPermissionDenied);
  EXPECT_EQ(SyncWait(store.Space({})).code(), Code::kPermissionDenied);
  EXPECT_EQ(asked, 4);
}

}  // namespace
}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// Edits of a store in a map whose stripes have 16 bytes, with a scratch of their own.
#pragma once

#include <filesystem>

#include <gtest/gtest.h>

#include "api/test/fake_store.hh"
#include "edit/object_edit.hh"
#include "edit/test/edit_model.hh"
#include "runtime/sync_wait.hh"

namespace xec {

class EditTest : public testing::Test {
 protected:
  EditTest(const char* name, uint64_t scratch_bytes)
      : root_(std::filesystem::path(testing::TempDir()) / name),
        scratch_(root_.string(), scratch_bytes, /*block_bytes=*/1) {
    store_.stripe_bytes = 16;
  }
  ~EditTest() override { std::filesystem::remove_all(root_); }

  std::unique_ptr<ObjectEdit> Open(const std::string& path, EditOptions options = {}) {
    auto edit = SyncWait(ObjectEdit::Open(store_, scratch_, path, std::move(options)));
    EXPECT_TRUE(edit) << edit.error().message;
    return edit ? std::move(*edit) : nullptr;
  }
  Code CodeOfOpen(const std::string& path, EditOptions options = {}) {
    return SyncWait(ObjectEdit::Open(store_, scratch_, path, std::move(options))).code();
  }
  static Status Write(ObjectEdit& edit, uint64_t offset, std::string_view bytes) {
    return SyncWait(edit.Write(offset, AsBytes(bytes)));
  }
  static std::string Read(ObjectEdit& edit, uint64_t offset = 0, size_t size = 1000) {
    return ReadText(edit, offset, size);
  }

  const std::filesystem::path root_;
  FakeStore store_;
  Scratch scratch_;
};

}  // namespace xec

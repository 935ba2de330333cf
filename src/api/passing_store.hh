// SPDX-License-Identifier: LGPL-3.0-or-later
// PassingStore: a store in front of another one, to which it passes on all that a derived store has nothing
// to do with.
#pragma once

#include "api/store.hh"

namespace xec {

// Thread-safe as far as the store behind it is, which outlives it and its handles.
class PassingStore : public Store {
 public:
  explicit PassingStore(Store& next) : next_(next) {}

  Task<Result<ObjectInfo>> Stat(std::string path, CallOptions call) override {
    return next_.Stat(std::move(path), std::move(call));
  }
  Task<Result<ObjectDescription>> Describe(std::string path, CallOptions call) override {
    return next_.Describe(std::move(path), std::move(call));
  }
  Task<Result<NamesPage>> List(std::string directory, ListOptions options, CallOptions call) override {
    return next_.List(std::move(directory), std::move(options), std::move(call));
  }
  Task<Result<std::shared_ptr<ReadHandle>>> Open(std::string path, OnlyIf only_if,
                                                 CallOptions call) override {
    return next_.Open(std::move(path), only_if, std::move(call));
  }
  Task<Status> MakeDirectory(std::string path, bool parents, CallOptions call) override {
    return next_.MakeDirectory(std::move(path), parents, std::move(call));
  }
  Task<Status> RemoveDirectory(std::string path, CallOptions call) override {
    return next_.RemoveDirectory(std::move(path), std::move(call));
  }
  Task<Status> SetAttribute(std::string path, std::string name, std::optional<std::string> value,
                            OnlyIf only_if, CallOptions call) override {
    return next_.SetAttribute(std::move(path), std::move(name), std::move(value), only_if, std::move(call));
  }
  Task<Status> SetSettings(std::string path, Settings settings, CallOptions call) override {
    return next_.SetSettings(std::move(path), settings, std::move(call));
  }
  Task<Status> KeepChecksum(std::string path, Version version, std::string algorithm, std::string hex,
                            CallOptions call) override {
    return next_.KeepChecksum(std::move(path), version, std::move(algorithm), std::move(hex),
                              std::move(call));
  }
  Task<Result<StoreSpace>> Space(CallOptions call) override { return next_.Space(std::move(call)); }

 protected:
  Store& next_;
};

}  // namespace xec

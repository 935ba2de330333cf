// SPDX-License-Identifier: LGPL-3.0-or-later
// EngineStore: what front ends see of a layout's store: calls that can be cut short, copies, and handles.
#pragma once

#include "store/layout_store.hh"

namespace xec {

// Thread-safe.
class EngineStore final : public Store {
 public:
  // Both outlive this object, its handles, and what goes on in the scope of the engine.
  EngineStore(Engine& engine, LayoutStore& layout) : engine_(engine), layout_(layout) {}

  Task<Result<ObjectInfo>> Stat(std::string path, CallOptions call) override;
  Task<Result<ObjectDescription>> Describe(std::string path, CallOptions call) override;
  Task<Result<NamesPage>> List(std::string directory, ListOptions options, CallOptions call) override;
  Task<Result<std::unique_ptr<WriteHandle>>> Create(std::string path, CreateOptions options,
                                                    CallOptions call) override;
  Task<Result<std::shared_ptr<ReadHandle>>> Open(std::string path, OnlyIf only_if, CallOptions call) override;
  Task<Result<ObjectGone>> Remove(std::string path, OnlyIf only_if, CallOptions call) override;
  Task<Status> MakeDirectory(std::string path, bool parents, CallOptions call) override;
  Task<Status> RemoveDirectory(std::string path, CallOptions call) override;
  Task<Result<Renamed>> Rename(std::string from, std::string to, RenameOptions options,
                               CallOptions call) override;
  Task<Result<Committed>> Copy(std::string from, std::string to, CopyOptions options,
                               CallOptions call) override;
  Task<Status> SetAttribute(std::string path, std::string name, std::optional<std::string> value,
                            OnlyIf only_if, CallOptions call) override;
  Task<Status> SetSettings(std::string path, Settings settings, CallOptions call) override;
  Task<Status> KeepChecksum(std::string path, Version version, std::string algorithm, std::string hex,
                            CallOptions call) override;
  Task<Result<StoreSpace>> Space(CallOptions call) override;

 private:
  template <typename T>
  Task<T> Ask(CallOptions call, Task<T> task);

  Engine& engine_;
  LayoutStore& layout_;
};

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "api/gated_store.hh"

#include "runtime/within.hh"

namespace xec {
namespace {

// What is asked about all of it.
constexpr std::string_view kWholeStore;

}  // namespace

// Passes on what the gate lets through; a task is lazy, so nothing is started for an answer that nobody
// awaits.
#define XEC_PASS(T, passed, passed_on)         \
  const Result<Store*> store = passed;         \
  if (!store) return Refuse<T>(store.error()); \
  return (*store)->passed_on

Task<Result<ObjectInfo>> GatedStore::Stat(std::string path, CallOptions call) {
  XEC_PASS(Result<ObjectInfo>, gate_(path, call), Stat(std::move(path), std::move(call)));
}

Task<Result<ObjectDescription>> GatedStore::Describe(std::string path, CallOptions call) {
  XEC_PASS(Result<ObjectDescription>, gate_(path, call), Describe(std::move(path), std::move(call)));
}

Task<Result<NamesPage>> GatedStore::List(std::string directory, ListOptions options, CallOptions call) {
  XEC_PASS(Result<NamesPage>, gate_(directory, call),
           List(std::move(directory), std::move(options), std::move(call)));
}

Task<Result<std::unique_ptr<WriteHandle>>> GatedStore::Create(std::string path, CreateOptions options,
                                                              CallOptions call) {
  XEC_PASS(Result<std::unique_ptr<WriteHandle>>, gate_(path, call),
           Create(std::move(path), std::move(options), std::move(call)));
}

Task<Result<std::shared_ptr<ReadHandle>>> GatedStore::Open(std::string path, OnlyIf only_if,
                                                           CallOptions call) {
  XEC_PASS(Result<std::shared_ptr<ReadHandle>>, gate_(path, call),
           Open(std::move(path), only_if, std::move(call)));
}

Task<Result<ObjectGone>> GatedStore::Remove(std::string path, OnlyIf only_if, CallOptions call) {
  XEC_PASS(Result<ObjectGone>, gate_(path, call), Remove(std::move(path), only_if, std::move(call)));
}

Task<Status> GatedStore::MakeDirectory(std::string path, bool parents, CallOptions call) {
  XEC_PASS(Status, gate_(path, call), MakeDirectory(std::move(path), parents, std::move(call)));
}

Task<Status> GatedStore::RemoveDirectory(std::string path, CallOptions call) {
  XEC_PASS(Status, gate_(path, call), RemoveDirectory(std::move(path), std::move(call)));
}

Result<Store*> GatedStore::BothPass(std::string_view from, std::string_view to,
                                    const CallOptions& call) const {
  const Result<Store*> passed = gate_(to, call);
  return passed ? gate_(from, call) : passed;
}

Task<Result<Renamed>> GatedStore::Rename(std::string from, std::string to, RenameOptions options,
                                         CallOptions call) {
  XEC_PASS(Result<Renamed>, BothPass(from, to, call),
           Rename(std::move(from), std::move(to), options, std::move(call)));
}

Task<Result<Committed>> GatedStore::Copy(std::string from, std::string to, CopyOptions options,
                                         CallOptions call) {
  XEC_PASS(Result<Committed>, BothPass(from, to, call),
           Copy(std::move(from), std::move(to), std::move(options), std::move(call)));
}

Task<Status> GatedStore::SetAttribute(std::string path, std::string name, std::optional<std::string> value,
                                      OnlyIf only_if, CallOptions call) {
  XEC_PASS(Status, gate_(path, call),
           SetAttribute(std::move(path), std::move(name), std::move(value), only_if, std::move(call)));
}

Task<Status> GatedStore::SetSettings(std::string path, Settings settings, CallOptions call) {
  XEC_PASS(Status, gate_(path, call), SetSettings(std::move(path), settings, std::move(call)));
}

Task<Status> GatedStore::KeepChecksum(std::string path, Version version, std::string algorithm,
                                      std::string hex, CallOptions call) {
  XEC_PASS(Status, gate_(path, call),
           KeepChecksum(std::move(path), version, std::move(algorithm), std::move(hex), std::move(call)));
}

Task<Result<StoreSpace>> GatedStore::Space(CallOptions call) {
  XEC_PASS(Result<StoreSpace>, gate_(kWholeStore, call), Space(std::move(call)));
}

#undef XEC_PASS

}  // namespace xec

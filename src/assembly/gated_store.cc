// SPDX-License-Identifier: LGPL-3.0-or-later
#include "assembly/gated_store.hh"

namespace xec {
namespace {

// What is asked about all of it.
constexpr std::string_view kWholeStore;

template <typename T>
Task<T> Refused(Error error) {
  co_return std::move(error);
}

}  // namespace

// Passes on what the gate lets through; a task is lazy, so nothing is started for an answer that nobody
// awaits.
#define XEC_PASS(T, path, call)                 \
  const Result<Store*> store = gate_(path);     \
  if (!store) return Refused<T>(store.error()); \
  return (*store)->call

Task<Result<ObjectInfo>> GatedStore::Stat(std::string path) {
  XEC_PASS(Result<ObjectInfo>, path, Stat(std::move(path)));
}

Task<Result<std::vector<ListedName>>> GatedStore::List(std::string path) {
  XEC_PASS(Result<std::vector<ListedName>>, path, List(std::move(path)));
}

Task<Result<std::unique_ptr<ObjectWriter>>> GatedStore::Create(std::string path, CreateOptions options) {
  XEC_PASS(Result<std::unique_ptr<ObjectWriter>>, path, Create(std::move(path), std::move(options)));
}

Task<Result<std::shared_ptr<ObjectReader>>> GatedStore::OpenRead(std::string path) {
  XEC_PASS(Result<std::shared_ptr<ObjectReader>>, path, OpenRead(std::move(path)));
}

Task<Status> GatedStore::Remove(std::string path) { XEC_PASS(Status, path, Remove(std::move(path))); }

Task<Status> GatedStore::MakeDirectory(std::string path, bool parents) {
  XEC_PASS(Status, path, MakeDirectory(std::move(path), parents));
}

Task<Status> GatedStore::RemoveDirectory(std::string path) {
  XEC_PASS(Status, path, RemoveDirectory(std::move(path)));
}

Task<Status> GatedStore::Rename(std::string from, std::string to) {
  const Result<Store*> target = gate_(to);
  if (!target) return Refused<Status>(target.error());
  XEC_PASS(Status, from, Rename(std::move(from), std::move(to)));
}

Task<Result<std::map<std::string, std::string>>> GatedStore::Checksums(std::string path) {
  using Answer = Result<std::map<std::string, std::string>>;
  XEC_PASS(Answer, path, Checksums(std::move(path)));
}

Task<Result<VersionChecksums>> GatedStore::LaterChecksums(std::string path) {
  XEC_PASS(Result<VersionChecksums>, path, LaterChecksums(std::move(path)));
}

Task<Status> GatedStore::KeepChecksum(std::string path, Version version, std::string algorithm,
                                      std::string hex) {
  XEC_PASS(Status, path, KeepChecksum(std::move(path), version, std::move(algorithm), std::move(hex)));
}

Task<Result<std::map<std::string, std::string>>> GatedStore::GetUserAttributes(std::string path) {
  using Answer = Result<std::map<std::string, std::string>>;
  XEC_PASS(Answer, path, GetUserAttributes(std::move(path)));
}

Task<Status> GatedStore::SetUserAttribute(std::string path, std::string name,
                                          std::optional<std::string> value) {
  XEC_PASS(Status, path, SetUserAttribute(std::move(path), std::move(name), std::move(value)));
}

Task<Result<StoreSpace>> GatedStore::Space() { XEC_PASS(Result<StoreSpace>, kWholeStore, Space()); }

Task<Result<CleanReport>> GatedStore::Clean() { XEC_PASS(Result<CleanReport>, kWholeStore, Clean()); }

Task<Result<StoredNames>> GatedStore::ListStored(std::string directory) {
  XEC_PASS(Result<StoredNames>, directory, ListStored(std::move(directory)));
}

Task<Result<bool>> GatedStore::BringIntoTree(std::string path) {
  XEC_PASS(Result<bool>, path, BringIntoTree(std::move(path)));
}

Task<Result<RepairReport>> GatedStore::Repair(std::string path, RepairOptions options) {
  XEC_PASS(Result<RepairReport>, path, Repair(std::move(path), std::move(options)));
}

#undef XEC_PASS

}  // namespace xec

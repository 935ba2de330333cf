// SPDX-License-Identifier: LGPL-3.0-or-later
#include "assembly/gated_store.hh"

namespace xec {
namespace {

template <typename T>
Task<T> Refused(Error error) {
  co_return std::move(error);
}

}  // namespace

// Passes on what the gate lets through; a task is lazy, so nothing is started for an answer that nobody
// awaits.
#define XEC_PASS(T, call)                       \
  const Result<Store*> store = gate_();         \
  if (!store) return Refused<T>(store.error()); \
  return (*store)->call

Task<Result<ObjectInfo>> GatedStore::Stat(std::string path) {
  XEC_PASS(Result<ObjectInfo>, Stat(std::move(path)));
}

Task<Result<std::vector<ListedName>>> GatedStore::List(std::string path) {
  XEC_PASS(Result<std::vector<ListedName>>, List(std::move(path)));
}

Task<Result<std::unique_ptr<ObjectWriter>>> GatedStore::Create(std::string path, CreateOptions options) {
  XEC_PASS(Result<std::unique_ptr<ObjectWriter>>, Create(std::move(path), std::move(options)));
}

Task<Result<std::shared_ptr<ObjectReader>>> GatedStore::OpenRead(std::string path) {
  XEC_PASS(Result<std::shared_ptr<ObjectReader>>, OpenRead(std::move(path)));
}

Task<Status> GatedStore::Remove(std::string path) { XEC_PASS(Status, Remove(std::move(path))); }

Task<Status> GatedStore::MakeDirectory(std::string path, bool parents) {
  XEC_PASS(Status, MakeDirectory(std::move(path), parents));
}

Task<Status> GatedStore::RemoveDirectory(std::string path) {
  XEC_PASS(Status, RemoveDirectory(std::move(path)));
}

Task<Status> GatedStore::Rename(std::string from, std::string to) {
  XEC_PASS(Status, Rename(std::move(from), std::move(to)));
}

Task<Result<std::map<std::string, std::string>>> GatedStore::Checksums(std::string path) {
  using Answer = Result<std::map<std::string, std::string>>;
  XEC_PASS(Answer, Checksums(std::move(path)));
}

Task<Result<std::map<std::string, std::string>>> GatedStore::GetUserAttributes(std::string path) {
  using Answer = Result<std::map<std::string, std::string>>;
  XEC_PASS(Answer, GetUserAttributes(std::move(path)));
}

Task<Status> GatedStore::SetUserAttribute(std::string path, std::string name,
                                          std::optional<std::string> value) {
  XEC_PASS(Status, SetUserAttribute(std::move(path), std::move(name), std::move(value)));
}

Task<Result<StoreSpace>> GatedStore::Space() { XEC_PASS(Result<StoreSpace>, Space()); }

Task<Result<CleanReport>> GatedStore::Clean() { XEC_PASS(Result<CleanReport>, Clean()); }

Task<Result<StoredNames>> GatedStore::ListStored(std::string directory) {
  XEC_PASS(Result<StoredNames>, ListStored(std::move(directory)));
}

Task<Result<bool>> GatedStore::BringIntoTree(std::string path) {
  XEC_PASS(Result<bool>, BringIntoTree(std::move(path)));
}

Task<Result<RepairReport>> GatedStore::Repair(std::string path, RepairOptions options) {
  XEC_PASS(Result<RepairReport>, Repair(std::move(path), std::move(options)));
}

#undef XEC_PASS

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "capi/request.hh"

#include <algorithm>
#include <cstring>

namespace xec::capi {
namespace {

void CopyVersion(const Version& version, char (&out)[XEC_VERSION_SIZE]) {
  const std::string text = version.ToString();
  std::memset(out, 0, sizeof out);
  std::memcpy(out, text.data(), std::min(text.size(), sizeof out - 1));
}

xec_info InfoOf(const ObjectInfo& info) {
  xec_info out = {};
  out.directory = info.directory ? 1 : 0;
  out.size = info.size;
  out.mtime_ms = info.mtime_ms;
  out.mode = info.settings.mode ? *info.settings.mode : XEC_NO_MODE;
  CopyVersion(info.version, out.version);
  return out;
}

void AddPairs(std::map<std::string, std::string> values, Outcome& out, std::vector<xec_pair>& pairs) {
  for (auto& [name, value] : values) {
    const size_t size = value.size();
    const char* const kept = out.Keep(name);
    pairs.push_back({kept, out.Keep(std::move(value)), size});
  }
}

}  // namespace

int NumberOf(Code code) {
  switch (code) {
    case Code::kNotFound: return XEC_NOT_FOUND;
    case Code::kAlreadyExists: return XEC_ALREADY_EXISTS;
    case Code::kInvalidArgument: return XEC_INVALID_ARGUMENT;
    case Code::kPermissionDenied: return XEC_PERMISSION_DENIED;
    case Code::kIsDirectory: return XEC_IS_DIRECTORY;
    case Code::kNotDirectory: return XEC_NOT_DIRECTORY;
    case Code::kNotCurrent: return XEC_NOT_CURRENT;
    case Code::kNotEmpty: return XEC_NOT_EMPTY;
    case Code::kUnavailable: return XEC_UNAVAILABLE;
    case Code::kDeadlineExceeded: return XEC_DEADLINE_EXCEEDED;
    case Code::kCancelled: return XEC_CANCELLED;
    case Code::kConflict: return XEC_CONFLICT;
    case Code::kUnknown: return XEC_UNKNOWN;
    case Code::kCorruption: return XEC_CORRUPTION;
    case Code::kUnreadable: return XEC_UNREADABLE;
    case Code::kDataLoss: return XEC_DATA_LOSS;
    case Code::kNoQuorum: return XEC_CANNOT_TELL;
    case Code::kNoSpace: return XEC_NO_SPACE;
    case Code::kOverQuota: return XEC_OVER_QUOTA;
    case Code::kUnsupported: return XEC_UNSUPPORTED;
    case Code::kInternal: return XEC_INTERNAL;
  }
  return XEC_INTERNAL;
}

void Tell(const Error& error, Outcome& out) {
  out.code = NumberOf(error.code);
  out.message = error.message;
}

void Tell(const ObjectInfo& info, Outcome& out) { out.info = InfoOf(info); }

void Tell(ObjectDescription described, Outcome& out) {
  AddPairs(std::move(described.checksums), out, out.checksums);
  AddPairs(std::move(described.attributes), out, out.attributes);
  xec_description& all = out.description.emplace();
  all.info = InfoOf(described.info);
  all.checksums = out.checksums.data();
  all.checksums_count = out.checksums.size();
  all.attributes = out.attributes.data();
  all.attributes_count = out.attributes.size();
  all.data_chunks = described.geometry.data_chunks;
  all.parity_chunks = described.geometry.parity_chunks;
  all.chunk_bytes = described.geometry.chunk_size_bytes;
  out.info = all.info;
}

void Tell(NamesPage page, Outcome& out) {
  for (ListedName& name : page.names)
    out.names.push_back({out.Keep(std::move(name.name)), name.directory ? 1 : 0, name.size, name.mtime_ms});
  out.page = xec_page{out.names.data(), out.names.size(), page.more ? 1 : 0};
}

void Tell(const StoreSpace& space, Outcome& out) {
  out.space = xec_space{space.usable_total_bytes, space.usable_free_bytes};
}

void Tell(const Committed& committed, Outcome& out) {
  ObjectDescription described;
  described.info.size = committed.size;
  described.info.version = committed.version;
  described.info.mtime_ms = committed.version.WallMillis();
  described.checksums = committed.checksums;
  Tell(std::move(described), out);
  out.bytes = committed.size;
}

void Tell(const std::optional<Committed>& committed, Outcome& out) {
  if (committed) Tell(*committed, out);
}

void Request::TellDone() {
  if (done_ == nullptr || handle_ == nullptr) return;
  const Done done = std::exchange(done_, nullptr);
  xec_request* const handle = handle_;
  void* const user = user_;
  telling_ = std::this_thread::get_id();
  mutex_.Unlock();
  done(handle, user);
  mutex_.Lock();
  telling_.reset();
  changed_.NotifyAll();
}

void Request::End(Outcome outcome) {
  MutexLock lock(mutex_);
  outcome_ = std::move(outcome);
  ended_ = true;
  changed_.NotifyAll();
  TellDone();
}

void Request::Then(Done done, void* user) {
  MutexLock lock(mutex_);
  done_ = done;
  user_ = user;
  if (ended_) TellDone();
}

int Request::Wait() {
  MutexLock lock(mutex_);
  while (!ended_) changed_.Wait(mutex_);
  return outcome_.code;
}

void Request::Forget() {
  MutexLock lock(mutex_);
  handle_ = nullptr;
  while (telling_ && *telling_ != std::this_thread::get_id()) changed_.Wait(mutex_);
}

bool Request::ended() const {
  const MutexLock lock(mutex_);
  return ended_;
}

}  // namespace xec::capi

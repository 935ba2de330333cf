// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/upload_attributes.hh"

#include "archive/manifest.hh"
#include "protocol/later_checksums.hh"

namespace xec {
namespace {

thread_local std::string client_of_thread;
thread_local std::shared_ptr<const Caller> caller_of_thread;

}  // namespace

UserAttributes UploadAttributes::Values() const {
  const MutexLock lock(mutex_);
  return values_;
}

Status UploadAttributes::Set(const std::string& name, std::optional<std::string> value, bool only_new) {
  const MutexLock lock(mutex_);
  if (ended_) return Fail(Code::kConflict, "the upload is being closed; retry");
  if (only_new && values_.contains(name)) return Fail(Code::kAlreadyExists, "there is an attribute {}", name);
  if (!value) {
    if (values_.erase(name) == 0) return Fail(Code::kNotFound, "there is no attribute {}", name);
    return OkStatus();
  }
  UserAttributes values = values_;
  values[name] = std::move(*value);
  Status fits = CheckUserAttributeName(name);
  if (fits) fits = CheckUserAttributes(values);
  if (fits) {
    values_ = std::move(values);
  } else if (!refusal_) {
    refusal_ = fits.error();
  }
  return fits;
}

Status UploadAttributes::SetSettings(const Settings& settings) {
  const MutexLock lock(mutex_);
  if (ended_) return Fail(Code::kConflict, "the upload is being closed; retry");
  settings_ = settings_.With(settings);
  return OkStatus();
}

Settings UploadAttributes::settings() const {
  const MutexLock lock(mutex_);
  return settings_;
}

void UploadAttributes::BytesChange() {
  const MutexLock lock(mutex_);
  settings_.mtime_ns.reset();
}

Result<UploadAttributes::Given> UploadAttributes::End() {
  const MutexLock lock(mutex_);
  ended_ = true;
  if (refusal_) return *refusal_;
  return Given{values_, settings_};
}

UploadsOfClients::Upload UploadsOfClients::Begin(const std::string& client, const std::string& path) {
  auto upload = std::make_shared<UploadAttributes>();
  const MutexLock lock(mutex_);
  std::erase_if(uploads_, [](const auto& known) { return known.second.expired(); });
  uploads_.emplace(std::pair(client, path), upload);
  return upload;
}

Result<UploadsOfClients::Upload> UploadsOfClients::Find(const std::string& client, const std::string& path) {
  Upload found;
  const MutexLock lock(mutex_);
  const auto [begin, end] = uploads_.equal_range(std::pair(client, path));
  for (auto next = begin; next != end; ++next) {
    Upload upload = next->second.lock();
    if (upload && found)
      return Fail(Code::kConflict,
                  "this client uploads {} twice at once: nothing tells whose attributes are meant", path);
    if (upload) found = std::move(upload);
  }
  return found;
}

ClientOfThread::ClientOfThread(const char* client, std::shared_ptr<const Caller> caller) {
  client_of_thread = client == nullptr ? "" : client;
  caller_of_thread = std::move(caller);
}
ClientOfThread::~ClientOfThread() {
  client_of_thread.clear();
  caller_of_thread.reset();
}
const std::string& ClientOfThread::Get() { return client_of_thread; }
const std::shared_ptr<const Caller>& ClientOfThread::AsCaller() { return caller_of_thread; }

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// The user attributes and settings of uploads under way. What a client sets on a name while it uploads that
// name belongs to the upload (xrdcp --xattr does so between its last byte and its close), whatever lives
// there now; for other clients the name has the attributes of what lives there. Of an object that is changed
// in place settings are kept here too, for the version that the changes become.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/call_options.hh"
#include "base/mutex.hh"
#include "base/result.hh"
#include "protocol/attribute_set.hh"
#include "protocol/settings.hh"

namespace xec {

// Of one upload. Thread-safe.
class UploadAttributes {
 public:
  UserAttributes Values() const;

  // `only_new`: kAlreadyExists if there is one. Errors else: kNotFound (nothing to remove), kInvalidArgument
  // (not for users, too many, too large): the upload must not become an object without it, so End tells it
  // again.
  Status Set(const std::string& name, std::optional<std::string> value, bool only_new);

  // Those of before stand where these say nothing.
  Status SetSettings(const Settings& settings);
  Settings settings() const;
  // A time that was set was of the bytes as they were.
  void BytesChange();

  struct Given {
    UserAttributes attributes;
    Settings settings;
  };
  // The upload is being closed: what it will have. Setting one afterwards gives kConflict. Error: the first
  // refusal of one.
  Result<Given> End();

 private:
  mutable Mutex mutex_;
  UserAttributes values_ XEC_GUARDED_BY(mutex_);
  Settings settings_ XEC_GUARDED_BY(mutex_);
  std::optional<Error> refusal_ XEC_GUARDED_BY(mutex_);
  bool ended_ XEC_GUARDED_BY(mutex_) = false;
};

// Those of a gateway. Thread-safe.
class UploadsOfClients {
 public:
  using Upload = std::shared_ptr<UploadAttributes>;

  // `client` is one connection. The upload is under way as long as the caller owns what it gets.
  Upload Begin(const std::string& client, const std::string& path);

  // The upload of that name by that client; null: there is none. Error: kConflict, there are several, and
  // nothing tells which one is meant.
  Result<Upload> Find(const std::string& client, const std::string& path);

 private:
  Mutex mutex_;
  std::multimap<std::pair<std::string, std::string>, std::weak_ptr<UploadAttributes>> uploads_
      XEC_GUARDED_BY(mutex_);
};

// The client for whom this thread asks for attributes. The interface for attributes does not tell it, the
// file system in front of it knows it.
class ClientOfThread {
 public:
  // `client`: XRootD's trace identity. `caller`: the same as the store knows it.
  explicit ClientOfThread(const char* client, std::shared_ptr<const Caller> caller = nullptr);
  ~ClientOfThread();
  ClientOfThread(const ClientOfThread&) = delete;
  ClientOfThread& operator=(const ClientOfThread&) = delete;

  // "" if nobody said it.
  static const std::string& Get();
  // Null if nobody said it.
  static const std::shared_ptr<const Caller>& AsCaller();
};

}  // namespace xec

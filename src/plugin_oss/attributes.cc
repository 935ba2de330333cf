// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/attributes.hh"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "protocol/settings_attribute.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

constexpr std::string_view kUserPrefix = "U.";
constexpr int64_t kNanosInMilli = 1'000'000;

// Without the prefix; empty if it is not a user's attribute.
std::string UserName(const char* name) {
  const std::string_view text = name;
  return text.starts_with(kUserPrefix) ? std::string(text.substr(kUserPrefix.size())) : "";
}

}  // namespace

Result<UploadsOfClients::Upload> UserAttributesPlugin::OwnUpload(const char* path) {
  const std::string& client = ClientOfThread::Get();
  if (client.empty()) return UploadsOfClients::Upload();
  return gateway_.uploads_of_clients().Find(client, path);
}

Result<UserAttributes> UserAttributesPlugin::Read(const char* path) {
  XEC_ASSIGN_OR_RETURN(const UploadsOfClients::Upload upload, OwnUpload(path));
  if (upload) return upload->Values();
  XEC_ASSIGN_OR_RETURN(ObjectDescription described, SyncWait(gateway_.store().Describe(path)));
  return std::move(described.attributes);
}

Status UserAttributesPlugin::Change(const char* path, const std::string& name,
                                    std::optional<std::string> value, bool only_new) {
  if (name == kSettingsAttribute) {
    if (value) return SetSettings(path, *value);
    return Fail(Code::kUnsupported, "the settings of {} cannot be removed, only changed", path);
  }
  XEC_ASSIGN_OR_RETURN(const UploadsOfClients::Upload upload, OwnUpload(path));
  if (upload) return upload->Set(name, std::move(value), only_new);
  if (only_new) {
    XEC_ASSIGN_OR_RETURN(const ObjectDescription described, SyncWait(gateway_.store().Describe(path)));
    if (described.attributes.contains(name))
      return Fail(Code::kAlreadyExists, "{} has an attribute {}", path, name);
  }
  return SyncWait(gateway_.store().SetAttribute(path, name, std::move(value), {},
                                                {.caller = ClientOfThread::AsCaller()}));
}

Result<std::string> UserAttributesPlugin::ReadSettings(const char* path) {
  XEC_ASSIGN_OR_RETURN(const UploadsOfClients::Upload upload, OwnUpload(path));
  Settings settings;
  if (upload) settings = upload->settings();
  if (!upload) {
    XEC_ASSIGN_OR_RETURN(const ObjectInfo info, SyncWait(gateway_.store().Stat(path)));
    settings = info.settings;
    if (!settings.mtime_ns) settings.mtime_ns = info.mtime_ms * kNanosInMilli;
  }
  if (!settings.Any()) settings.mtime_ns = 0;
  return FormatSettings(settings);
}

Status UserAttributesPlugin::SetSettings(const char* path, const std::string& text) {
  const std::optional<Settings> settings = ParseSettings(text);
  if (!settings || settings->link) {
    return Fail(Code::kInvalidArgument,
                "'{}' says no mode and time: m0644_t1700000000000000000 would, or one of the two", text);
  }
  XEC_ASSIGN_OR_RETURN(UploadsOfClients::Upload own, OwnUpload(path));
  const std::string& client = ClientOfThread::Get();
  if (!own && !client.empty()) {
    XEC_ASSIGN_OR_RETURN(own, gateway_.edits_of_clients().Find(client, path));
  }
  if (own) return own->SetSettings(*settings);
  return SyncWait(gateway_.store().SetSettings(path, *settings, {.caller = ClientOfThread::AsCaller()}));
}

Result<std::optional<std::string>> UserAttributesPlugin::Value(const char* path, const std::string& name) {
  if (name == kSettingsAttribute) {
    XEC_ASSIGN_OR_RETURN(std::string settings, ReadSettings(path));
    return std::optional<std::string>(std::move(settings));
  }
  XEC_ASSIGN_OR_RETURN(const UserAttributes attributes, Read(path));
  const auto found = attributes.find(name);
  return found == attributes.end() ? std::nullopt : std::optional<std::string>(found->second);
}

int UserAttributesPlugin::Del(const char* name, const char* path, int) {
  return Guarded("remove attribute", [&]() -> int {
    const Attempt operation = {"remove attribute of", path, ""};
    const std::string user_name = UserName(name);
    const auto there = Value(path, user_name);
    if (!there) return Failed(operation, there.error());
    if (!*there) return -ENODATA;
    return Answer(operation, Change(path, user_name, std::nullopt, false));
  });
}

void UserAttributesPlugin::Free(AList* list) {
  while (list != nullptr) {
    AList* next = list->Next;
    std::free(list);
    list = next;
  }
}

int UserAttributesPlugin::Get(const char* name, void* value, int size, const char* path, int) {
  return Guarded("get attribute", [&]() -> int {
    const auto found = Value(path, UserName(name));
    if (!found) return Failed({"get attribute of", path, ""}, found.error());
    if (!*found) return -ENODATA;
    const std::string& text = **found;
    const int length = static_cast<int>(text.size());
    if (size == 0) return length;
    if (size < length) return -ERANGE;
    std::memcpy(value, text.data(), text.size());
    return length;
  });
}

int UserAttributesPlugin::List(AList** list, const char* path, int, int with_sizes) {
  return Guarded("list attributes", [&]() -> int {
    *list = nullptr;
    const auto attributes = Read(path);
    if (!attributes) return Failed({"list attributes of", path, ""}, attributes.error());
    int longest = 0;
    for (const auto& [user_name, value] : *attributes) {
      const std::string name = std::string(kUserPrefix) + user_name;
      // XRootD's list element ends in a name of any length; it is freed by Free.
      auto* element = static_cast<AList*>(std::malloc(sizeof(AList) + name.size()));
      if (element == nullptr) return -ENOMEM;
      element->Next = *list;
      element->Vlen = static_cast<int>(value.size());
      element->Nlen = static_cast<int>(name.size());
      std::memcpy(element->Name, name.c_str(), name.size() + 1);
      *list = element;
      longest = std::max(longest, element->Vlen);
    }
    return with_sizes != 0 ? longest : 0;
  });
}

int UserAttributesPlugin::Set(const char* name, const void* value, int size, const char* path, int,
                              int is_new) {
  return Guarded("set attribute", [&]() -> int {
    const Attempt operation = {"set attribute of", path, ""};
    const std::string user_name = UserName(name);
    if (user_name.empty())
      return Failed(operation, Fail(Code::kUnsupported, "{} is not an attribute of users", name));
    std::string text(static_cast<const char*>(value), static_cast<size_t>(std::max(size, 0)));
    return Answer(operation, Change(path, user_name, std::move(text), is_new != 0));
  });
}

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/attributes.hh"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace xec {

int UserAttributesPlugin::Del(const char* name, const char* path, int) {
  return Guarded("remove attribute", [&]() -> int {
    const Status removed = SyncWait(gateway_.store().SetUserAttribute(path, name, std::nullopt));
    if (!removed && removed.code() == Code::kNotFound) return -ENODATA;
    return Answer("remove attribute", path, removed);
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
    const auto attributes = SyncWait(gateway_.store().GetUserAttributes(path));
    if (!attributes) return Failed("get attribute", path, attributes.error());
    const auto found = attributes->find(name);
    if (found == attributes->end()) return -ENODATA;
    const int length = static_cast<int>(found->second.size());
    if (size == 0) return length;
    if (size < length) return -ERANGE;
    std::memcpy(value, found->second.data(), found->second.size());
    return length;
  });
}

int UserAttributesPlugin::List(AList** list, const char* path, int, int with_sizes) {
  return Guarded("list attributes", [&]() -> int {
    *list = nullptr;
    const auto attributes = SyncWait(gateway_.store().GetUserAttributes(path));
    if (!attributes) return Failed("list attributes", path, attributes.error());
    int longest = 0;
    for (const auto& [name, value] : *attributes) {
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

int UserAttributesPlugin::Set(const char* name, const void* value, int size, const char* path, int, int is_new) {
  return Guarded("set attribute", [&]() -> int {
    if (is_new != 0) {
      const auto attributes = SyncWait(gateway_.store().GetUserAttributes(path));
      if (!attributes) return Failed("set attribute", path, attributes.error());
      if (attributes->contains(name)) return -EEXIST;
    }
    std::string text(static_cast<const char*>(value), static_cast<size_t>(std::max(size, 0)));
    return Answer("set attribute", path, SyncWait(gateway_.store().SetUserAttribute(path, name, std::move(text))));
  });
}

}  // namespace xec

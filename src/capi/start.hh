// SPDX-License-Identifier: LGPL-3.0-or-later
// What the words of a call of xec.h are in C++, and how what it asks for begins.
#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>

#include "capi/request.hh"

namespace xec::capi {

// Takes a structure of the caller's, which may know another version of it.
template <typename T>
Status Take(const T* given, const char* name, T& taken) {
  taken = {};
  taken.size = sizeof(T);
  if (given == nullptr) return OkStatus();
  if (given->size < sizeof given->size)
    return Fail(Code::kInvalidArgument, "{}.size is {}: set it to sizeof({})", name, given->size, name);
  std::memcpy(&taken, given, std::min(given->size, sizeof(T)));
  const auto* const bytes = reinterpret_cast<const unsigned char*>(given);
  for (size_t i = sizeof(T); i < given->size; ++i) {
    if (bytes[i] != 0)
      return Fail(Code::kInvalidArgument, "{} asks for something that this libxec does not know", name);
  }
  return OkStatus();
}

Result<CallOptions> Options(const xec_call* given, const StorePtr& store);
// Error: kInvalidArgument.
Result<std::map<std::string, std::string>> AttributesOf(const xec_pair* pairs, size_t count);
xec_request* NewRequest(StorePtr store);

template <typename T>
using Made = Result<Task<Result<T>>>;

enum class Memory { kOwn, kLent };

// Starts what `make` makes of the options of the call; what `make` refuses is the outcome. `kept`: lives
// until the end. kLent: memory of the caller is needed until the end.
template <typename T, typename Make>
xec_request* Start(const StorePtr& store, const xec_call* given, Make make,
                   std::shared_ptr<const void> kept = nullptr, Memory memory = Memory::kOwn) {
  xec_request* const request = NewRequest(store);
  Result<CallOptions> call = Options(given, store);
  if (call && memory == Memory::kOwn) call->stop = request->state->stop();
  Result<Task<Result<T>>> task = call ? make(std::move(*call)) : Result<Task<Result<T>>>(call.error());
  if (task) {
    store->scope.Spawn(Answer<T>(request->state, std::move(kept), std::move(*task)));
  } else {
    Outcome outcome;
    Tell(task.error(), outcome);
    request->state->End(std::move(outcome));
  }
  return request;
}

}  // namespace xec::capi

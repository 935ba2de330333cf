// SPDX-License-Identifier: LGPL-3.0-or-later
#include "capi/start.hh"

namespace xec::capi {

Result<CallOptions> Options(const xec_call* given, const StorePtr& store) {
  xec_call taken;
  XEC_TRY(Take(given, "xec_call", taken));
  CallOptions call;
  if (taken.timeout_ms > 0)
    call.deadline = store->store->executor().Now() + std::chrono::milliseconds(taken.timeout_ms);
  Caller caller{Text(taken.subject), {}, Text(taken.host), Text(taken.door)};
  for (const char* const* group = taken.groups; group != nullptr && *group != nullptr; ++group)
    caller.groups.emplace_back(*group);
  if (given != nullptr) call.caller = std::make_shared<const Caller>(std::move(caller));
  return call;
}

Result<std::map<std::string, std::string>> AttributesOf(const xec_pair* pairs, size_t count) {
  std::map<std::string, std::string> attributes;
  for (size_t i = 0; pairs != nullptr && i < count; ++i) {
    if (pairs[i].value == nullptr) return Fail(Code::kInvalidArgument, "an attribute needs a value");
    attributes[Text(pairs[i].name)] = std::string(pairs[i].value, pairs[i].value_size);
  }
  return attributes;
}

xec_request* NewRequest(StorePtr store) {
  auto* const request =
      std::make_unique<xec_request>(xec_request{std::move(store), std::make_shared<Request>()}).release();
  request->state->SetHandle(request);
  return request;
}

}  // namespace xec::capi

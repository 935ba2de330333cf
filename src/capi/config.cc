// SPDX-License-Identifier: LGPL-3.0-or-later
// Configurations, stores and requests of xec.h.
#include <algorithm>
#include <cstring>

#include "assembly/configuration/configuration_file.hh"
#include "assembly/configuration/options.hh"
#include "capi/request.hh"

namespace {

using namespace xec;        // NOLINT
using namespace xec::capi;  // NOLINT

int Noted(xec_config* config, const Status& status) {
  config->error = status ? "" : status.error().message;
  return status ? XEC_OK : NumberOf(status.code());
}

int Noted(xec_config* config, Result<Configuration> read) {
  if (!read) return Noted(config, Status(read.error()));
  config->configuration = std::move(*read);
  return Noted(config, OkStatus());
}

const Outcome* OutcomeOf(const xec_request* request) {
  return request != nullptr && request->state->ended() ? &request->state->outcome() : nullptr;
}

template <typename T>
const T* Pointer(const std::optional<T>& value) {
  return value ? &*value : nullptr;
}

}  // namespace

const char* xec_code_name(int code) {
  if (code == XEC_OK) return "ok";
  for (int i = 0; i < kCodeCount; ++i) {
    if (NumberOf(static_cast<Code>(i)) == code) return CodeName(static_cast<Code>(i));
  }
  return "unknown_code";
}

xec_config* xec_config_new() { return std::make_unique<xec_config>().release(); }
void xec_config_free(xec_config* config) { Free(config); }

int xec_config_read_file(xec_config* config, const char* path) {
  return Noted(config, ParseConfigurationFile(Text(path)));
}

int xec_config_read_text(xec_config* config, const char* text) {
  return Noted(config, ParseConfiguration(Text(text), "the configuration"));
}

int xec_config_set(xec_config* config, const char* name, const char* value) {
  const std::string option = Text(name);
  if (FindOption(option) == nullptr)
    return Noted(config,
                 Status(Fail(Code::kInvalidArgument,
                             "there is no option '{}'; docs/configuration.md has those there are", option)));
  return Noted(config, SetOption(config->configuration, option, Text(value), option));
}

const char* xec_config_error(const xec_config* config) { return config->error.c_str(); }

int xec_store_open(const xec_config* config, int create, int64_t timeout_ms, xec_store** store, char* error,
                   size_t error_size) {
  *store = nullptr;
  OpenOptions options;
  options.create_if_new = create != 0;
  if (timeout_ms > 0) options.wait = std::chrono::milliseconds(timeout_ms);
  Result<std::unique_ptr<OpenedStore>> opened = OpenStore(config->configuration, options);
  if (opened) {
    auto opened_store = std::make_shared<OpenStoreHandle>(std::move(*opened));
    *store = std::make_unique<xec_store>(xec_store{std::move(opened_store)}).release();
    return XEC_OK;
  }
  if (error != nullptr && error_size > 0) {
    const std::string& message = opened.error().message;
    const size_t length = std::min(message.size(), error_size - 1);
    std::memcpy(error, message.data(), length);
    error[length] = '\0';
  }
  return NumberOf(opened.code());
}

void xec_store_close(xec_store* store) {
  if (store == nullptr) return;
  store->open->scope.Drain();
  Free(store);
}

void xec_request_then(xec_request* request, void (*done)(xec_request*, void*), void* user) {
  const std::shared_ptr<Request> state = request->state;  // the function may free the request
  state->Then(done, user);
}

int xec_request_wait(xec_request* request) { return request->state->Wait(); }
void xec_request_cancel(xec_request* request) { request->state->Cancel(); }

void xec_request_free(xec_request* request) {
  if (request == nullptr) return;
  const std::shared_ptr<Request> state = request->state;
  state->Forget();
  Free(request);
}

int xec_request_code(const xec_request* request) {
  const Outcome* const outcome = OutcomeOf(request);
  return outcome == nullptr ? XEC_UNKNOWN : outcome->code;
}

const char* xec_request_message(const xec_request* request) {
  const Outcome* const outcome = OutcomeOf(request);
  return outcome == nullptr ? "the request has not ended yet" : outcome->message.c_str();
}

uint64_t xec_request_bytes(const xec_request* request) {
  const Outcome* const outcome = OutcomeOf(request);
  return outcome == nullptr ? 0 : outcome->bytes;
}

const xec_info* xec_request_info(const xec_request* request) {
  const Outcome* const outcome = OutcomeOf(request);
  return outcome == nullptr ? nullptr : Pointer(outcome->info);
}

const xec_description* xec_request_description(const xec_request* request) {
  const Outcome* const outcome = OutcomeOf(request);
  return outcome == nullptr ? nullptr : Pointer(outcome->description);
}

const xec_page* xec_request_page(const xec_request* request) {
  const Outcome* const outcome = OutcomeOf(request);
  return outcome == nullptr ? nullptr : Pointer(outcome->page);
}

const xec_space* xec_request_space(const xec_request* request) {
  const Outcome* const outcome = OutcomeOf(request);
  return outcome == nullptr ? nullptr : Pointer(outcome->space);
}

xec_reader* xec_request_take_reader(xec_request* request) {
  if (OutcomeOf(request) == nullptr || !request->state->outcome().reader) return nullptr;
  auto handle = std::exchange(request->state->outcome().reader, nullptr);
  std::string version = handle->version().ToString();
  return std::make_unique<xec_reader>(xec_reader{request->store, std::move(handle), std::move(version)})
      .release();
}

xec_writer* xec_request_take_writer(xec_request* request) {
  if (OutcomeOf(request) == nullptr || !request->state->outcome().writer) return nullptr;
  return std::make_unique<xec_writer>(
             xec_writer{request->store, std::exchange(request->state->outcome().writer, nullptr)})
      .release();
}

xec_edit* xec_request_take_edit(xec_request* request) {
  if (OutcomeOf(request) == nullptr || !request->state->outcome().edit) return nullptr;
  return std::make_unique<xec_edit>(
             xec_edit{request->store, std::exchange(request->state->outcome().edit, nullptr)})
      .release();
}

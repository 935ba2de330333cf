// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/gateway.hh"

#include "base/log.hh"

namespace xec {

WriteOptions Gateway::WriteOptionsFor(std::string_view path) {
  return opened_ ? opened_->WriteOptionsFor(path) : WriteOptions{};
}

Result<Gateway*> Gateway::ForConfiguration(const char* file) {
  // Never destroyed: xrootd leaves by _exit, and its threads may still be in here.
  static std::mutex* const mutex = new std::mutex;
  static auto* const gateways = new std::map<std::string, std::unique_ptr<Gateway>>;
  const std::string key = file == nullptr ? "" : file;
  std::lock_guard lock(*mutex);
  auto& gateway = (*gateways)[key];
  if (gateway) return gateway.get();
  XEC_ASSIGN_OR_RETURN(Configuration configuration, ParseConfigurationFile(key));
  OpenOptions options;
  options.create_if_new = true;
  options.background = true;
  XEC_ASSIGN_OR_RETURN(std::unique_ptr<OpenedStore> opened, OpenStore(std::move(configuration), options));
  for (const std::string& note : opened->notes()) Log(LogLevel::kWarning, "store", "{}", note);
  if (Engine* engine = opened->engine()) {
    const StoreDescriptor& d = engine->descriptor();
    Log(LogLevel::kInfo, "store", "opened store {}: {} data servers, {} of {} each, layout {}, sync {}", d.store_id, d.members.size(),
        d.geometry.ToString(), FormatSize(d.geometry.chunk_size_bytes), LayoutName(d.layout), SyncPolicyName(d.sync));
  }
  gateway = std::make_unique<Gateway>(std::move(opened));
  return gateway.get();
}

int Failed(const char* operation, const char* path, const Error& error) {
  // "Not found" is an answer, not a failure.
  const LogLevel level = error.code == Code::kNotFound ? LogLevel::kDebug : LogLevel::kWarning;
  Log(level, "gateway", "{} {}: {}", operation, path, error.ToString());
  return -ErrnoOf(error.code);
}

int Answer(const char* operation, const char* path, const Status& status) {
  return status ? 0 : Failed(operation, path, status.error());
}

}  // namespace xec

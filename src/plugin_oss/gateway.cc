// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/gateway.hh"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "assembly/configuration/configuration_file.hh"
#include "base/log.hh"
#include "base/text.hh"

namespace xec {
namespace {

thread_local std::string last_error_text;

void WarnUnlessGuarded(const std::string& file) {
  std::ifstream stream(file);
  std::stringstream text;
  text << stream.rdbuf();
  if (PersistsOnClose(text.str())) return;
  Log(LogLevel::kError, "gateway",
      "{} lacks the line `ofs.persist auto hold 0`: an upload whose client dies half-way is then kept as if "
      "it were "
      "whole, unless its size was announced",
      file);
}

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// HOST:PORT, as XRootD tells its plug-ins; of a plain test program its instance's name, if it has one.
std::string NameOfThisProcess() {
  const std::string host = Variable("XRDHOST"), port = Variable("XRDPORT");
  if (!host.empty() && !port.empty()) return fmt::format("{}:{}", host, port);
  const std::string instance = Variable("XRDINSTANCE");
  return instance.empty() ? "gateway" : instance;
}

LogLevel LevelOf(Code code) {
  switch (code) {
    case Code::kNotFound:
    case Code::kAlreadyExists: return LogLevel::kDebug;  // answers rather than failures
    case Code::kDataLoss:
    case Code::kCorruption:
    case Code::kUnreadable:
    case Code::kInternal: return LogLevel::kError;  // what does not go away by itself
    default: return LogLevel::kWarning;
  }
}

Result<std::unique_ptr<Gateway>> OpenGateway(const std::string& file) {
  if (!CanHideHandles()) {
    return Fail(Code::kUnsupported, "this xrootd has no XrdOfsHandle::Hide: its clients would share uploads");
  }
  XEC_ASSIGN_OR_RETURN(Configuration configuration, ParseConfigurationFile(file));
  OpenOptions options;
  // A cmsd loads this module beside its gateway, only to look which names there are.
  const bool serves = Variable("XRDOSSTYPE") != "cms";
  options.create_if_new = serves;
  options.background = serves;
  options.process = NameOfThisProcess();
  XEC_ASSIGN_OR_RETURN(std::unique_ptr<OpenedStore> opened, OpenStore(std::move(configuration), options));
  for (const std::string& note : opened->notes()) Log(LogLevel::kWarning, "store", "{}", note);
  if (const Result<StoreMaintenance*> maintenance = opened->maintenance()) {
    const StoreDescriptor& d = (*maintenance)->descriptor();
    Log(LogLevel::kInfo, "store", "opened store {}: {} data servers, {} of {} each, layout {}, sync {}",
        d.store_id, d.members.size(), d.geometry.ToString(), FormatSize(d.geometry.chunk_size_bytes),
        LayoutName(d.layout), SyncPolicyName(d.sync));
  }
  WarnUnlessGuarded(file);
  return std::make_unique<Gateway>(std::move(opened));
}

// By configuration file.
struct Gateways {
  Mutex mutex;
  std::map<std::string, std::unique_ptr<Gateway>> opened XEC_GUARDED_BY(mutex);
};

}  // namespace

CreateOptions Gateway::CreateOptionsFor(std::string_view path) {
  return opened_ ? opened_->CreateOptionsFor(path) : CreateOptions{};
}

std::string Gateway::StoreId() {
  if (!opened_) return "";
  const Result<StoreMaintenance*> maintenance = opened_->maintenance();
  return maintenance ? (*maintenance)->descriptor().store_id : "";
}

Result<Store*> Gateway::Offers(std::string_view path) {
  if (path.empty() || IsAtOrBelow(path, offered_)) return store_;
  return Fail(Code::kPermissionDenied, "{} is not offered here, only {} and what is below it (xec.export)",
              path, offered_);
}

Result<Gateway*> Gateway::ForConfiguration(const char* file) {
  // Never destroyed: xrootd leaves by _exit, and its threads may still be in here.
  static auto* const gateways = new Gateways;
  const std::string key = file == nullptr ? "" : file;
  {
    const MutexLock lock(gateways->mutex);
    const auto known = gateways->opened.find(key);
    if (known != gateways->opened.end()) return known->second.get();
  }
  XEC_ASSIGN_OR_RETURN(std::unique_ptr<Gateway> gateway, OpenGateway(key));
  gateway->ListenForCopies();
  // XRootD asks for one entry point after another. Were there two at once, the one that came first is kept,
  // and the other goes without the lock.
  const MutexLock lock(gateways->mutex);
  return gateways->opened.try_emplace(key, std::move(gateway)).first->second.get();
}

void Gateway::ListenForCopies() {
  const std::string folder = Variable("XRDADMINPATH");
  if (folder.empty()) return;
  const Status started = copies_.Start(folder + "/copies.sock");
  if (!started)
    Log(LogLevel::kError, "gateway", "third-party copies by root:// cannot be made: {}",
        started.error().message);
}

bool PersistsOnClose(std::string_view configuration_text) {
  bool automatic = false;
  for (const std::string_view line : Split(configuration_text, '\n')) {
    std::istringstream words{std::string(Trim(line))};
    std::string directive, word;
    words >> directive;
    if (directive != "ofs.persist") continue;
    automatic = false;
    while (words >> word) automatic = automatic || word == "auto";
  }
  return automatic;
}

int Failed(const Attempt& operation, const Error& error) {
  const std::string who = operation.client.empty() ? "" : fmt::format(" for {}", operation.client);
  Log(LevelOf(error.code), "gateway", "{} {}{}: {}", operation.name, operation.path, who, error.ToString());
  RememberErrorText(error.message);
  return -ErrnoOf(error.code);
}

int Answer(const Attempt& operation, const Status& status) {
  return status ? 0 : Failed(operation, status.error());
}

void RememberErrorText(std::string text) { last_error_text = std::move(text); }

bool TakeErrorText(std::string& text) {
  text = std::move(last_error_text);
  last_error_text.clear();
  return !text.empty();
}

}  // namespace xec

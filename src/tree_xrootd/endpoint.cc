// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tree_xrootd/endpoint.hh"

#include <algorithm>

#include "base/log.hh"
#include "base/text.hh"
#include "protocol/settings_attribute.hh"
#include "server_xrootd/server_core.hh"
#include "tree_xrootd/ask.hh"
#include "tree_xrootd/entry.hh"
#include "xrdcompat/status.hh"

namespace xec {
namespace {

using XrdCl::ResponseHandler;

// Attributes that are the gateway's, though it tells them beside those of users.
constexpr std::string_view kOwnPrefix = "xec.";
constexpr uint32_t kModeBits = 0777;
// Of a name in a listing of a gateway whose mode and time may be others.
constexpr std::string_view kNoId = "0";

TimePoint Backstop(const ServerCore& core, TimePoint deadline) {
  return std::min(deadline, core.gate()->Now() + kAnswerLimit);
}

std::string_view TextOf(const XrdCl::Buffer* answer) {
  std::string_view text;
  if (answer != nullptr && answer->GetSize() > 0) text = {answer->GetBuffer(), answer->GetSize()};
  while (!text.empty() && (text.back() == '\0' || text.back() == '\n')) text.remove_suffix(1);
  return text;
}

// "oss.cgroup=default&oss.space=N&oss.free=N&..."
Result<TreeSpace> SpaceOf(const XrdCl::Buffer* answer, const std::string& what) {
  const std::string_view text = TextOf(answer);
  std::optional<uint64_t> total, free;
  for (const std::string_view field : Split(text, '&')) {
    if (field.starts_with("oss.space=")) total = ParseUint(field.substr(field.find('=') + 1));
    if (field.starts_with("oss.free=")) free = ParseUint(field.substr(field.find('=') + 1));
  }
  if (!total || !free) return Fail(Code::kUnsupported, "{} failed: the server answered '{}'", what, text);
  return TreeSpace{*total, *free};
}

// One request for names, to the server and to nobody else. `submit` gets XrdCl's FileSystem, a handler and
// the timeout.
template <typename F>
Result<Reply> Request(const Endpoint& server, const char* verb, const std::string& path, TimePoint deadline,
                      F submit) {
  XEC_TRY(CheckTreePath(path));
  const ServerCorePtr& core = server.core();
  const TimePoint began = server.Now();
  deadline = Backstop(*core, deadline);
  while (true) {
    XEC_ASSIGN_OR_RETURN(Reply reply, Ask(core->gate(), deadline, core->Describe(verb, path), core,
                                          [&core, &submit, deadline](ResponseHandler* handler) {
                                            return submit(core->filesystem(), handler,
                                                          core->Timeout({deadline}));
                                          }));
    if (AskAgain(server.patience(), reply, core->gate(), began, deadline)) continue;
    if (!reply.ok()) return ToError(*reply.status, core->Describe(verb, path));
    return reply;
  }
}

}  // namespace

Status CheckTreePath(const std::string& path) {
  if (path.find_first_of("?\n") == std::string::npos) return OkStatus();
  return Fail(Code::kInvalidArgument,
              "path '{}' has a '?' or a line feed, which the root protocol cannot carry", path);
}

Endpoint::Endpoint(std::string host_port, std::string prefix, Executor* executor, bool patient)
    : executor_(executor),
      host_port_(host_port),
      core_(std::make_shared<ServerCore>(ServerAddress{std::move(host_port), std::move(prefix)}, executor)),
      patience_(patient) {}

Endpoint::~Endpoint() = default;

Result<bool> Endpoint::IsManager(TimePoint deadline) const {
  XEC_ASSIGN_OR_RETURN(const Reply reply,
                       Request(*this, "ask for the role", "/", deadline,
                               [](XrdCl::FileSystem& server, ResponseHandler* handler, XrdTimeout timeout) {
                                 XrdCl::Buffer argument;
                                 argument.FromString("role");
                                 return server.Query(XrdCl::QueryCode::Config, argument, handler, timeout);
                               }));
  // "manager", "meta manager", "supervisor", "proxy manager"; else "server", or "role" where it is not known.
  const std::string role(TextOf(reply.Get<XrdCl::Buffer>()));
  return role.find("manager") != std::string::npos || role.find("supervisor") != std::string::npos;
}

void Endpoint::LookForGateway(TimePoint deadline) {
  const std::string name(kSettingsAttribute);
  const auto reply = Request(*this, "ask for the settings of", "/", deadline,
                             [&](XrdCl::FileSystem& server, ResponseHandler* handler, XrdTimeout timeout) {
                               return server.GetXAttr(core_->ServerPath("/"), {name}, handler, timeout);
                             });
  const auto* told = reply ? reply->Get<std::vector<XrdCl::XAttr>>() : nullptr;
  const Status shown =
      reply ? FirstRefused(told, core_->Describe("settings of", "/")) : Status(reply.error());
  is_gateway_ = shown && told != nullptr && !told->empty();
  if (!shown && (shown.code() == Code::kUnavailable || shown.code() == Code::kDeadlineExceeded)) {
    Log(LogLevel::kWarning, "mount", "{} is taken for a plain server, without times and links: {}",
        host_port_, shown.error().message);
  }
}

std::string Endpoint::AskedPath(const std::string& path) const {
  const std::string named = core_->ServerPath(path);
  return is_gateway_ ? fmt::format("{}?{}={}", named, kTellAttribute, kTellSettings) : named;
}

Result<Told> Endpoint::Stat(const std::string& path, TimePoint deadline) const {
  XEC_ASSIGN_OR_RETURN(const Reply reply,
                       Request(*this, "stat", path, deadline,
                               [&](XrdCl::FileSystem& server, ResponseHandler* handler, XrdTimeout timeout) {
                                 return server.Stat(AskedPath(path), handler, timeout);
                               }));
  const auto* info = reply.Get<XrdCl::StatInfo>();
  if (info == nullptr) return Fail(Code::kUnsupported, "{} failed: no answer", core_->Describe("stat", path));
  return ToldOf(*info, executor_->WallNow(), is_gateway_);
}

Result<std::vector<NamedEntry>> Endpoint::List(const std::string& path, TimePoint deadline) const {
  XEC_ASSIGN_OR_RETURN(const Reply reply,
                       Request(*this, "list", path, deadline,
                               [&](XrdCl::FileSystem& server, ResponseHandler* handler, XrdTimeout timeout) {
                                 return server.DirList(AskedPath(path), XrdCl::DirListFlags::Stat, handler,
                                                       timeout);
                               }));
  std::vector<NamedEntry> names;
  const auto* list = reply.Get<XrdCl::DirectoryList>();
  if (list == nullptr) return names;
  if (list->GetSize() > kNamesMax) {
    return Fail(Code::kUnsupported, "{} failed: {} names are more than {}", core_->Describe("list", path),
                list->GetSize(), kNamesMax);
  }
  names.reserve(list->GetSize());
  for (auto it = list->Begin(); it != list->End(); ++it) {
    const std::string& name = (*it)->GetName();
    if (name.empty() || name == "." || name == "..") continue;
    const XrdCl::StatInfo* info = (*it)->GetStatInfo();
    Told told;
    if (info != nullptr) {
      told = ToldOf(*info, executor_->WallNow(), is_gateway_);
    } else {
      // It was removed while the server listed, or the server tells names only.
      const Result<Told> asked = Stat((path == "/" ? "" : path) + "/" + name, deadline);
      if (!asked && asked.code() == Code::kNotFound) continue;
      if (!asked) return asked.error();
      told = *asked;
    }
    const bool known = told.entry.mode.has_value() && told.id != kNoId;
    names.push_back({.name = name, .entry = std::move(told.entry), .all_known = known});
  }
  std::sort(names.begin(), names.end(),
            [](const NamedEntry& a, const NamedEntry& b) { return a.name < b.name; });
  return names;
}

Status Endpoint::MakeDirectory(const std::string& path, uint32_t mode, TimePoint deadline) const {
  return Request(*this, "make directory", path, deadline,
                 [&](XrdCl::FileSystem& server, ResponseHandler* handler, XrdTimeout timeout) {
                   return server.MkDir(core_->ServerPath(path), XrdCl::MkDirFlags::None, AccessOf(mode),
                                       handler, timeout);
                 });
}

Status Endpoint::Remove(const std::string& path, TimePoint deadline) const {
  return Request(*this, "remove", path, deadline,
                 [&](XrdCl::FileSystem& server, ResponseHandler* handler, XrdTimeout timeout) {
                   return server.Rm(core_->ServerPath(path), handler, timeout);
                 });
}

Status Endpoint::RemoveDirectory(const std::string& path, TimePoint deadline) const {
  return Request(*this, "remove directory", path, deadline,
                 [&](XrdCl::FileSystem& server, ResponseHandler* handler, XrdTimeout timeout) {
                   return server.RmDir(core_->ServerPath(path), handler, timeout);
                 });
}

Status Endpoint::Rename(const std::string& from, const std::string& to, TimePoint deadline) const {
  XEC_TRY(CheckTreePath(to));
  return Request(*this, "rename", from, deadline,
                 [&](XrdCl::FileSystem& server, ResponseHandler* handler, XrdTimeout timeout) {
                   return server.Mv(core_->ServerPath(from), core_->ServerPath(to), handler, timeout);
                 });
}

Status Endpoint::SetMode(const std::string& path, uint32_t mode, TimePoint deadline) const {
  if ((mode & ~kModeBits) != 0)
    return Fail(Code::kUnsupported, "the mode {:o} of {} is more than XRootD can keep", mode, path);
  return Request(*this, "set the mode of", path, deadline,
                 [&](XrdCl::FileSystem& server, ResponseHandler* handler, XrdTimeout timeout) {
                   return server.ChMod(core_->ServerPath(path), AccessOf(mode), handler, timeout);
                 });
}

Status Endpoint::SetSettings(const std::string& path, const Settings& settings, TimePoint deadline) const {
  if (is_gateway_)
    return SetAttribute(path, std::string(kSettingsAttribute), FormatSettings(settings), deadline);
  if (settings.mode) XEC_TRY(SetMode(path, *settings.mode, deadline));
  if (!settings.mtime_ns) return OkStatus();
  return Fail(Code::kUnsupported, "the time of {} cannot be set: the root protocol has no request for it",
              path);
}

Result<std::map<std::string, std::string>> Endpoint::Attributes(const std::string& path,
                                                                TimePoint deadline) const {
  XEC_ASSIGN_OR_RETURN(const Reply reply,
                       Request(*this, "list attributes of", path, deadline,
                               [&](XrdCl::FileSystem& server, ResponseHandler* handler, XrdTimeout timeout) {
                                 return server.ListXAttr(core_->ServerPath(path), handler, timeout);
                               }));
  std::map<std::string, std::string> attributes;
  const auto* found = reply.Get<std::vector<XrdCl::XAttr>>();
  XEC_TRY(FirstRefused(found, core_->Describe("list attributes of", path)));
  if (found == nullptr) return attributes;
  for (const XrdCl::XAttr& attribute : *found) {
    if (!attribute.name.starts_with(kOwnPrefix)) attributes[attribute.name] = attribute.value;
  }
  return attributes;
}

Status Endpoint::SetAttribute(const std::string& path, const std::string& name,
                              const std::optional<std::string>& value, TimePoint deadline) const {
  XEC_ASSIGN_OR_RETURN(const Reply reply,
                       Request(*this, "set an attribute of", path, deadline,
                               [&](XrdCl::FileSystem& server, ResponseHandler* handler, XrdTimeout timeout) {
                                 const std::string on_server = core_->ServerPath(path);
                                 if (!value) return server.DelXAttr(on_server, {name}, handler, timeout);
                                 return server.SetXAttr(on_server, {XrdCl::xattr_t(name, *value)}, handler,
                                                        timeout);
                               }));
  return FirstRefused(reply.Get<std::vector<XrdCl::XAttrStatus>>(),
                      core_->Describe("set an attribute of", path));
}

Result<TreeSpace> Endpoint::Space(TimePoint deadline) const {
  XEC_ASSIGN_OR_RETURN(const Reply reply,
                       Request(*this, "query space", "/", deadline,
                               [&](XrdCl::FileSystem& server, ResponseHandler* handler, XrdTimeout timeout) {
                                 XrdCl::Buffer argument;
                                 argument.FromString(core_->ServerPath("/"));
                                 return server.Query(XrdCl::QueryCode::Space, argument, handler, timeout);
                               }));
  return SpaceOf(reply.Get<XrdCl::Buffer>(), core_->Describe("query space", "/"));
}

}  // namespace xec

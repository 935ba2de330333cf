// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server_xrootd/xrootd_server.hh"

#include <map>

#include "base/text.hh"
#include "server/path.hh"
#include "server_xrootd/listing.hh"
#include "server_xrootd/name_sync.hh"
#include "server_xrootd/xrootd_file.hh"
#include "xrdcompat/status.hh"

namespace xec {
namespace {

using XrdCl::ResponseHandler;
using XrdCl::XRootDStatus;

// Errors of the single attributes of one request.
template <typename Attribute>
Status FirstError(const std::vector<Attribute>& attributes, const std::string& what) {
  for (const Attribute& attribute : attributes) {
    if (!attribute.status.IsOK())
      return ToError(attribute.status, fmt::format("{} ({})", what, attribute.name));
  }
  return OkStatus();
}

// "oss.cgroup=default&oss.space=N&oss.free=N&oss.maxf=N&oss.used=N&oss.quota=-1"
Result<Space> SpaceOf(const XrdCl::Buffer* answer, const std::string& what) {
  std::map<std::string_view, std::string_view> fields;
  std::string_view text;
  if (answer != nullptr) text = {answer->GetBuffer(), answer->GetSize()};
  while (!text.empty() && (text.back() == '\0' || text.back() == '\n')) text.remove_suffix(1);
  for (const std::string_view field : Split(text, '&')) {
    const size_t equals = field.find('=');
    if (equals != std::string_view::npos) fields[field.substr(0, equals)] = field.substr(equals + 1);
  }
  const auto total = ParseUint(fields["oss.space"]);
  const auto free = ParseUint(fields["oss.free"]);
  if (!total || !free) return Fail(Code::kUnsupported, "{} failed: the server answered '{}'", what, text);
  Space space;  // which file system it is the protocol does not tell
  space.total_bytes = *total;
  space.free_bytes = *free;
  return space;
}

// Delays between attempts to open a file that another handle still blocks; each is twice the one before.
constexpr Duration kLockedRetryFirst = std::chrono::milliseconds(1);
constexpr Duration kLockedRetryLast = std::chrono::milliseconds(64);

// XrdCl cuts names at '?', and listings are lines.
Status CheckName(const std::string& path) {
  XEC_TRY(CheckPath(path));
  if (path.find_first_of("?\n") != std::string::npos) {
    return Fail(Code::kInvalidArgument,
                "path '{}' has a '?' or a line feed, which the root protocol cannot carry", path);
  }
  for (const std::string_view part : Split(path, '/')) {
    if (part.size() > kXrootdNameBytesMax) {
      return Fail(Code::kInvalidArgument, "'{}' is longer than {} bytes", part, kXrootdNameBytesMax);
    }
  }
  return OkStatus();
}

class XrootdServer final : public DataServer {
 public:
  XrootdServer(ServerCorePtr core, bool sync_names)
      : core_(std::move(core)),
        use_(std::make_shared<ServerUse>(core_->gate())),
        names_(sync_names ? std::make_shared<NameSync>(core_, use_) : nullptr) {}

  const std::string& name() const override { return core_->name(); }

  void Open(OpContext context, std::string path, OpenMode mode,
            Done<std::shared_ptr<ArchiveFile>> done) override {
    if (Refused(path, done)) return;
    OpenFile(core_, use_, context, std::move(path), mode, kLockedRetryFirst, std::move(done));
  }

  void List(OpContext context, std::string path, Done<std::vector<Entry>> done) override {
    if (Refused(path, done)) return;
    ListDirectory(core_, context, std::move(path), std::move(done));
  }

  void Rename(OpContext context, std::string from, std::string to, Done<void> done) override {
    if (Refused(from, done)) return;
    if (Refused(to, done)) return;
    const std::string what = core_->Describe("rename", from + " to " + to);
    done = WhenDurable(context, std::move(done));
    Send(
        [&](ResponseHandler* handler) {
          return core_->filesystem().Mv(core_->ServerPath(from), core_->ServerPath(to), handler,
                                        core_->Timeout(context));
        },
        [core = core_, context, to, what, done = std::move(done)](Reply reply) mutable {
          if (reply.ok()) return done(OkStatus());
          Error error = ToError(*reply.status, what);
          if (error.code != Code::kNotFound) return done(std::move(error));
          SettleMissingSource(core, context, to, std::move(error), std::move(done));
        });
  }

  void Remove(OpContext context, std::string path, Done<void> done) override {
    if (Refused(path, done)) return;
    Simple(core_->Describe("remove", path), std::move(done), [&](ResponseHandler* handler) {
      return core_->filesystem().Rm(core_->ServerPath(path), handler, core_->Timeout(context));
    });
  }

  void MakeDirectory(OpContext context, std::string path, Done<void> done) override {
    if (Refused(path, done)) return;
    using XrdCl::Access;
    done = WhenDurable(context, std::move(done));
    const Access::Mode mode =
        Access::UR | Access::UW | Access::UX | Access::GR | Access::GX | Access::OR | Access::OX;
    Simple(core_->Describe("make directory", path), std::move(done), [&](ResponseHandler* handler) {
      return core_->filesystem().MkDir(core_->ServerPath(path), XrdCl::MkDirFlags::MakePath, mode, handler,
                                       core_->Timeout(context));
    });
  }

  void RemoveDirectory(OpContext context, std::string path, Done<void> done) override {
    if (Refused(path, done)) return;
    Simple(core_->Describe("remove directory", path), std::move(done), [&](ResponseHandler* handler) {
      return core_->filesystem().RmDir(core_->ServerPath(path), handler, core_->Timeout(context));
    });
  }

  void SetAttributes(OpContext context, std::string path, Attributes attributes, Done<void> done) override {
    if (Refused(path, done)) return;
    const std::string what = core_->Describe("set attributes of", path);
    std::vector<XrdCl::xattr_t> list;
    for (const auto& [name, value] : attributes) list.emplace_back(name, value);
    done = WhenDurable(context, std::move(done));
    Send(
        [&](ResponseHandler* handler) {
          return core_->filesystem().SetXAttr(core_->ServerPath(path), list, handler,
                                              core_->Timeout(context));
        },
        [what, done = std::move(done)](Reply reply) mutable {
          if (!reply.ok()) return done(ToError(*reply.status, what));
          const auto* results = reply.Get<std::vector<XrdCl::XAttrStatus>>();
          done(results == nullptr ? OkStatus() : FirstError(*results, what));
        });
  }

  void GetAttributes(OpContext context, std::string path, std::string prefix,
                     Done<Attributes> done) override {
    if (Refused(path, done)) return;
    const std::string what = core_->Describe("get attributes of", path);
    Send(
        [&](ResponseHandler* handler) {
          return core_->filesystem().ListXAttr(core_->ServerPath(path), handler, core_->Timeout(context));
        },
        [what, prefix, done = std::move(done)](Reply reply) mutable {
          if (!reply.ok()) return done(ToError(*reply.status, what));
          Attributes attributes;
          if (const auto* results = reply.Get<std::vector<XrdCl::XAttr>>()) {
            const Status status = FirstError(*results, what);
            if (!status) return done(status.error());
            for (const XrdCl::XAttr& attribute : *results) {
              if (attribute.name.starts_with(prefix))
                attributes.emplace_back(attribute.name, attribute.value);
            }
          }
          done(std::move(attributes));
        });
  }

  void GetSpace(OpContext context, Done<Space> done) override {
    const std::string what = core_->Describe("query space", "/");
    Send(
        [&](ResponseHandler* handler) {
          XrdCl::Buffer argument;
          argument.FromString(core_->ServerPath("/"));
          return core_->filesystem().Query(XrdCl::QueryCode::Space, argument, handler,
                                           core_->Timeout(context));
        },
        [what, done = std::move(done)](Reply reply) mutable {
          if (!reply.ok()) return done(ToError(*reply.status, what));
          done(SpaceOf(reply.Get<XrdCl::Buffer>(), what));
        });
  }

 private:
  // Answers OK later: when what has been done to a name is on the server's disk. So is what somebody else did
  // before.
  Done<void> WhenDurable(OpContext context, Done<void> done) {
    if (names_ == nullptr) return done;
    return [names = names_, context, done = std::move(done)](Status status) mutable {
      if (!status && status.code() != Code::kAlreadyExists) return done(std::move(status));
      names->Wait(context, [status = std::move(status), done = std::move(done)](Status synced) mutable {
        done(synced ? std::move(status) : std::move(synced));
      });
    };
  }

  // True when the path cannot be used; `done` has got the error then.
  template <typename T>
  bool Refused(const std::string& path, Done<T>& done) {
    const Status status = CheckName(path);
    if (status) return false;
    core_->gate()->Post(
        [done = std::move(done), error = status.error()]() mutable { done(std::move(error)); });
    return true;
  }

  // A server lets go of the path of a failed create, or of a writer whose connection broke, a moment after it
  // has answered; until then it refuses others ("already opened by 1 writer").
  static void OpenFile(ServerCorePtr core, ServerUsePtr use, OpContext context, std::string path,
                       OpenMode mode, Duration retry_delay, Done<std::shared_ptr<ArchiveFile>> done) {
    Done<std::shared_ptr<ArchiveFile>> judge =
        [core, use, context, path, mode, retry_delay,
         done = std::move(done)](Result<std::shared_ptr<ArchiveFile>> opened) mutable {
          const bool locked = !opened && opened.code() == Code::kConflict;
          const bool in_time = core->gate()->Now() + retry_delay < context.deadline;
          if (!locked) return done(std::move(opened));
          if (retry_delay > kLockedRetryLast || !in_time) {
            if (mode == OpenMode::kRead) return done(std::move(opened));
            return done(Error{Code::kAlreadyExists, opened.error().message});  // somebody is writing it
          }
          core->gate()->PostAfter(
              retry_delay, [core, use, context, path, mode, retry_delay, done = std::move(done)]() mutable {
                OpenFile(core, use, context, std::move(path), mode, 2 * retry_delay, std::move(done));
              });
        };
    std::make_shared<XrootdFile>(core, use, path, mode)->Open(context, std::move(judge));
  }

  // `submit` is called before this returns. The core is held by the answer's closure and by this frame, since
  // the answer may be dealt with, and this object destroyed, while the submitting call returns.
  template <typename Submit, typename Handle>
  void Send(Submit submit, Handle handle) {
    const ServerCorePtr core = core_;
    SendRequest(core->gate(), std::move(submit),
                [core, handle = std::move(handle)](Reply reply) mutable { handle(std::move(reply)); });
  }

  // A request whose answer is only OK or an error.
  template <typename Submit>
  void Simple(std::string what, Done<void> done, Submit submit) {
    Send(std::move(submit), [what, done = std::move(done)](Reply reply) mutable {
      done(reply.ok() ? OkStatus() : Status(ToError(*reply.status, what)));
    });
  }

  // XrdCl repeats a request whose connection broke before the answer, so "no such source" may be the answer
  // to the second of two copies, the first of which was obeyed. If the target is there we cannot tell.
  static void SettleMissingSource(const ServerCorePtr& core, OpContext context, const std::string& to,
                                  Error missing, Done<void> done) {
    SendRequest(
        core->gate(),
        [&](ResponseHandler* handler) {
          return core->filesystem().Stat(core->ServerPath(to), handler, core->Timeout(context));
        },
        [core, missing = std::move(missing), done = std::move(done)](Reply reply) mutable {
          if (!reply.ok() && CodeOf(*reply.status) == Code::kNotFound) return done(std::move(missing));
          // Not kUnavailable: the server is well.
          done(Fail(Code::kUnknown, "{}; its target exists, so it may have been done just before",
                    missing.message));
        });
  }

  const ServerCorePtr core_;
  const ServerUsePtr use_;
  const std::shared_ptr<NameSync> names_;  // null: names are not synced
};

}  // namespace

void AbandonXrootdRequests(const Executor& executor) { CloseGates(executor); }

Result<DataServerPtr> MakeXrootdServer(XrootdServerOptions options) {
  XEC_CHECK(options.executor != nullptr);
  XEC_ASSIGN_OR_RETURN(ServerAddress address, ParseServerUrl(options.url));
  ApplyClientSettings();
  return DataServerPtr(std::make_shared<XrootdServer>(
      std::make_shared<ServerCore>(std::move(address), options.executor), options.sync_names));
}

}  // namespace xec

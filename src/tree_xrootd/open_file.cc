// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tree_xrootd/open_file.hh"

#include <algorithm>
#include <cstring>

#include "XrdCl/XrdClFile.hh"
#include "XrdCl/XrdClURL.hh"
#include "base/units.hh"
#include "protocol/settings_attribute.hh"
#include "runtime/buffer.hh"
#include "server_xrootd/server_core.hh"
#include "tree_xrootd/ask.hh"
#include "tree_xrootd/entry.hh"
#include "xrdcompat/status.hh"

namespace xec {
namespace {

// Managers, and managers below them, on the way to a file.
constexpr int kRedirectsMax = 8;
constexpr int kAbandonedCloseSeconds = 30;
// Of one request; what is read or written is longer only for programs that avoid the kernel's pages.
constexpr uint64_t kPieceBytes = 8 * kMiB;

// A file system's programs may have a file open as they like, so the server is not to keep them apart.
XrdCl::OpenFlags::Flags FlagsOf(const OpenWhat& what) {
  using XrdCl::OpenFlags;
  OpenFlags::Flags flags = OpenFlags::Force;
  if (what.make_parents) flags |= OpenFlags::MakePath;
  switch (what.as) {
    case OpenAs::kRead: return flags | OpenFlags::Read;
    case OpenAs::kUpdate: return flags | OpenFlags::Update;
    case OpenAs::kReplace: return flags | OpenFlags::Update | OpenFlags::Delete;
    case OpenAs::kCreate: return flags | OpenFlags::Update | OpenFlags::New;
  }
  return flags;
}

}  // namespace

OpenFile::OpenFile(EndpointPtr first, std::string host_port, std::string path)
    : first_(std::move(first)),
      host_port_(std::move(host_port)),
      path_(std::move(path)),
      file_(std::make_shared<XrdCl::File>(/*enablePlugIns=*/false)) {
  // What was opened anew by itself would lack what an upload had, and nobody would know.
  file_->SetProperty("ReadRecovery", "false");
  file_->SetProperty("WriteRecovery", "false");
  // XrdCl would connect to other servers on the thread of the answer.
  file_->SetProperty("FollowRedirects", "false");
}

OpenFile::~OpenFile() {
  if (!file_->IsOpen()) return;
  // Both closures own the File: the answer may come, and be dealt with, before Close returns.
  SendRequest(
      first_->core()->gate(),
      [file = file_](XrdCl::ResponseHandler* handler) {
        return file->Close(handler, kAbandonedCloseSeconds);
      },
      [file = file_, first = first_](const Reply&) {});
}

std::string OpenFile::Describe(const char* verb) const {
  return fmt::format("{} {} on root://{}", verb, path_, host_port_);
}

TimePoint OpenFile::DataDeadline() const { return first_->core()->gate()->Now() + kDataLimit; }

Result<std::shared_ptr<OpenFile>> OpenFile::Open(const EndpointPtr& first, const std::string& path,
                                                 const OpenWhat& what) {
  XEC_TRY(CheckTreePath(path));
  const TimePoint began = first->Now(), deadline = began + kAnswerLimit;
  std::string url = first->core()->FileUrl(path);
  if (what.settings.Any()) {
    url += fmt::format("{}{}={}", url.find('?') == std::string::npos ? '?' : '&', kSettingsAttribute,
                       FormatSettings(what.settings));
  }
  std::string host_port = first->host_port();
  for (int hops = 0; hops <= kRedirectsMax;) {
    const auto file = std::make_shared<OpenFile>(first, host_port, path);
    const std::string described = file->Describe(what.as == OpenAs::kCreate ? "create" : "open");
    XEC_ASSIGN_OR_RETURN(const Reply reply, file->OpenHere(url, what, described, deadline));
    if (reply.ok()) {
      XEC_TRY(file->TakeTold());
      return file;
    }
    if (AskAgain(first->patience(), reply, first->core()->gate(), began, deadline)) continue;
    if (reply.status->code != XrdCl::errRedirect) return ToError(*reply.status, described);
    ++hops;
    const std::string elsewhere = reply.status->GetErrorMessage();
    // The redirect has the address and what the manager wants said there; the path is ours.
    const XrdCl::URL next(elsewhere);
    if (!next.IsValid())
      return Fail(Code::kUnavailable, "{}: '{}' is no address", file->Describe("open"), elsewhere);
    host_port = fmt::format("{}:{}", next.GetHostName(), next.GetPort());
    const std::string parameters = next.GetParamsAsString();
    const size_t begin = url.find('@'), end = url.find('/', begin);
    url = url.substr(0, begin + 1) + host_port + url.substr(end);
    if (!parameters.empty())
      url += (url.find('?') == std::string::npos ? parameters : "&" + parameters.substr(1));
  }
  return Fail(Code::kUnavailable, "open {}: root://{} and the servers below it redirect for ever", path,
              first->host_port());
}

Result<Reply> OpenFile::OpenHere(const std::string& url, const OpenWhat& what, const std::string& described,
                                 TimePoint deadline) {
  const auto& gate = first_->core()->gate();
  return Ask(gate, deadline, described, shared_from_this(), [&](XrdCl::ResponseHandler* handler) {
    const auto mode = what.as == OpenAs::kCreate ? AccessOf(what.mode) : XrdCl::Access::None;
    return file_->Open(url, FlagsOf(what), mode, handler, BackstopTimeout(gate->Now(), deadline));
  });
}

Status OpenFile::TakeTold() {
  // Cached by the open; not a request.
  XrdCl::StatInfo* info = nullptr;
  const XrdCl::XRootDStatus status = file_->Stat(/*force=*/false, info);
  const std::unique_ptr<XrdCl::StatInfo> owned(info);
  if (!status.IsOK() || info == nullptr) return ToError(status, Describe("size of"));
  told_ = ToldOf(*info, first_->WallNow(), first_->is_gateway());
  return OkStatus();
}

Result<uint64_t> OpenFile::Read(uint64_t offset, MutableByteSpan into) {
  const std::string described = Describe("read");
  uint64_t done = 0;
  while (done < into.size()) {
    const auto piece = static_cast<uint32_t>(std::min<uint64_t>(into.size() - done, kPieceBytes));
    // Its own memory, where an answer that is too late does no harm.
    const std::shared_ptr<Buffer> buffer = Buffer::Allocate(piece);
    const auto& gate = first_->core()->gate();
    const TimePoint deadline = DataDeadline();
    const auto keep = std::make_shared<std::pair<std::shared_ptr<OpenFile>, std::shared_ptr<Buffer>>>(
        shared_from_this(), buffer);
    const auto submit = [&](XrdCl::ResponseHandler* handler) {
      return file_->Read(offset + done, piece, buffer->data(), handler,
                         BackstopTimeout(gate->Now(), deadline));
    };
    XEC_ASSIGN_OR_RETURN(const Reply reply, Ask(gate, deadline, described, keep, submit));
    if (!reply.ok()) return ToReadError(*reply.status, described);
    const auto* chunk = reply.Get<XrdCl::ChunkInfo>();
    const uint64_t got = chunk == nullptr ? 0 : std::min(chunk->length, piece);
    std::memcpy(into.data() + done, buffer->data(), got);
    done += got;
    if (got < piece) break;
  }
  return done;
}

Status OpenFile::Write(uint64_t offset, ByteSpan bytes) {
  for (uint64_t done = 0; done < bytes.size();) {
    const auto piece = static_cast<uint32_t>(std::min<uint64_t>(bytes.size() - done, kPieceBytes));
    const Slice copy = Slice::Copy(bytes.subspan(done, piece));
    const auto& gate = first_->core()->gate();
    const TimePoint deadline = DataDeadline();
    const auto keep = std::make_shared<std::pair<std::shared_ptr<OpenFile>, Slice>>(shared_from_this(), copy);
    XEC_TRY(AskOk(gate, deadline, Describe("write"), keep, [&](XrdCl::ResponseHandler* handler) {
      return file_->Write(offset + done, piece, copy.span().data(), handler,
                          BackstopTimeout(gate->Now(), deadline));
    }));
    done += piece;
  }
  return OkStatus();
}

Status OpenFile::Truncate(uint64_t size) {
  const auto& gate = first_->core()->gate();
  const TimePoint deadline = DataDeadline();
  return AskOk(gate, deadline, Describe("truncate"), shared_from_this(),
               [&](XrdCl::ResponseHandler* handler) {
                 return file_->Truncate(size, handler, BackstopTimeout(gate->Now(), deadline));
               });
}

Status OpenFile::Sync() {
  const auto& gate = first_->core()->gate();
  const TimePoint deadline = DataDeadline();
  return AskOk(gate, deadline, Describe("sync"), shared_from_this(), [&](XrdCl::ResponseHandler* handler) {
    return file_->Sync(handler, BackstopTimeout(gate->Now(), deadline));
  });
}

Result<bool> OpenFile::SetSettings(const Settings& settings) {
  if (!first_->is_gateway()) return false;
  const auto& gate = first_->core()->gate();
  const TimePoint deadline = gate->Now() + kAnswerLimit;
  const std::string what = Describe("set mode and time of");
  const std::vector<XrdCl::xattr_t> attributes = {
      {std::string(kSettingsAttribute), FormatSettings(settings)}};
  XEC_ASSIGN_OR_RETURN(const Reply reply,
                       AskOk(gate, deadline, what, shared_from_this(), [&](XrdCl::ResponseHandler* handler) {
                         return file_->SetXAttr(attributes, handler, BackstopTimeout(gate->Now(), deadline));
                       }));
  return FirstRefused(reply.Get<std::vector<XrdCl::XAttrStatus>>(), what).has_value();
}

Status OpenFile::Close() {
  const auto& gate = first_->core()->gate();
  const TimePoint deadline = DataDeadline();
  const std::string described = Describe("close");
  const auto submit = [&](XrdCl::ResponseHandler* handler) {
    return file_->Close(handler, BackstopTimeout(gate->Now(), deadline));
  };
  XEC_ASSIGN_OR_RETURN(const Reply reply, Ask(gate, deadline, described, shared_from_this(), submit));
  if (!reply.ok()) return ToCloseError(*reply.status, described);
  // XrdCl takes a close for done when the connection is gone; nobody knows then what became of the changes.
  if (!reply.from_server) return Fail(Code::kUnknown, "{} failed: the connection was lost", described);
  return OkStatus();
}

}  // namespace xec

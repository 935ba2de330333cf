// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/calls.hh"

namespace xec {
namespace {

// What is asked, for a caller that gets no answer: put into words only then.
struct Asked {
  std::string ToString() const {
    return server ? fmt::format("{} {} on {}", verb, path, server->name()) : verb;
  }
  const char* verb;
  std::string path;
  DataServerPtr server;  // null: of a file
};

Asked About(const char* verb, const DataServerPtr& server, const std::string& path) {
  return {verb, path, server};
}

Asked About(const char* verb) { return {verb, {}, nullptr}; }

// Starts an operation and waits for its answer or the deadline, whichever comes first. The request keeps
// `owner`, the server or file it runs on, alive past an abandoned wait.
template <typename T, typename Owner, typename Start>
Task<Result<T>> Call(CallContext context, Asked asked, std::shared_ptr<Owner> owner, Start start) {
  OneShot<Result<T>> answer;
  TimerId timer = 0;
  if (context.deadline != TimePoint::max()) {
    timer = context.executor->RunAt(context.deadline, [set = answer.Setter(), asked = std::move(asked)] {
      set(Fail(Code::kDeadlineExceeded, "{} got no answer in time", asked.ToString()));
    });
  }
  start(OpContext{context.deadline},
        Done<T>([owner, set = answer.Setter()](Result<T> result) mutable { set(std::move(result)); }));
  Result<T> result = co_await answer;
  if (timer != 0) context.executor->Cancel(timer);
  co_return std::move(result);
}

}  // namespace

Task<Result<ArchiveFilePtr>> Open(CallContext context, DataServerPtr server, std::string path,
                                  OpenMode mode) {
  co_return co_await Call<ArchiveFilePtr>(
      context, About("open", server, path), server,
      [&](OpContext op, auto done) { server->Open(op, path, mode, std::move(done)); });
}

Task<Result<std::vector<Entry>>> List(CallContext context, DataServerPtr server, std::string path) {
  co_return co_await Call<std::vector<Entry>>(
      context, About("list", server, path), server,
      [&](OpContext op, auto done) { server->List(op, path, std::move(done)); });
}

Task<Result<std::vector<Listed>>> ListMany(CallContext context, DataServerPtr server,
                                           std::vector<std::string> paths) {
  co_return co_await Call<std::vector<Listed>>(
      context, About("list", server, paths.front()), server,
      [&](OpContext op, auto done) { server->ListMany(op, std::move(paths), std::move(done)); });
}

Task<Status> Rename(CallContext context, DataServerPtr server, std::string from, std::string to) {
  co_return co_await Call<void>(context, About("rename", server, from), server, [&](OpContext op, auto done) {
    server->Rename(op, from, to, std::move(done));
  });
}

Task<Status> Remove(CallContext context, DataServerPtr server, std::string path) {
  co_return co_await Call<void>(context, About("remove", server, path), server,
                                [&](OpContext op, auto done) { server->Remove(op, path, std::move(done)); });
}

Task<Status> MakeDirectory(CallContext context, DataServerPtr server, std::string path) {
  co_return co_await Call<void>(
      context, About("make directory", server, path), server,
      [&](OpContext op, auto done) { server->MakeDirectory(op, path, std::move(done)); });
}

Task<Status> RemoveDirectory(CallContext context, DataServerPtr server, std::string path) {
  co_return co_await Call<void>(
      context, About("remove directory", server, path), server,
      [&](OpContext op, auto done) { server->RemoveDirectory(op, path, std::move(done)); });
}

Task<Status> SetAttributes(CallContext context, DataServerPtr server, std::string path,
                           Attributes attributes) {
  co_return co_await Call<void>(
      context, About("set attributes of", server, path), server,
      [&](OpContext op, auto done) { server->SetAttributes(op, path, attributes, std::move(done)); });
}

Task<Result<Attributes>> GetAttributes(CallContext context, DataServerPtr server, std::string path,
                                       std::string prefix) {
  co_return co_await Call<Attributes>(
      context, About("get attributes of", server, path), server,
      [&](OpContext op, auto done) { server->GetAttributes(op, path, prefix, std::move(done)); });
}

Task<Result<Space>> GetSpace(CallContext context, DataServerPtr server) {
  co_return co_await Call<Space>(context, About("query space", server, "/"), server,
                                 [&](OpContext op, auto done) { server->GetSpace(op, std::move(done)); });
}

Task<Result<uint64_t>> Read(CallContext context, ArchiveFilePtr file, std::vector<ByteRange> ranges,
                            Slice into) {
  co_return co_await Call<uint64_t>(context, About("read"), file, [&](OpContext op, auto done) {
    file->Read(op, std::move(ranges), into, std::move(done));
  });
}

Task<Status> Write(CallContext context, ArchiveFilePtr file, uint64_t offset, Slice from) {
  co_return co_await Call<void>(context, About("write"), file, [&](OpContext op, auto done) {
    file->Write(op, offset, from, std::move(done));
  });
}

Task<Status> Sync(CallContext context, ArchiveFilePtr file) {
  co_return co_await Call<void>(context, About("sync"), file,
                                [&](OpContext op, auto done) { file->Sync(op, std::move(done)); });
}

Task<Status> Close(CallContext context, ArchiveFilePtr file) {
  co_return co_await Call<void>(context, About("close"), file,
                                [&](OpContext op, auto done) { file->Close(op, std::move(done)); });
}

Task<Status> CreateFile(CallContext context, DataServerPtr server, std::string path, std::string content,
                        bool sync) {
  Result<ArchiveFilePtr> opened = co_await Open(context, server, path, OpenMode::kCreate);
  if (!opened) co_return opened.error();
  const ArchiveFilePtr file = *opened;
  Status status;
  if (!content.empty()) {
    Slice slice = Slice::Copy(AsBytes(content));
    status = co_await Write(context, file, 0, slice);
  }
  if (status && sync) status = co_await Sync(context, file);
  Status closed = co_await Close(context, file);
  if (!status) co_return status.error();
  if (!closed) co_return AsSilence(closed.error());
  co_return OkStatus();
}

Error AsSilence(Error error) {
  if (error.code == Code::kUnreadable) error.code = Code::kUnavailable;
  return error;
}

Task<Result<std::string>> ReadFile(CallContext context, DataServerPtr server, std::string path,
                                   uint64_t size_max) {
  Result<ArchiveFilePtr> opened = co_await Open(context, server, path, OpenMode::kRead);
  if (!opened) co_return opened.error();
  const ArchiveFilePtr file = *opened;
  Result<uint64_t> got = uint64_t{0};
  Slice slice(Buffer::Allocate(size_max + 1));
  std::vector<ByteRange> ranges = {ByteRange{0, size_max + 1}};
  got = co_await Read(context, file, std::move(ranges), slice);
  // A failed close of a file opened for reading loses nothing.
  const Status closed = co_await Close(context, file);
  (void)closed;
  if (!got) co_return AsSilence(got.error());
  if (*got > size_max)
    co_return Fail(Code::kCorruption, "{} on {} is longer than {} bytes", path, server->name(), size_max);
  co_return std::string(AsText(slice.span().first(*got)));
}

}  // namespace xec

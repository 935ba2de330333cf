// SPDX-License-Identifier: LGPL-3.0-or-later
#include "store/engine_store.hh"

#include "protocol/later_checksums.hh"
#include "store/bounded.hh"
#include "store/describe.hh"
#include "store/engine_handles.hh"

namespace xec {
namespace {

// Of a copy; read and appended at a time. So little that the read needs no claim of the budget, since the
// upload holds one.
constexpr size_t kCopyBytes = 256 * kKiB;

Error NotCurrentText(const std::string& text) {
  Result<ObjectPath> path = ObjectPath::Parse(text);
  return path ? NotCurrent(*path) : path.error();
}

Task<Result<std::unique_ptr<WriteHandle>>> CreateIn(Engine& engine, LayoutStore& layout, std::string path,
                                                    CreateOptions options) {
  Result<std::unique_ptr<ObjectWriter>> writer = co_await layout.Create(std::move(path), std::move(options));
  if (!writer) co_return writer.error();
  co_return MakeWriteHandle(engine, std::move(*writer), layout.clients());
}

Task<Result<std::shared_ptr<ReadHandle>>> OpenIn(Engine& engine, LayoutStore& layout, std::string path,
                                                 OnlyIf only_if) {
  Result<std::shared_ptr<ObjectReader>> reader = co_await layout.OpenRead(path);
  if (!reader) co_return reader.error();
  if (only_if.version && (*reader)->version() != *only_if.version) co_return NotCurrentText(path);
  co_return MakeReadHandle(engine, std::move(*reader), layout.clients());
}

// `stopped`: nobody waits for the copy any more.
Task<Status> CopyBytes(ObjectReader& reader, ObjectWriter& writer, const std::function<bool()>& stopped,
                       const std::function<bool(uint64_t)>& progress) {
  std::vector<std::byte> buffer(std::min<uint64_t>(kCopyBytes, reader.size()));
  for (uint64_t offset = 0; offset < reader.size();) {
    Result<uint64_t> got = co_await reader.Read(offset, buffer);
    if (!got) co_return got.error();
    Status appended = co_await writer.Append(ByteSpan(buffer).first(*got));
    if (!appended) co_return std::move(appended);
    offset += *got;
    if (stopped() || !progress(offset))
      co_return Fail(Code::kCancelled, "the copy was stopped; nothing of it is visible");
  }
  co_return OkStatus();
}

// The source is described first: attributes that are set while it is copied belong to a later moment.
Task<Result<Committed>> CopyIn(Engine& engine, LayoutStore& layout, std::string from, std::string to,
                               CopyOptions options, CallOptions call) {
  Result<ObjectDescription> source = co_await layout.Describe(from);
  if (!source) co_return source.error();
  if (source->info.directory) co_return Fail(Code::kIsDirectory, "{} is a directory", from);
  if (options.source.version && source->info.version != *options.source.version)
    co_return NotCurrentText(from);
  Result<std::shared_ptr<ObjectReader>> reader = co_await layout.OpenRead(from);
  if (!reader) co_return reader.error();
  if ((*reader)->version() != source->info.version)
    co_return Fail(Code::kConflict, "{} was replaced while it was copied; retry", from);
  options.create.write.size_hint = (*reader)->size();
  if (options.attributes) {
    options.create.write.attributes = std::move(source->attributes);
    options.create.write.settings = source->info.settings;
    options.create.write.settings.mtime_ns.reset();
  }
  Result<std::unique_ptr<ObjectWriter>> writer = co_await layout.Create(to, std::move(options.create));
  if (!writer) co_return writer.error();
  const auto stopped = [&] { return call.stop.stop_requested() || engine.executor().Now() >= call.deadline; };
  const Status copied = co_await CopyBytes(**reader, **writer, stopped, options.progress);
  if (!copied) {
    co_await (*writer)->Abandon();
    co_return copied.error();
  }
  Result<Committed> committed = co_await (*writer)->Commit();
  co_return std::move(committed);
}

}  // namespace

template <typename T>
Task<T> EngineStore::Ask(CallOptions call, Task<T> task) {
  return ClientRequests::Count(layout_.clients(), Bounded(engine_, std::move(call), std::move(task)));
}

Task<Result<ObjectInfo>> EngineStore::Stat(std::string path, CallOptions call) {
  return Ask(std::move(call), layout_.Stat(std::move(path)));
}

Task<Result<ObjectDescription>> EngineStore::Describe(std::string path, CallOptions call) {
  return Ask(std::move(call), layout_.Describe(std::move(path)));
}

Task<Result<NamesPage>> EngineStore::List(std::string directory, ListOptions options, CallOptions call) {
  if (options.limit < 1 || options.limit > ListOptions::kNamesMax)
    return Refuse<Result<NamesPage>>(Fail(Code::kInvalidArgument,
                                          "a page of a listing has 1 to {} names, not {}",
                                          ListOptions::kNamesMax, options.limit));
  return Ask(std::move(call), layout_.ListPage(std::move(directory), std::move(options)));
}

Task<Result<std::unique_ptr<WriteHandle>>> EngineStore::Create(std::string path, CreateOptions options,
                                                               CallOptions call) {
  return Ask(std::move(call), CreateIn(engine_, layout_, std::move(path), std::move(options)));
}

Task<Result<std::shared_ptr<ReadHandle>>> EngineStore::Open(std::string path, OnlyIf only_if,
                                                            CallOptions call) {
  return Ask(std::move(call), OpenIn(engine_, layout_, std::move(path), only_if));
}

Task<Result<ObjectGone>> EngineStore::Remove(std::string path, OnlyIf only_if, CallOptions call) {
  return Ask(std::move(call), layout_.Remove(std::move(path), only_if));
}

Task<Status> EngineStore::MakeDirectory(std::string path, bool parents, CallOptions call) {
  return Ask(std::move(call), layout_.MakeDirectory(std::move(path), parents));
}

Task<Status> EngineStore::RemoveDirectory(std::string path, CallOptions call) {
  return Ask(std::move(call), layout_.RemoveDirectory(std::move(path)));
}

Task<Result<Renamed>> EngineStore::Rename(std::string from, std::string to, RenameOptions options,
                                          CallOptions call) {
  return Ask(std::move(call), layout_.Rename(std::move(from), std::move(to), options));
}

Task<Result<Committed>> EngineStore::Copy(std::string from, std::string to, CopyOptions options,
                                          CallOptions call) {
  return Ask(call, CopyIn(engine_, layout_, std::move(from), std::move(to), std::move(options), call));
}

Task<Status> EngineStore::SetAttribute(std::string path, std::string name, std::optional<std::string> value,
                                       OnlyIf only_if, CallOptions call) {
  const Status for_users = CheckUserAttributeName(name);
  if (!for_users) return Refuse<Status>(for_users.error());
  return Ask(std::move(call),
             layout_.SetAttribute(std::move(path), std::move(name), std::move(value), only_if));
}

Task<Status> EngineStore::SetSettings(std::string path, Settings settings, CallOptions call) {
  return Ask(std::move(call), layout_.ChangeAttributes(std::move(path), AttributesOf(settings), OnlyIf()));
}

Task<Status> EngineStore::KeepChecksum(std::string path, Version version, std::string algorithm,
                                       std::string hex, CallOptions call) {
  return Ask(std::move(call),
             layout_.KeepChecksum(std::move(path), version, std::move(algorithm), std::move(hex)));
}

Task<Result<StoreSpace>> EngineStore::Space(CallOptions call) {
  return Ask(std::move(call), layout_.Space());
}

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// The operations of xec.h.
#include "capi/start.hh"
#include "runtime/status_of.hh"

namespace {

using namespace xec;        // NOLINT
using namespace xec::capi;  // NOLINT

Result<Version> ParseVersion(const char* text) {
  if (const std::optional<Version> version = Version::Parse(Text(text))) return *version;
  return Fail(Code::kInvalidArgument, "'{}' is no version", Text(text));
}

Result<OnlyIf> Condition(const xec_only_if* given) {
  xec_only_if taken;
  XEC_TRY(Take(given, "xec_only_if", taken));
  OnlyIf only_if;
  only_if.absent = taken.absent != 0;
  if (taken.version == nullptr) return only_if;
  XEC_ASSIGN_OR_RETURN(only_if.version, ParseVersion(taken.version));
  return only_if;
}

Status TakeWriteOptions(const xec_write_options* given, CreateOptions& create) {
  xec_write_options taken;
  XEC_TRY(Take(given, "xec_write_options", taken));
  XEC_ASSIGN_OR_RETURN(create.write.only_if, Condition(taken.only_if));
  if (taken.object_size > 0) create.write.size_hint = static_cast<uint64_t>(taken.object_size);
  XEC_ASSIGN_OR_RETURN(create.write.attributes, AttributesOf(taken.attributes, taken.attributes_count));
  create.make_parents = taken.parent_must_exist == 0;
  return OkStatus();
}

}  // namespace

xec_request* xec_stat(xec_store* store, const char* path, const xec_call* call) {
  return Start<ObjectInfo>(store->open, call, [&](CallOptions options) -> Made<ObjectInfo> {
    return store->open->store->store().Stat(Text(path), std::move(options));
  });
}

xec_request* xec_describe(xec_store* store, const char* path, const xec_call* call) {
  return Start<ObjectDescription>(store->open, call, [&](CallOptions options) -> Made<ObjectDescription> {
    return store->open->store->store().Describe(Text(path), std::move(options));
  });
}

xec_request* xec_list(xec_store* store, const char* directory, const char* after, const char* prefix,
                      size_t limit, const xec_call* call) {
  return Start<NamesPage>(store->open, call, [&](CallOptions options) -> Made<NamesPage> {
    ListOptions list;
    list.after = Text(after);
    list.prefix = Text(prefix);
    if (limit > 0) list.limit = limit;
    return store->open->store->store().List(Text(directory), std::move(list), std::move(options));
  });
}

xec_request* xec_remove(xec_store* store, const char* path, const xec_only_if* only_if,
                        const xec_call* call) {
  return Start<void>(store->open, call, [&](CallOptions options) -> Made<void> {
    XEC_ASSIGN_OR_RETURN(const OnlyIf condition, Condition(only_if));
    return StatusOf(store->open->store->store().Remove(Text(path), condition, std::move(options)));
  });
}

xec_request* xec_make_directory(xec_store* store, const char* path, int parents, const xec_call* call) {
  return Start<void>(store->open, call, [&](CallOptions options) -> Made<void> {
    return store->open->store->store().MakeDirectory(Text(path), parents != 0, std::move(options));
  });
}

xec_request* xec_remove_directory(xec_store* store, const char* path, const xec_call* call) {
  return Start<void>(store->open, call, [&](CallOptions options) -> Made<void> {
    return store->open->store->store().RemoveDirectory(Text(path), std::move(options));
  });
}

xec_request* xec_rename(xec_store* store, const char* from, const char* to, const xec_only_if* source,
                        const xec_only_if* target, const xec_call* call) {
  return Start<void>(store->open, call, [&](CallOptions options) -> Made<void> {
    RenameOptions rename;
    XEC_ASSIGN_OR_RETURN(rename.source, Condition(source));
    XEC_ASSIGN_OR_RETURN(rename.target, Condition(target));
    return StatusOf(store->open->store->store().Rename(Text(from), Text(to), rename, std::move(options)));
  });
}

xec_request* xec_copy(xec_store* store, const char* from, const char* to, const xec_only_if* source,
                      const xec_only_if* target, const xec_call* call) {
  return Start<Committed>(store->open, call, [&](CallOptions options) -> Made<Committed> {
    CopyOptions copy;
    copy.create = store->open->store->CreateOptionsFor(Text(to));
    XEC_ASSIGN_OR_RETURN(copy.source, Condition(source));
    XEC_ASSIGN_OR_RETURN(copy.create.write.only_if, Condition(target));
    return store->open->store->store().Copy(Text(from), Text(to), std::move(copy), std::move(options));
  });
}

xec_request* xec_set_attribute(xec_store* store, const char* path, const char* name, const char* value,
                               size_t value_size, const xec_only_if* only_if, const xec_call* call) {
  return Start<void>(store->open, call, [&](CallOptions options) -> Made<void> {
    XEC_ASSIGN_OR_RETURN(const OnlyIf condition, Condition(only_if));
    std::optional<std::string> text;
    if (value != nullptr) text.emplace(value, value_size);
    return store->open->store->store().SetAttribute(Text(path), Text(name), std::move(text), condition,
                                                    std::move(options));
  });
}

xec_request* xec_set_mode(xec_store* store, const char* path, uint32_t mode, const xec_call* call) {
  return Start<void>(store->open, call, [&](CallOptions options) -> Made<void> {
    return store->open->store->store().SetSettings(Text(path), Settings::OfMode(mode), std::move(options));
  });
}

xec_request* xec_keep_checksum(xec_store* store, const char* path, const char* version, const char* algorithm,
                               const char* hex, const xec_call* call) {
  return Start<void>(store->open, call, [&](CallOptions options) -> Made<void> {
    XEC_ASSIGN_OR_RETURN(const Version parsed, ParseVersion(version));
    return store->open->store->store().KeepChecksum(Text(path), parsed, Text(algorithm), Text(hex),
                                                    std::move(options));
  });
}

xec_request* xec_get_space(xec_store* store, const xec_call* call) {
  return Start<StoreSpace>(store->open, call, [&](CallOptions options) -> Made<StoreSpace> {
    return store->open->store->store().Space(std::move(options));
  });
}

xec_request* xec_open(xec_store* store, const char* path, const xec_only_if* only_if, const xec_call* call) {
  using Handle = std::shared_ptr<ReadHandle>;
  return Start<Handle>(store->open, call, [&](CallOptions options) -> Made<Handle> {
    XEC_ASSIGN_OR_RETURN(const OnlyIf condition, Condition(only_if));
    return store->open->store->store().Open(Text(path), condition, std::move(options));
  });
}

void xec_reader_free(xec_reader* reader) { Free(reader); }
uint64_t xec_reader_size(const xec_reader* reader) { return reader->handle->size(); }
const char* xec_reader_version(const xec_reader* reader) { return reader->version.c_str(); }

xec_request* xec_read(xec_reader* reader, uint64_t offset, void* buffer, size_t size, const xec_call* call) {
  const auto make = [&](CallOptions options) -> Made<uint64_t> {
    const MutableByteSpan into(static_cast<std::byte*>(buffer), size);
    return reader->handle->Read(offset, into, std::move(options));
  };
  return Start<uint64_t>(reader->store, call, make, reader->handle, Memory::kLent);
}

xec_request* xec_read_vector(xec_reader* reader, const xec_piece* pieces, size_t count,
                             const xec_call* call) {
  const auto make = [&](CallOptions options) -> Made<void> {
    std::vector<ReadPiece> wanted;
    for (size_t i = 0; i < count; ++i)
      wanted.push_back({pieces[i].offset, {static_cast<std::byte*>(pieces[i].buffer), pieces[i].size}});
    return reader->handle->ReadVector(std::move(wanted), std::move(options));
  };
  return Start<void>(reader->store, call, make, reader->handle, Memory::kLent);
}

xec_request* xec_create(xec_store* store, const char* path, const xec_write_options* given,
                        const xec_call* call) {
  using Handle = std::unique_ptr<WriteHandle>;
  return Start<Handle>(store->open, call, [&](CallOptions options) -> Made<Handle> {
    CreateOptions create = store->open->store->CreateOptionsFor(Text(path));
    XEC_TRY(TakeWriteOptions(given, create));
    return store->open->store->store().Create(Text(path), std::move(create), std::move(options));
  });
}

xec_request* xec_append(xec_writer* writer, const void* bytes, size_t size, const xec_call* call) {
  const auto make = [&](CallOptions options) -> Made<void> {
    return writer->handle->Append(ByteSpan(static_cast<const std::byte*>(bytes), size), std::move(options));
  };
  return Start<void>(writer->store, call, make, writer->handle, Memory::kLent);
}

xec_request* xec_commit(xec_writer* writer, const xec_call* call) {
  const auto make = [&](CallOptions options) -> Made<Committed> {
    return writer->handle->Commit(std::move(options));
  };
  return Start<Committed>(writer->store, call, make, writer->handle);
}

void xec_writer_free(xec_writer* writer) { Free(writer); }

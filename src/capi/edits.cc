// SPDX-License-Identifier: LGPL-3.0-or-later
// Changing objects by xec.h.
#include "capi/start.hh"

namespace {

using namespace xec;        // NOLINT
using namespace xec::capi;  // NOLINT

Result<EditOptions> OptionsOf(const xec_edit_options* given, CreateOptions upload) {
  xec_edit_options taken;
  XEC_TRY(Take(given, "xec_edit_options", taken));
  EditOptions options;
  options.upload = std::move(upload);
  XEC_ASSIGN_OR_RETURN(options.upload.write.attributes,
                       AttributesOf(taken.attributes, taken.attributes_count));
  options.upload.make_parents = taken.parent_must_exist == 0;
  options.truncate = taken.truncate != 0;
  options.create = taken.create != 0;
  options.exclusive = taken.exclusive != 0;
  options.last_writer_wins = taken.last_writer_wins != 0;
  return options;
}

// A request of the edit, whose caller and limits are those of its opening.
template <typename T, typename Make>
xec_request* Ask(const xec_edit* edit, Make make) {
  return Start<T>(
      edit->store, nullptr, [&](const CallOptions&) -> Made<T> { return make(*edit->edit); }, edit->edit);
}

ByteSpan Bytes(const void* bytes, size_t size) { return {static_cast<const std::byte*>(bytes), size}; }

}  // namespace

xec_request* xec_edit_open(xec_store* store, const char* path, const xec_edit_options* given,
                           const xec_call* call) {
  using Handle = std::unique_ptr<ObjectEdit>;
  OpenStoreHandle& open = *store->open;
  return Start<Handle>(store->open, call, [&](CallOptions caller) -> Made<Handle> {
    XEC_ASSIGN_OR_RETURN(EditOptions options, OptionsOf(given, open.store->CreateOptionsFor(Text(path))));
    return ObjectEdit::Open(open.store->store(), open.scratch, Text(path), std::move(options),
                            std::move(caller));
  });
}

uint64_t xec_edit_size(const xec_edit* edit) { return edit->edit->size(); }
int xec_edit_changed(const xec_edit* edit) { return edit->edit->changed() ? 1 : 0; }

xec_request* xec_edit_read(xec_edit* edit, uint64_t offset, void* buffer, size_t size) {
  const MutableByteSpan into(static_cast<std::byte*>(buffer), size);
  return Ask<uint64_t>(edit, [&](ObjectEdit& of) { return of.Read(offset, into); });
}

xec_request* xec_edit_write(xec_edit* edit, uint64_t offset, const void* bytes, size_t size) {
  return Ask<void>(edit, [&](ObjectEdit& of) { return of.Write(offset, Bytes(bytes, size)); });
}

xec_request* xec_edit_append(xec_edit* edit, const void* bytes, size_t size) {
  return Ask<void>(edit, [&](ObjectEdit& of) { return of.Append(Bytes(bytes, size)); });
}

xec_request* xec_edit_truncate(xec_edit* edit, uint64_t size) {
  return Ask<void>(edit, [&](ObjectEdit& of) { return of.Truncate(size); });
}

xec_request* xec_edit_sync(xec_edit* edit) {
  return Ask<std::optional<Committed>>(edit, [](ObjectEdit& of) { return of.Flush(); });
}

xec_request* xec_edit_close(xec_edit* edit) {
  return Ask<std::optional<Committed>>(edit, [](ObjectEdit& of) { return of.Close(); });
}

void xec_edit_free(xec_edit* edit) { Free(edit); }

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "store/decide_list.hh"

#include "commit/clean/clean_name.hh"
#include "commit/engine/names.hh"
#include "commit/engine/pause.hh"
#include "object/read/object_reader.hh"
#include "object/write/object_writer.hh"

namespace xec {
namespace {

// For how long somebody else who decides at the same time is waited for.
constexpr Duration kDecisionPatience = std::chrono::seconds(30);
constexpr Duration kDecisionPause = std::chrono::milliseconds(500);

// kNotFound: nothing is decided.
Task<Result<StoreDescriptor>> ReadDecision(Engine& engine, ObjectPath name) {
  Result<NameInfo> info = co_await LookUpLive(engine, std::move(name));
  if (!info) co_return info.error();
  Result<std::shared_ptr<ObjectReader>> reader = co_await ObjectReader::Open(engine, std::move(*info));
  if (!reader) co_return reader.error();
  if ((*reader)->size() > kDescriptorBytesMax)
    co_return Fail(Code::kCorruption, "the descriptor that was decided is too long");
  std::string text((*reader)->size(), '\0');
  const Result<uint64_t> got = co_await (*reader)->Read(0, std::as_writable_bytes(std::span(text)));
  if (!got) co_return got.error();
  co_return ParseDescriptor(text);
}

Task<Status> Propose(Engine& engine, ObjectPath name, std::string text) {
  WriteOptions options;
  options.only_if = OnlyIf::Absent();
  options.archives_min = 1;
  Result<std::unique_ptr<ObjectWriter>> writer =
      co_await ObjectWriter::Start(engine, std::move(name), std::move(options));
  if (!writer) co_return writer.error();
  const Status appended = co_await (*writer)->Append(AsBytes(text));
  if (!appended) {
    co_await (*writer)->Abandon();
    co_return appended.error();
  }
  const Result<Committed> committed = co_await (*writer)->Commit();
  if (!committed) co_return committed.error();
  co_return OkStatus();
}

bool MayBeDecidedByNow(Code code) {
  return code == Code::kAlreadyExists || code == Code::kConflict || code == Code::kUnknown;
}

}  // namespace

Task<Result<StoreDescriptor>> DecideList(Engine& engine, StoreDescriptor wanted) {
  const ObjectPath name = ObjectPath::OfList(wanted.epoch);
  const std::string text = FormatDescriptor(wanted);
  const TimePoint until = engine.executor().Now() + kDecisionPatience;
  for (bool last = false;;) {
    Result<StoreDescriptor> decided = co_await ReadDecision(engine, name);
    if (decided || decided.code() != Code::kNotFound) co_return std::move(decided);
    const Status proposed = co_await Propose(engine, name, text);
    if (proposed) co_return std::move(wanted);
    if (!MayBeDecidedByNow(proposed.code()) || last) co_return proposed.error();
    // Somebody died over a proposal, and while the members change no cleaner comes. All who propose this list
    // go by the same one before, so the homes asked are all there are; who lives proposes again.
    last = engine.executor().Now() >= until;
    if (last) co_await GiveUpSilentUploads(engine, name, kDecisionPatience);
    co_await Pause(engine, kDecisionPause);
  }
}

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "space/counted_store.hh"

#include "protocol/object_path.hh"

namespace xec {
namespace {

// Of what comes under a name.
Usage Change(SpaceLedger& ledger, std::string_view path, uint64_t size,
             const std::optional<ObjectGone>& replaced) {
  Usage change{static_cast<int64_t>(size), 1};
  if (replaced) change += ledger.TakenBy(path, *replaced);
  return change;
}

// The same name, if users wrote it in two ways.
bool IsSame(std::string_view one, std::string_view other) {
  const Result<ObjectPath> path = ObjectPath::Parse(one), other_path = ObjectPath::Parse(other);
  return path && other_path && *path == *other_path;
}

// As SpaceClaim::GrowTo. What it replaces is looked up only if it does not fit beside that, and before a
// commit that relies on it: by then something else may be there.
enum class Look { kIfNeeded, kAgain };
Task<Status> Grow(SpaceClaim& claim, uint64_t bytes, Look look, Store& store, std::string path,
                  CallOptions call) {
  Status grown = OkStatus();
  if (look == Look::kIfNeeded || claim.replaces() == 0) {
    grown = claim.GrowTo(bytes, claim.replaces());
    if (grown) co_return std::move(grown);
  }
  const Result<ObjectInfo> there = co_await store.Stat(std::move(path), std::move(call));
  // Whether it fits cannot be told.
  if (!there && there.code() != Code::kNotFound) co_return there.error();
  co_return claim.GrowTo(bytes, there && !there->directory ? there->size : 0);
}

class CountedWriter final : public WriteHandle {
 public:
  CountedWriter(Store& store, SpaceLedger& ledger, std::string path)
      : store_(store),
        ledger_(ledger),
        group_(ledger.Of(path)),
        path_(std::move(path)),
        claim_(ledger, group_) {}

  // Before everything else.
  Task<Status> Claim(uint64_t announced, CallOptions call) {
    return Grow(claim_, announced, Look::kIfNeeded, store_, path_, std::move(call));
  }
  void Begin(std::unique_ptr<WriteHandle> next) { next_ = std::move(next); }

  uint64_t size() const override { return next_->size(); }
  Task<Status> Reserve(CallOptions call) override { return next_->Reserve(std::move(call)); }
  bool KeepPlace() override { return next_->KeepPlace(); }
  Status SetUserAttributes(std::map<std::string, std::string> attributes) override {
    return next_->SetUserAttributes(std::move(attributes));
  }
  void SetSettings(Settings settings) override { next_->SetSettings(settings); }
  bool AllInMemory() const override { return next_->AllInMemory(); }
  // What has ended may wait for long and may never be committed, and if it is changed a copy of it is what
  // claims. Its commit claims again.
  Task<Status> EndStream(CallOptions call) override {
    Status ended = co_await next_->EndStream(std::move(call));
    if (ended) claim_.Release();
    co_return std::move(ended);
  }
  Task<Result<uint64_t>> ReadBack(uint64_t offset, MutableByteSpan into, CallOptions call) override {
    return next_->ReadBack(offset, into, std::move(call));
  }

  Task<Status> Append(ByteSpan bytes, CallOptions call) override {
    if (!group_.quota_bytes) return next_->Append(bytes, std::move(call));
    return AppendWithin(bytes, std::move(call));
  }

  Task<Result<Committed>> Commit(CallOptions call) override {
    // Others may have filled the group meanwhile.
    const Status fits = co_await Grow(claim_, next_->size(), Look::kAgain, store_, path_, call);
    if (!fits) {
      co_await next_->Abandon();
      co_return fits.error();
    }
    Result<Committed> committed = co_await next_->Commit(std::move(call));
    claim_.Release(committed ? Change(ledger_, path_, committed->size, committed->replaced) : Usage());
    co_return std::move(committed);
  }

  Task<void> Abandon() override {
    co_await next_->Abandon();
    claim_.Release();
  }

 private:
  Task<Status> AppendWithin(ByteSpan bytes, CallOptions call) {
    Status fits = co_await Grow(claim_, next_->size() + bytes.size(), Look::kIfNeeded, store_, path_, call);
    if (!fits) co_return std::move(fits);
    co_return co_await next_->Append(bytes, std::move(call));
  }

  Store& store_;
  SpaceLedger& ledger_;
  const SpaceGroup& group_;
  const std::string path_;
  SpaceClaim claim_;
  std::unique_ptr<WriteHandle> next_;
};

}  // namespace

Task<Result<std::unique_ptr<WriteHandle>>> CountedStore::Create(std::string path, CreateOptions options,
                                                                CallOptions call) {
  auto counted = std::make_unique<CountedWriter>(next_, ledger_, path);
  if (ledger_.Of(path).quota_bytes) {
    co_await refresh_();
    // One that was not announced does not begin where not a byte fits.
    const Status fits = co_await counted->Claim(options.write.size_hint.value_or(1), call);
    if (!fits) co_return fits.error();
  }
  Result<std::unique_ptr<WriteHandle>> writer =
      co_await next_.Create(std::move(path), std::move(options), std::move(call));
  if (!writer) co_return writer.error();
  counted->Begin(std::move(*writer));
  co_return std::unique_ptr<WriteHandle>(std::move(counted));
}

Task<Result<ObjectGone>> CountedStore::Remove(std::string path, OnlyIf only_if, CallOptions call) {
  Result<ObjectGone> gone = co_await next_.Remove(path, only_if, std::move(call));
  if (gone) ledger_.Add(ledger_.Of(path), ledger_.TakenBy(path, *gone));
  co_return std::move(gone);
}

Task<Status> CountedStore::ClaimFor(SpaceClaim& claim, std::string from, std::string to, CallOptions call) {
  co_await refresh_();
  const Result<ObjectInfo> source = co_await next_.Stat(std::move(from), call);
  // The operation itself says what is wrong.
  if (!source) co_return OkStatus();
  // Nobody knows what is in a directory: it needs some room, and the next count tells.
  const uint64_t bytes = source->directory ? 1 : source->size;
  co_return co_await Grow(claim, bytes, Look::kIfNeeded, next_, std::move(to), std::move(call));
}

Task<Result<Renamed>> CountedStore::Rename(std::string from, std::string to, RenameOptions options,
                                           CallOptions call) {
  const SpaceGroup &source = ledger_.Of(from), &target = ledger_.Of(to);
  SpaceClaim claim(ledger_, target);
  if (&source != &target && target.quota_bytes) {
    const Status fits = co_await ClaimFor(claim, from, to, call);
    if (!fits) co_return fits.error();
  }
  Result<Renamed> renamed = co_await next_.Rename(from, to, options, std::move(call));
  if (!renamed) co_return std::move(renamed);
  if (renamed->directory) {
    if (ledger_.Crosses(from, to)) ledger_.NoteMoved(wall_ms_());
    co_return std::move(renamed);
  }
  if (IsSame(from, to)) co_return std::move(renamed);
  ledger_.Add(source, ledger_.TakenBy(from, {renamed->version, renamed->size}));
  claim.Release(Change(ledger_, to, renamed->size, renamed->replaced));
  co_return std::move(renamed);
}

Task<Result<Committed>> CountedStore::Copy(std::string from, std::string to, CopyOptions options,
                                           CallOptions call) {
  const SpaceGroup& target = ledger_.Of(to);
  SpaceClaim claim(ledger_, target);
  if (target.quota_bytes) {
    const Status fits = co_await ClaimFor(claim, from, to, call);
    if (!fits) co_return fits.error();
  }
  Result<Committed> copied = co_await next_.Copy(std::move(from), to, std::move(options), std::move(call));
  if (copied) claim.Release(Change(ledger_, to, copied->size, copied->replaced));
  co_return std::move(copied);
}

}  // namespace xec

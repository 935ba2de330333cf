// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/decorators/fault_server.hh"

namespace xec {
namespace {

bool ActsOnResults(FaultKind kind) { return kind == FaultKind::kCorrupt || kind == FaultKind::kShortRead; }

bool NeedsSpace(Operation operation) {
  return operation == Operation::kCreate || operation == Operation::kWrite ||
         operation == Operation::kMakeDirectory || operation == Operation::kSetAttributes;
}

bool Matches(const FaultRule& rule, const Request& request) {
  if (rule.operation && *rule.operation != request.operation) return false;
  return request.path.find(rule.path_contains) != std::string::npos;
}

}  // namespace

template <typename T>
void FaultPlan::Around(const Request& request, Start<T> start, Done<T> done) {
  const std::optional<FaultRule> fault = Decide(request, false);
  if (!fault) return start(std::move(done));
  switch (fault->kind) {
    case FaultKind::kFailBefore:
      executor_.Post([done = std::move(done), error = fault->error]() mutable { done(std::move(error)); });
      return;
    case FaultKind::kFailAfter:
      start([done = std::move(done), error = fault->error](Result<T>) mutable { done(std::move(error)); });
      return;
    case FaultKind::kDelay:
      executor_.RunAt(
          executor_.Now() + fault->delay,
          [start = std::move(start), done = std::move(done)]() mutable { start(std::move(done)); });
      return;
    case FaultKind::kHang: {
      // Either closure may run: they share what only one of them uses.
      auto held = std::make_shared<std::pair<Start<T>, Done<T>>>(std::move(start), std::move(done));
      MutexLock lock(mutex_);
      hung_.push_back({[held] { held->first(std::move(held->second)); },
                       [held] { held->second(Fail(Code::kUnavailable, "the server was killed")); }});
      return;
    }
    case FaultKind::kCorrupt:
    case FaultKind::kShortRead: break;
  }
  start(std::move(done));
}

FaultServer::FaultServer(DataServerPtr inner, Executor& executor, uint64_t seed)
    : DecoratedServer(std::move(inner), std::make_shared<FaultPlan>(executor, seed)) {}
FaultServer::~FaultServer() = default;

uint64_t FaultPlan::Add(FaultRule rule) {
  XEC_CHECK(rule.one_in > 0 && rule.first > 0);
  MutexLock lock(mutex_);
  rules_.emplace(next_rule_, ActiveRule{std::move(rule)});
  return next_rule_++;
}

void FaultPlan::Remove(uint64_t id) {
  MutexLock lock(mutex_);
  rules_.erase(id);
}

void FaultPlan::Clear() {
  MutexLock lock(mutex_);
  rules_.clear();
  down_ = read_only_ = full_ = false;
}

void FaultPlan::SetDown(bool down) {
  MutexLock lock(mutex_);
  down_ = down;
}

void FaultPlan::SetReadOnly(bool read_only) {
  MutexLock lock(mutex_);
  read_only_ = read_only;
}

void FaultPlan::SetFull(bool full) {
  MutexLock lock(mutex_);
  full_ = full;
}

uint64_t FaultPlan::injected() const {
  MutexLock lock(mutex_);
  return injected_;
}

size_t FaultPlan::hung() const {
  MutexLock lock(mutex_);
  return hung_.size();
}

std::optional<Error> FaultPlan::StateError(const Request& request) const {
  if (down_) return Fail(Code::kUnavailable, "the server is down");
  if (read_only_ && IsMutating(request.operation))
    return Fail(Code::kPermissionDenied, "the server is read-only");
  if (full_ && NeedsSpace(request.operation)) return Fail(Code::kNoSpace, "the server is full");
  return std::nullopt;
}

std::optional<FaultRule> FaultPlan::Decide(const Request& request, bool read_results) {
  MutexLock lock(mutex_);
  if (!read_results) {
    if (std::optional<Error> error = StateError(request)) return FaultRule{.error = std::move(*error)};
  }
  for (auto& [id, active] : rules_) {
    const FaultRule& rule = active.rule;
    if (ActsOnResults(rule.kind) != read_results || !Matches(rule, request)) continue;
    ++active.matched;
    if (active.matched < rule.first || active.matched - rule.first >= rule.count) continue;
    if (rule.one_in > 1 && !random_.OneIn(rule.one_in)) continue;
    ++injected_;
    return rule;
  }
  return std::nullopt;
}

void FaultPlan::AfterRead(const Request& request, const Slice& into, Result<uint64_t>& result) {
  if (!result || *result == 0) return;
  const std::optional<FaultRule> fault = Decide(request, true);
  if (!fault) return;
  if (fault->kind == FaultKind::kShortRead) {
    result = *result / 2;
    return;
  }
  uint64_t bit = 0;
  {
    MutexLock lock(mutex_);
    bit = random_.Below(*result * 8);
  }
  into.span()[bit / 8] ^= std::byte{1} << (bit % 8);
}

std::vector<FaultPlan::Hung> FaultPlan::TakeHung() {
  MutexLock lock(mutex_);
  return std::exchange(hung_, {});
}

void FaultPlan::ReleaseHung() {
  for (Hung& hung : TakeHung()) executor_.Post(std::move(hung.execute));
}

void FaultPlan::DropHung() {
  for (Hung& hung : TakeHung()) executor_.Post(std::move(hung.drop));
}

}  // namespace xec

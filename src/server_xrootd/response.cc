// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server_xrootd/response.hh"

#include <vector>

#include "base/mutex.hh"

namespace xec {
namespace {

class Response final : public XrdCl::ResponseHandler {
 public:
  Response(ExecutorGatePtr gate, OnReply on_reply) : gate_(std::move(gate)), on_reply_(std::move(on_reply)) {}

  // Called once by XrdCl, on one of its threads; all three objects are ours from here on.
  void HandleResponseWithHosts(XrdCl::XRootDStatus* status, XrdCl::AnyObject* response,
                               XrdCl::HostList* hosts) override {
    const std::unique_ptr<XrdCl::HostList> owned_hosts(hosts);
    Finish(Reply{std::unique_ptr<XrdCl::XRootDStatus>(status), std::unique_ptr<XrdCl::AnyObject>(response),
                 hosts != nullptr});
  }

  void HandleResponse(XrdCl::XRootDStatus* status, XrdCl::AnyObject* response) override {
    HandleResponseWithHosts(status, response, nullptr);
  }

  // Posts the answer and deletes this object.
  void Finish(Reply reply) {
    const ExecutorGatePtr gate = std::move(gate_);
    Closure work = [on_reply = std::move(on_reply_), reply = std::move(reply)]() mutable {
      on_reply(std::move(reply));
    };
    delete this;
    gate->Post(std::move(work));
  }

 private:
  ~Response() override = default;

  ExecutorGatePtr gate_;
  OnReply on_reply_;
};

// All gates there are, so that an executor can be left in peace before it goes.
struct GateRegistry {
  Mutex mutex;
  std::vector<std::weak_ptr<ExecutorGate>> gates XEC_GUARDED_BY(mutex);
};

GateRegistry& Gates() {
  // Never destroyed: XrdCl's threads may outlive static objects.
  static auto* registry = new GateRegistry;
  return *registry;
}

}  // namespace

ExecutorGatePtr ExecutorGate::Make(Executor* executor) {
  const ExecutorGatePtr gate(new ExecutorGate(executor));
  GateRegistry& registry = Gates();
  MutexLock lock(registry.mutex);
  std::erase_if(registry.gates, [](const std::weak_ptr<ExecutorGate>& g) { return g.expired(); });
  registry.gates.push_back(gate);
  return gate;
}

void CloseGates(const Executor& executor) {
  GateRegistry& registry = Gates();
  std::vector<ExecutorGatePtr> gates;
  {
    const MutexLock lock(registry.mutex);
    for (const auto& weak : registry.gates) {
      if (ExecutorGatePtr gate = weak.lock()) gates.push_back(std::move(gate));
    }
  }
  for (const ExecutorGatePtr& gate : gates) {
    const WriterLock lock(gate->mutex_);
    if (gate->executor_ == &executor) gate->executor_ = nullptr;
  }
}

void ExecutorGate::Post(Closure work) {
  const ReaderLock lock(mutex_);
  if (executor_ != nullptr) executor_->Post(std::move(work));
  // Otherwise `work` is destroyed by the caller's frame, after the lock is released.
}

void ExecutorGate::PostAfter(Duration delay, Closure work) {
  const ReaderLock lock(mutex_);
  if (executor_ != nullptr) executor_->RunAt(executor_->Now() + delay, std::move(work));
}

void ExecutorGate::Close() {
  const WriterLock lock(mutex_);
  executor_ = nullptr;
}

TimePoint ExecutorGate::Now() const {
  const ReaderLock lock(mutex_);
  return executor_ != nullptr ? executor_->Now() : TimePoint{};
}

void SendRequest(ExecutorGatePtr gate, UniqueFunction<XrdCl::XRootDStatus(XrdCl::ResponseHandler*)> submit,
                 OnReply on_reply) {
  auto* response = new Response(std::move(gate), std::move(on_reply));
  XrdCl::XRootDStatus status = submit(response);
  if (!status.IsOK()) {
    response->Finish(Reply{std::make_unique<XrdCl::XRootDStatus>(std::move(status)), nullptr, false});
  }
}

}  // namespace xec

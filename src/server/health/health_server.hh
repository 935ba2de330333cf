// SPDX-License-Identifier: LGPL-3.0-or-later
// HealthServer: tells ServerHealth of every request that goes to a data server, and of its end. It changes no
// request and sends none.
#pragma once

#include <functional>
#include <memory>

#include "server/decorators/decorator.hh"
#include "server/health/server_health.hh"

namespace xec {

// Sync and close wait for the disk, and so do changes of names where they are synced; patience with these
// suits a batch as well.
inline RequestKind KindOf(const Request& request) {
  switch (request.operation) {
    case Operation::kRead: return ReadKindOf(request.bytes);
    case Operation::kWrite: return RequestKind::kWrite;
    case Operation::kListMany:  // takes as long as many small ones
    case Operation::kSync:
    case Operation::kClose:
    case Operation::kRename:
    case Operation::kMakeDirectory:
    case Operation::kSetAttributes: return RequestKind::kSync;
    default: return RequestKind::kMetadata;
  }
}

class HealthFeed {
 public:
  // `on_trouble` runs, on the thread of the answer, after each request that did not end well for the server;
  // it may be empty.
  HealthFeed(std::shared_ptr<ServerHealth> health, size_t server, Executor& executor,
             std::function<void()> on_trouble)
      : health_(std::move(health)),
        server_(server),
        executor_(executor),
        on_trouble_(std::move(on_trouble)) {}

  template <typename T>
  void Around(const Request& request, Start<T> start, Done<T> done);

 private:
  // One request; ends it as dropped when it is destroyed unanswered.
  class Sent {
   public:
    Sent(std::shared_ptr<HealthFeed> feed, RequestKind kind)
        : feed_(std::move(feed)), kind_(kind), started_(feed_->executor_.Now()) {
      ticket_ = feed_->health_->Begin(feed_->server_, kind_, started_);
    }
    Sent(Sent&&) = default;
    Sent& operator=(Sent&&) = delete;
    ~Sent() {
      if (feed_)
        feed_->health_->End(feed_->server_, kind_, ticket_, started_, started_, RequestEnd::kDropped);
    }
    void End(const Error* error) {
      const std::shared_ptr<HealthFeed> feed = std::move(feed_);
      const RequestEnd end = error == nullptr ? RequestEnd::kAnswered : EndOf(error->code);
      const bool trouble = end == RequestEnd::kSilent || end == RequestEnd::kUnreachable;
      feed->health_->End(feed->server_, kind_, ticket_, started_, feed->executor_.Now(), end,
                         trouble ? error->message : std::string());
      if (trouble && feed->on_trouble_) feed->on_trouble_();
    }

   private:
    std::shared_ptr<HealthFeed> feed_;  // null once ended
    RequestKind kind_;
    TimePoint started_;
    uint64_t ticket_;
  };

  friend class HealthServer;
  const std::shared_ptr<ServerHealth> health_;
  const size_t server_;
  Executor& executor_;
  const std::function<void()> on_trouble_;
  std::weak_ptr<HealthFeed> self_;  // set once, before the first request
};

class HealthServer final : public DecoratedServer<HealthFeed> {
 public:
  // `server` is its index in `health`; `executor` tells the time and outlives what is in flight.
  HealthServer(DataServerPtr inner, std::shared_ptr<ServerHealth> health, size_t server, Executor& executor,
               std::function<void()> on_trouble = {})
      : DecoratedServer(std::move(inner), std::make_shared<HealthFeed>(std::move(health), server, executor,
                                                                       std::move(on_trouble))) {
    core_->self_ = core_;
  }
};

template <typename T>
void HealthFeed::Around(const Request& request, Start<T> start, Done<T> done) {
  start([sent = Sent(self_.lock(), KindOf(request)), done = std::move(done)](Result<T> result) mutable {
    sent.End(result ? nullptr : &result.error());
    done(std::move(result));
  });
}

}  // namespace xec

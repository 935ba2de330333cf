// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/kinds/missing_server.hh"

#include "server/forwarding.hh"

namespace xec {
namespace {

class MissingServer final : public ForwardingServer<MissingServer> {
 public:
  MissingServer(std::string member_id, Executor& executor)
      : name_(std::move(member_id)), executor_(executor) {}

  const std::string& name() const override { return name_; }

  template <typename T, typename Call>
  void Forward(const Request&, Call, Done<T> done) {
    executor_.Post([name = name_, done = std::move(done)]() mutable {
      done(Fail(Code::kUnavailable, "member {} of the store is missing", name));
    });
  }

 private:
  const std::string name_;
  Executor& executor_;
};

}  // namespace

DataServerPtr MakeMissingServer(std::string member_id, Executor& executor) {
  return std::make_shared<MissingServer>(std::move(member_id), executor);
}

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/missing_server.hh"

namespace xec {
namespace {

class MissingServer final : public DataServer {
 public:
  MissingServer(std::string member_id, Executor& executor)
      : name_(std::move(member_id)), executor_(executor) {}

  const std::string& name() const override { return name_; }
  void Open(OpContext, std::string, OpenMode, Done<std::shared_ptr<ArchiveFile>> done) override {
    Answer(std::move(done));
  }
  void List(OpContext, std::string, Done<std::vector<Entry>> done) override { Answer(std::move(done)); }
  void Rename(OpContext, std::string, std::string, Done<void> done) override { Answer(std::move(done)); }
  void Remove(OpContext, std::string, Done<void> done) override { Answer(std::move(done)); }
  void MakeDirectory(OpContext, std::string, Done<void> done) override { Answer(std::move(done)); }
  void RemoveDirectory(OpContext, std::string, Done<void> done) override { Answer(std::move(done)); }
  void SetAttributes(OpContext, std::string, Attributes, Done<void> done) override {
    Answer(std::move(done));
  }
  void GetAttributes(OpContext, std::string, std::string, Done<Attributes> done) override {
    Answer(std::move(done));
  }
  void GetSpace(OpContext, Done<Space> done) override { Answer(std::move(done)); }

 private:
  template <typename T>
  void Answer(Done<T> done) {
    executor_.Post([name = name_, done = std::move(done)]() mutable {
      done(Fail(Code::kUnavailable, "member {} of the store is missing", name));
    });
  }

  const std::string name_;
  Executor& executor_;
};

}  // namespace

DataServerPtr MakeMissingServer(std::string member_id, Executor& executor) {
  return std::make_shared<MissingServer>(std::move(member_id), executor);
}

}  // namespace xec

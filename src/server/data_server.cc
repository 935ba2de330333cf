// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/data_server.hh"

#include "base/mutex.hh"

namespace xec {
namespace {

// The answers to a batch until the last one is there. Thread-safe.
class Batch {
 public:
  Batch(size_t size, Done<std::vector<Listed>> done) : done_(std::move(done)), pending_(size), lists_(size) {}

  void Answer(size_t index, Result<std::vector<Entry>> listed) {
    std::vector<Listed> lists;
    std::optional<Error> error;
    {
      MutexLock lock(mutex_);
      if (listed) {
        lists_[index] = std::move(*listed);
      } else if (listed.code() != Code::kNotFound) {
        error_ = std::move(listed.error());
      }
      if (--pending_ > 0) return;
      lists = std::move(lists_);
      error = std::move(error_);
    }
    if (error) return done_(std::move(*error));
    done_(std::move(lists));
  }

 private:
  Done<std::vector<Listed>> done_;  // called by the last answer alone
  Mutex mutex_;
  size_t pending_ XEC_GUARDED_BY(mutex_);
  std::vector<Listed> lists_ XEC_GUARDED_BY(mutex_);
  std::optional<Error> error_ XEC_GUARDED_BY(mutex_);
};

}  // namespace

void DataServer::ListMany(OpContext context, std::vector<std::string> paths, Done<std::vector<Listed>> done) {
  XEC_CHECK(!paths.empty(), "no answer would come");
  const auto batch = std::make_shared<Batch>(paths.size(), std::move(done));
  for (size_t i = 0; i < paths.size(); ++i) {
    List(context, std::move(paths[i]),
         [batch, i](Result<std::vector<Entry>> listed) { batch->Answer(i, std::move(listed)); });
  }
}

}  // namespace xec

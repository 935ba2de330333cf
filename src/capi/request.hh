// SPDX-License-Identifier: LGPL-3.0-or-later
// What is behind the handles of xec.h.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "api/store.hh"
#include "assembly/open_store.hh"
#include "base/mutex.hh"
#include "edit/object_edit.hh"
#include "edit/scratch.hh"
#include "xec/xec.h"

namespace xec::capi {

inline std::string Text(const char* text) { return text == nullptr ? "" : text; }

// The stable number of a code. Every code has one, and XEC_OK is none of them.
int NumberOf(Code code);

// Everything that a request has to tell, in the form in which C sees it.
struct Outcome {
  int code = XEC_OK;
  std::string message;
  uint64_t bytes = 0;
  std::optional<xec_info> info;
  std::optional<xec_description> description;
  std::optional<xec_page> page;
  std::optional<xec_space> space;
  std::shared_ptr<ReadHandle> reader;
  std::unique_ptr<WriteHandle> writer;
  std::unique_ptr<ObjectEdit> edit;

  // What the above points to; lists, so that nothing moves.
  std::list<std::string> texts;
  std::vector<xec_pair> checksums, attributes;
  std::vector<xec_name> names;

  const char* Keep(std::string text) { return texts.emplace_back(std::move(text)).c_str(); }
};

void Tell(const Error& error, Outcome& out);
void Tell(const ObjectInfo& info, Outcome& out);
void Tell(ObjectDescription described, Outcome& out);
void Tell(NamesPage page, Outcome& out);
void Tell(const StoreSpace& space, Outcome& out);
void Tell(const Committed& committed, Outcome& out);
// None: there was nothing to commit.
void Tell(const std::optional<Committed>& committed, Outcome& out);
inline void Tell(uint64_t bytes, Outcome& out) { out.bytes = bytes; }
inline void Tell(std::shared_ptr<ReadHandle> reader, Outcome& out) { out.reader = std::move(reader); }
inline void Tell(std::unique_ptr<WriteHandle> writer, Outcome& out) { out.writer = std::move(writer); }
inline void Tell(std::unique_ptr<ObjectEdit> edit, Outcome& out) { out.edit = std::move(edit); }

// Of a handle that the caller of C owned. Null: nothing.
template <typename T>
void Free(T* handle) {
  const std::unique_ptr<T> owned(handle);
}

struct OpenStoreHandle {
  explicit OpenStoreHandle(std::unique_ptr<OpenedStore> opened)
      : store(std::move(opened)),
        scratch(store->configuration().ScratchDirectory(), store->configuration().scratch_bytes) {}
  // Waits for all that is under way.
  ~OpenStoreHandle() { scope.Drain(); }

  std::unique_ptr<OpenedStore> store;
  Scratch scratch;  // of all edits
  TaskScope scope;  // of all requests
};
using StorePtr = std::shared_ptr<OpenStoreHandle>;

// Shared by the caller's handle and what works on it. Thread-safe.
class Request {
 public:
  using Done = void (*)(xec_request*, void*);

  void End(Outcome outcome);
  void Then(Done done, void* user);
  int Wait();
  void Cancel() { stop_.request_stop(); }
  // The caller's handle is about to go: nobody is told any more. Waits for the function that is being told,
  // if that is another thread's.
  void Forget();

  bool ended() const;
  // Once it has ended; only a reader, a writer or an edit is taken out of it then.
  Outcome& outcome() { return outcome_; }
  std::stop_token stop() const { return stop_.get_token(); }
  void SetHandle(xec_request* handle) {
    const MutexLock lock(mutex_);
    handle_ = handle;
  }

 private:
  // Calls the function, without the lock, if there is one and somebody to be told.
  void TellDone() XEC_REQUIRES(mutex_);

  std::stop_source stop_;
  mutable Mutex mutex_;
  CondVar changed_;
  xec_request* handle_ XEC_GUARDED_BY(mutex_) = nullptr;  // null: forgotten
  Done done_ XEC_GUARDED_BY(mutex_) = nullptr;
  void* user_ XEC_GUARDED_BY(mutex_) = nullptr;
  bool ended_ XEC_GUARDED_BY(mutex_) = false;
  std::optional<std::thread::id> telling_ XEC_GUARDED_BY(mutex_);  // runs done_ now
  Outcome outcome_;  // set under mutex_ before ended_, and then the caller's
};

// `kept`: what the task works on.
template <typename T>
Task<void> Answer(std::shared_ptr<Request> request, [[maybe_unused]] std::shared_ptr<const void> kept,
                  Task<Result<T>> task) {
  Result<T> result = co_await std::move(task);
  Outcome outcome;
  if constexpr (std::is_void_v<T>) {
    if (!result) Tell(result.error(), outcome);
  } else {
    if (result) Tell(std::move(*result), outcome);
    if (!result) Tell(result.error(), outcome);
  }
  request->End(std::move(outcome));
}

}  // namespace xec::capi

struct xec_request {
  xec::capi::StorePtr store;  // lives longer than what nobody has taken out of the request
  std::shared_ptr<xec::capi::Request> state;
};

struct xec_store {
  xec::capi::StorePtr open;
};

struct xec_reader {
  xec::capi::StorePtr store;
  std::shared_ptr<xec::ReadHandle> handle;
  std::string version;
};

struct xec_writer {
  xec::capi::StorePtr store;
  std::shared_ptr<xec::WriteHandle> handle;
};

struct xec_edit {
  xec::capi::StorePtr store;
  std::shared_ptr<xec::ObjectEdit> edit;
};

struct xec_config {
  xec::Configuration configuration;
  std::string error;
};

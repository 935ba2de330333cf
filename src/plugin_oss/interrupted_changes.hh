// SPDX-License-Identifier: LGPL-3.0-or-later
// InterruptedChanges: which clients were writing what when their connection was lost, or this gateway died.
// XRootD's client (5.5.3 to 6.1) then logs in again, opens the name "to be changed", and sends only what was
// not answered. With that, the rest of the object would be what stood there before. So the first such open is
// refused, and the client fails as it should.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/mutex.hh"

namespace xec {

// Thread-safe. Each mark is a file, so that those of a gateway that died are there when it starts again.
class InterruptedChanges {
 public:
  // Marks lie in `folder`, which is made when it is needed. Where they cannot be written, the log says so,
  // and those of a gateway that dies are lost.
  explicit InterruptedChanges(std::string folder) : folder_(std::move(folder)) {}

  // From Begin on until Over, or for an hour after it has gone without Over. It does not outlive its maker.
  class Mark {
   public:
    Mark() = default;
    Mark(Mark&& other) noexcept : marks_(std::exchange(other.marks_, nullptr)), key_(std::move(other.key_)) {}
    Mark& operator=(Mark&&) = delete;
    ~Mark() { End(true); }
    // The client was told what has become of its changes, or there are none.
    void Over() { End(false); }

   private:
    friend class InterruptedChanges;
    Mark(InterruptedChanges& marks, std::string key) : marks_(&marks), key_(std::move(key)) {}
    void End(bool interrupted);

    InterruptedChanges* marks_ = nullptr;
    std::string key_;
  };

  // `client`: XRootD's trace identity, "user.pid:fd@host".
  Mark Begin(std::string_view client, std::string_view path);

  // Did this client, by another connection, lose changes of `path`? Says so once.
  bool Take(std::string_view client, std::string_view path);

 private:
  struct Open {
    size_t count = 0;  // of marks
    bool interrupted = false;
    std::string connection;  // that began the last one
  };

  std::string FileOf(const std::string& key) const;
  void Write(const std::string& file);
  void ForgetOld();

  const std::string folder_;
  Mutex mutex_;
  std::map<std::string, Open> open_ XEC_GUARDED_BY(mutex_);  // by client, without its connection, and path
  int64_t forgot_at_s_ XEC_GUARDED_BY(mutex_) = 0;  // since 1970
};

}  // namespace xec

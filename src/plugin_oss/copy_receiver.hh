// SPDX-License-Identifier: LGPL-3.0-or-later
// How the bytes of a third-party copy by root:// come into the upload that its client has opened here.
//
//   client --open--> xrootd --> Upload, expected here          xrootd --`ofs.tpc pgm`--> xec-copy-helper
//                                 ^                                                        | becomes xrdcp
//                                 +------- CopyReceiver <== local socket <== its output ---+
//
// XRootD has a program fetch such a copy and write it where the plug-in says that the name lies. Nothing lies
// there, so our program hands the bytes back to the daemon, and the upload commits or not as any other.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "base/mutex.hh"
#include "base/result.hh"

namespace xec {

// Programs that may wait to be let in. XRootD starts nine of them at most unless it is told otherwise
// (`ofs.tpc xfr`).
inline constexpr size_t kCopiesAtOnceMax = 64;

class CopyReceiver {
 public:
  // Writes `size` bytes at `offset`; 0 or less: the upload has failed, no more is wanted.
  using Write = std::function<ssize_t(const void* bytes, off_t offset, size_t size)>;

  // An upload that waits for its bytes. Thread-safe.
  class Expected {
   public:
    explicit Expected(Write write) : write_(std::move(write)) {}
    ~Expected() { End(); }
    // Takes what has arrived and no more, and returns when it is written. Without a program nothing arrives.
    void End();

   private:
    friend class CopyReceiver;
    // False: somebody sends already, or it is over.
    bool Begin(int socket);
    void Receive(int socket);

    const Write write_;
    Mutex mutex_{LockRank::kLeaf};
    int socket_ XEC_GUARDED_BY(mutex_) = -1;
    bool over_ XEC_GUARDED_BY(mutex_) = false;
    std::jthread thread_ XEC_GUARDED_BY(mutex_);
  };

  CopyReceiver() = default;
  ~CopyReceiver();
  CopyReceiver(const CopyReceiver&) = delete;
  CopyReceiver& operator=(const CopyReceiver&) = delete;

  // Listens at this path, for programs of this process's user only. Once.
  Status Start(const std::string& path);
  // Whether there is somebody to fetch a copy.
  bool started() const { return listener_ >= 0; }

  // `client`: XRootD's trace identity, by which its program names the copy, together with the path. The
  // upload is expected as long as the answer lives.
  std::shared_ptr<Expected> Expect(const std::string& client, const std::string& path, Write write);

 private:
  void Accept();
  void Greet(int socket);

  int listener_ = -1;
  std::jthread thread_;
  Mutex mutex_{LockRank::kLeaf};
  std::multimap<std::string, std::weak_ptr<Expected>> expected_ XEC_GUARDED_BY(mutex_);
};

}  // namespace xec

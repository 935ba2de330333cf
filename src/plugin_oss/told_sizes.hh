// SPDX-License-Identifier: LGPL-3.0-or-later
// XRootD 5 answers an HTTP GET with two requests to us, a stat and an open, takes the length of the answer
// from the first and the bytes from the second. If the object was replaced by a longer one in between, the
// client would get a part of it as a whole (promise P2). Nothing can mend the length then, so the open is
// refused: the client sees an error and asks again. Clients of root:// take the size from the open.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/mutex.hh"

class XrdOucEnv;

namespace xec {

// True if a request comes from XRootD's HTTP front end, whatever its security plug-ins call the protocol
// (VOMS says "gsi"). A client of root:// may pass for one by chance. `env` may be null.
bool IsHttp(XrdOucEnv* env);

// The last size that each HTTP client was told. A client is XRootD's trace identity, one for each connection;
// on a connection there is one request at a time. Thread-safe.
class ToldSizes {
 public:
  // Clients beyond this many push out the one that was told first.
  explicit ToldSizes(size_t clients_max = 4096) : clients_max_(clients_max) {}

  void Tell(std::string_view client, std::string_view path, uint64_t size);

  // Ends what Tell began. True if the client was told another size of this very path just before. Size 0
  // XRootD takes for unknown, and asks again.
  bool Contradicts(std::string_view client, std::string_view path, uint64_t size);

 private:
  struct Told {
    std::string path;
    uint64_t size;
  };
  const size_t clients_max_;
  Mutex mutex_;
  std::map<std::string, Told, std::less<>> told_ XEC_GUARDED_BY(mutex_);
  std::deque<std::string> order_ XEC_GUARDED_BY(mutex_);  // the keys of told_, oldest first
};

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// What XRootD's HTTP front end was told last for each of its clients. It makes two requests to us of one of a
// client's, the first of them a stat.
//
// Of a GET, XRootD 5 takes the length of the answer from the stat and the bytes from an open. If the object
// was replaced by a longer one in between, the client would get a part of it as a whole (promise P2). Nothing
// can mend the length then, so the open is refused: the client sees an error and asks again. Clients of
// root:// take the size from the open.
//
// A DELETE removes what its stat has found, which so need not be looked up again.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "api/handles.hh"
#include "api/object_info.hh"
#include "base/mutex.hh"
#include "runtime/executor.hh"

class XrdOucEnv;

namespace xec {

// True if a request comes from XRootD's HTTP front end, whatever its security plug-ins call the protocol
// (VOMS says "gsi"). A client of root:// may pass for one by chance. `env` may be null.
bool IsHttp(XrdOucEnv* env);

// This thread removes a name for HTTP, whose DELETE begins with a stat: what knows that for certain, the file
// system in front, says it to the storage below.
class HttpRemovalOfThread {
 public:
  explicit HttpRemovalOfThread(bool is_http);
  ~HttpRemovalOfThread();
  HttpRemovalOfThread(const HttpRemovalOfThread&) = delete;
  HttpRemovalOfThread& operator=(const HttpRemovalOfThread&) = delete;

  static bool Get();
};

// A client is XRootD's trace identity, one for each connection; on a connection there is one request at a
// time. Thread-safe.
class LastStats {
 public:
  // Clients beyond this many push out the one that was told first.
  explicit LastStats(size_t clients_max = 4096) : clients_max_(clients_max) {}

  void Tell(std::string_view client, std::string_view path, const ObjectInfo& info, TimePoint now);

  // Ends what Tell began. True if the client was told another size of this very path just before. Size 0
  // XRootD takes for unknown, and asks again.
  bool Contradicts(std::string_view client, std::string_view path, uint64_t size);

  // Ends what Tell began. The object that the client was told of at this very path, unless
  // that is longer ago than a removal lasts between its look and its mark.
  std::optional<ObjectGone> ObjectJustTold(std::string_view client, std::string_view path, TimePoint now);

 private:
  struct Told {
    std::string path;
    ObjectInfo info;
    TimePoint at;
  };
  // Nullopt: another path.
  std::optional<Told> Take(std::string_view client, std::string_view path);

  const size_t clients_max_;
  Mutex mutex_;
  std::map<std::string, Told, std::less<>> told_ XEC_GUARDED_BY(mutex_);
  std::deque<std::string> order_ XEC_GUARDED_BY(mutex_);  // the keys of told_, oldest first
};

}  // namespace xec

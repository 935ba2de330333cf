// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/stray_file.hh"

#include <algorithm>

#include "server/calls.hh"

namespace xec {

Task<bool> RemoveStrayFile(Executor& executor, DataServerPtr server, std::string directory, Duration each) {
  const auto call = [&] { return CallContext{&executor, executor.Now() + each}; };
  for (size_t end = 0; end != std::string::npos;) {
    end = directory.find('/', end + 1);
    const std::string path = directory.substr(0, end);
    const size_t slash = path.rfind('/');
    const std::string parent = slash == 0 ? "/" : path.substr(0, slash);
    const std::string name = path.substr(slash + 1);
    Result<std::vector<Entry>> listed = co_await List(call(), server, parent);
    if (!listed) co_return false;
    const auto entry =
        std::find_if(listed->begin(), listed->end(), [&](const Entry& e) { return e.name == name; });
    if (entry == listed->end()) co_return false;
    if (entry->directory) continue;
    if (entry->size > 0) co_return false;
    const Status removed = co_await Remove(call(), server, path);
    co_return removed.has_value();
  }
  co_return false;
}

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
#include "assembly/sites/twin_servers.hh"

#include "assembly/servers/server_kinds.hh"
#include "assembly/servers/write_probe.hh"
#include "base/random.hh"
#include "base/text.hh"

namespace xec {
namespace {

constexpr int kTokenDigits = 16;
// Another process that tries at the same time whether the server takes writes removes the file.
constexpr int kTries = 3;

}  // namespace

std::optional<std::pair<size_t, size_t>> FindTwins(std::span<const SiteView> views) {
  for (size_t i = 0; i < views.size(); ++i) {
    const ServerKind& kind = KindOf(views[i].site.address);
    if (!kind.has_several_names || !views[i].identity) continue;
    for (size_t k = 0; k < i; ++k) {
      if (&KindOf(views[k].site.address) == &kind && SameIdentity(views[k].identity, views[i].identity))
        return {{k, i}};
    }
  }
  return std::nullopt;
}

Task<bool> AreOneServer(Executor& executor, DataServerPtr one, DataServerPtr other, Duration each) {
  const auto call = [&] { return CallContext{&executor, executor.Now() + each}; };
  const std::string path(kProbePath);
  const std::string token = Hex(SystemSeed(), kTokenDigits);
  for (int tries = 0; tries < kTries; ++tries) {
    const Status written = co_await CreateFile(call(), one, path, token, false);
    const Result<std::string> read = co_await ReadFile(call(), other, path, kTokenDigits);
    (void)co_await ClearProbe(executor, one, each);
    if (written && read && *read == token) co_return true;
  }
  co_return false;
}

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// list: whole listings of one directory, and when their first entries come.
#include <algorithm>
#include <coroutine>
#include <optional>

#include "load/scenarios.hh"

namespace xec::load {
namespace {

// One listing, which answers in parts. Only on the loop's thread.
struct Listing {
  Listing() = default;
  Listing(const Listing&) = delete;
  Listing& operator=(const Listing&) = delete;

  uint64_t entries = 0;
  std::optional<TimePoint> first_entry;
  std::optional<Reply> last;
  std::coroutine_handle<> waiting;

  void Take(Reply reply, TimePoint came) {
    if (const auto* part = reply.Get<XrdCl::DirectoryList>()) {
      entries += part->GetSize();
      if (part->GetSize() > 0 && !first_entry) first_entry = came;
    }
    if (reply.ok() && reply.status->code == XrdCl::suContinue) return;
    last = std::move(reply);
    if (waiting) waiting.resume();
  }

  bool await_ready() const { return last.has_value(); }
  void await_suspend(std::coroutine_handle<> handle) { waiting = handle; }
  void await_resume() const {}
};

// A handler that may be called many times, as none of server_xrootd/response.hh may.
void Start(Session& session, Connection& connection, const ListOptions& options, Listing& listing) {
  using XrdCl::DirListFlags;
  const ExecutorGatePtr gate = session.loop().gate();
  std::unique_ptr<XrdCl::ResponseHandler> handler(
      XrdCl::ResponseHandler::Wrap([gate, &listing](XrdCl::XRootDStatus* status, XrdCl::AnyObject* body) {
        Reply reply{std::unique_ptr<XrdCl::XRootDStatus>(status), std::unique_ptr<XrdCl::AnyObject>(body),
                    true};
        gate->Post([&listing, reply = std::move(reply), came = gate->Now()]() mutable {
          listing.Take(std::move(reply), came);
        });
      }));
  const DirListFlags::Flags flags =
      options.stat ? DirListFlags::Chunked | DirListFlags::Stat : DirListFlags::Chunked;
  XrdCl::XRootDStatus sent = connection.filesystem().DirList(options.path, flags, handler.get());
  if (sent.IsOK()) {
    // Deletes itself with the last part.
    handler.release();
  } else {
    listing.last = Reply{std::make_unique<XrdCl::XRootDStatus>(std::move(sent)), nullptr, false};
  }
}

struct Times {
  uint64_t entries = 0;
  std::vector<double> first_entry_s;
  std::vector<double> all_s;
};

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return Quantile(values, 0.5);
}

Task<void> ListClient(Session& session, const ListOptions& options, Times& times) {
  for (uint64_t done = 0; done < options.count; ++done) {
    Listing listing;
    const TimePoint start = session.loop().Now();
    Start(session, session.client(0), options, listing);
    co_await listing;
    if (!session.Count(start, 0, Check(*listing.last, "list", options.path))) co_return;
    const TimePoint end = session.loop().Now();
    times.entries = listing.entries;
    times.first_entry_s.push_back(Seconds(listing.first_entry.value_or(end) - start));
    times.all_s.push_back(Seconds(end - start));
  }
}

}  // namespace

nlohmann::ordered_json RunList(Session& session, const ListOptions& options) {
  Times times;
  if (session.ConnectAll()) {
    session.MeasureClients([&](int) { return ListClient(session, options, times); });
  }
  nlohmann::ordered_json report = session.Report();
  report["entries"] = times.entries;
  report["first_entry_s"] = Median(times.first_entry_s);
  report["all_s"] = Median(times.all_s);
  return report;
}

}  // namespace xec::load

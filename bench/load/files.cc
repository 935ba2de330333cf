// SPDX-License-Identifier: LGPL-3.0-or-later
// stream, reread and copy: whole files, by many clients at a time.
#include "load/scenarios.hh"
#include "load/transfer.hh"

namespace xec::load {
namespace {

std::string FileIn(const std::string& folder, uint64_t number) {
  return PathIn(folder, fmt::format("s{:04}", number));
}

uint64_t SizeOf(const std::vector<uint64_t>& sizes, uint64_t number) { return sizes[number % sizes.size()]; }

// One transfer, counted. `moved` are its bytes.
Task<bool> CountTransfer(Session& session, Connection& connection, Transfer transfer,
                         const TransferOptions& options) {
  const TimePoint start = session.loop().Now();
  const uint64_t bytes = transfer.size;
  const Status status = co_await RunTransfer(session, connection, std::move(transfer), options);
  co_return session.Count(start, bytes, status);
}

Task<void> StreamClient(Session& session, const StreamOptions& options, int number) {
  const auto index = static_cast<uint64_t>(number);
  Transfer transfer;
  (options.write ? transfer.target : transfer.source) = FileIn(options.folder, index);
  transfer.size = SizeOf(options.sizes, index);
  co_await CountTransfer(session, session.client(number), std::move(transfer), options.transfer);
}

Task<void> RereadClient(Session& session, const RereadOptions& options, int number) {
  for (uint64_t i = 0; i < options.rounds * options.files; ++i) {
    const uint64_t file = i % options.files;
    Transfer transfer{FileIn(options.folder, file), "", SizeOf(options.sizes, file)};
    const bool ok =
        co_await CountTransfer(session, session.client(number), std::move(transfer), options.transfer);
    if (!ok) co_return;
  }
}

Task<void> CopyClient(Session& session, const CopyOptions& options, int number) {
  Connection& connection = session.client(number);
  // Two clients choose differently, and each the same whatever the others do.
  Random random(Mix64(options.seed) + static_cast<uint64_t>(number));
  const std::vector<uint64_t> chosen = ChooseNumbers(options.each, options.files, random);
  for (size_t i = 0; i < chosen.size(); ++i) {
    Transfer transfer{FileIn(options.folder, chosen[i]),
                      PathIn(options.out, fmt::format("{}-{:03}", connection.name(), i)),
                      SizeOf(options.sizes, chosen[i])};
    const bool ok = co_await CountTransfer(session, connection, std::move(transfer), options.transfer);
    if (!ok) co_return;
  }
}

template <typename Options>
nlohmann::ordered_json RunFiles(Session& session, const Options& options,
                                Task<void> (*client)(Session&, const Options&, int)) {
  if (session.ConnectAll()) {
    session.MeasureClients([&](int number) { return client(session, options, number); });
  }
  return session.Report();
}

}  // namespace

nlohmann::ordered_json RunStream(Session& session, const StreamOptions& options) {
  return RunFiles(session, options, StreamClient);
}

nlohmann::ordered_json RunReread(Session& session, const RereadOptions& options) {
  return RunFiles(session, options, RereadClient);
}

nlohmann::ordered_json RunCopy(Session& session, const CopyOptions& options) {
  return RunFiles(session, options, CopyClient);
}

}  // namespace xec::load

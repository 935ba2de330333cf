// SPDX-License-Identifier: LGPL-3.0-or-later
// A load generator for small objects: N clients, each with a connection of its own, put, get or stat whole
// objects one after another for some seconds. Starting one xrdcp for each object would measure how fast
// processes start. Prints one line of JSON; exits with 1 when any operation failed.
//
//   xec_load --url root://localhost:1094 --folder /load --operation put --clients 8 --seconds 5
//
// What put prints as objects_per_client is what get and stat want as --objects. Every byte that get receives
// is compared with what put wrote.
#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "XrdCl/XrdClFile.hh"
#include "XrdCl/XrdClFileSystem.hh"

namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::string url;
  std::string folder = "/load";
  std::string operation = "put";
  int clients = 1;
  double seconds = 5;
  uint32_t size_bytes = 27'000;
  int objects = 0;  // of each client; get and stat go through them again and again
};

struct Failure {
  std::string text;
};

// One client: a thread, and a connection of its own, since XrdCl has one for each user name and server.
class Client {
 public:
  Client(const Options& options, const std::vector<char>& content, int number)
      : options_(options),
        content_(content),
        name_(fmt::format("c{:03}", number)),
        base_(WithUser(options.url, name_)),
        filesystem_(XrdCl::URL(base_)),
        received_(options.size_bytes) {}

  // Opens the connection.
  void Connect() { Check(Ask("/").first, "connect to", options_.url); }

  // Runs operations until the time is over, at least one.
  void Run(Clock::time_point end) {
    for (int number = 0; number == 0 || Clock::now() < end; ++number) {
      const auto start = Clock::now();
      if (options_.operation == "put") {
        Put(Path(number));
      } else if (options_.operation == "get") {
        Get(Path(number % options_.objects));
      } else {
        Stat(Path(number % options_.objects));
      }
      latencies_.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    }
  }

  const std::vector<double>& latencies() const { return latencies_; }

 private:
  static std::string WithUser(const std::string& url, const std::string& user) {
    const size_t host = url.find("://") + 3;
    return url.substr(0, host) + user + "@" + url.substr(host);
  }

  // Different last components, as files of different jobs have.
  std::string Path(int number) const { return fmt::format("{}/{}-{:06}", options_.folder, name_, number); }

  static void Check(const XrdCl::XRootDStatus& status, const char* verb, const std::string& what) {
    if (!status.IsOK()) throw Failure{fmt::format("{} {}: {}", verb, what, status.ToString())};
  }

  // As xrdcp without -f: a new name, its size announced.
  void Put(const std::string& path) {
    XrdCl::File file;
    const std::string url = fmt::format("{}/{}?oss.asize={}", base_, path, content_.size());
    Check(file.Open(url, XrdCl::OpenFlags::New | XrdCl::OpenFlags::Write), "create", path);
    Check(file.Write(0, options_.size_bytes, content_.data()), "write", path);
    Check(file.Close(), "close", path);
  }

  void Get(const std::string& path) {
    XrdCl::File file;
    Check(file.Open(base_ + "/" + path, XrdCl::OpenFlags::Read), "open", path);
    uint32_t got = 0;
    Check(file.Read(0, options_.size_bytes, received_.data(), got), "read", path);
    Check(file.Close(), "close", path);
    if (got != content_.size() || received_ != content_) throw Failure{fmt::format("{}: wrong bytes", path)};
  }

  void Stat(const std::string& path) {
    const auto [status, info] = Ask(path);
    Check(status, "stat", path);
    if (info->GetSize() != content_.size()) throw Failure{fmt::format("{}: wrong size", path)};
  }

  std::pair<XrdCl::XRootDStatus, std::unique_ptr<XrdCl::StatInfo>> Ask(const std::string& path) {
    XrdCl::StatInfo* info = nullptr;
    XrdCl::XRootDStatus status = filesystem_.Stat(path, info);
    return {std::move(status), std::unique_ptr<XrdCl::StatInfo>(info)};
  }

  const Options& options_;
  const std::vector<char>& content_;
  const std::string name_;
  const std::string base_;
  XrdCl::FileSystem filesystem_;
  std::vector<char> received_;
  std::vector<double> latencies_;  // milliseconds, one for each operation
};

struct Outcome {
  std::vector<double> latencies;
  int per_client_min = 0;
  double seconds = 0;
  std::string failure;  // the first one
};

Outcome RunAll(const Options& options, const std::vector<char>& content) {
  Outcome outcome;
  std::mutex mutex;
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < options.clients; ++i) clients.push_back(std::make_unique<Client>(options, content, i));
  Clock::time_point start;
  std::barrier connected(options.clients, [&]() noexcept { start = Clock::now(); });
  {
    std::vector<std::jthread> threads;
    for (const auto& client : clients) {
      threads.emplace_back([&, one = client.get()] {
        const auto guard = [&](auto step) {
          try {
            step();
          } catch (const Failure& failure) {
            std::lock_guard lock(mutex);
            if (outcome.failure.empty()) outcome.failure = failure.text;
          }
        };
        guard([&] { one->Connect(); });
        connected.arrive_and_wait();
        guard([&] {
          one->Run(start + std::chrono::duration_cast<Clock::duration>(
                               std::chrono::duration<double>(options.seconds)));
        });
      });
    }
  }
  outcome.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  outcome.per_client_min = static_cast<int>(clients.front()->latencies().size());
  for (const auto& client : clients) {
    const std::vector<double>& part = client->latencies();
    outcome.per_client_min = std::min(outcome.per_client_min, static_cast<int>(part.size()));
    outcome.latencies.insert(outcome.latencies.end(), part.begin(), part.end());
  }
  std::sort(outcome.latencies.begin(), outcome.latencies.end());
  return outcome;
}

double CpuSeconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::string Json(const Outcome& outcome) {
  const size_t count = outcome.latencies.size();
  const auto quantile = [&](double q) {
    return count == 0 ? 0 : outcome.latencies[static_cast<size_t>(q * static_cast<double>(count - 1))];
  };
  return fmt::format(
      R"({{"operations": {}, "seconds": {:.4f}, "operations_per_second": {:.2f}, "objects_per_client": {}, )"
      R"("median_ms": {:.3f}, "p99_ms": {:.3f}, "cpu_seconds": {:.3f}}})",
      count, outcome.seconds, static_cast<double>(count) / outcome.seconds, outcome.per_client_min,
      quantile(0.5), quantile(0.99), CpuSeconds());
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Puts, gets or stats small objects with many clients, each with a connection of its own");
  app.add_option("--url", options.url, "root://HOST:PORT")->required();
  app.add_option("--folder", options.folder, "an existing directory of the server");
  app.add_option("--operation", options.operation)->check(CLI::IsMember({"put", "get", "stat"}));
  app.add_option("--clients", options.clients)->check(CLI::Range(1, 1000));
  app.add_option("--seconds", options.seconds, "clients start no operation after this time");
  app.add_option("--size", options.size_bytes, "bytes of an object")->check(CLI::Range(1u, 1u << 30));
  app.add_option("--objects", options.objects, "objects of each client that put has made");
  CLI11_PARSE(app, argc, argv);
  if (options.operation != "put" && options.objects < 1) {
    fmt::print(stderr, "xec_load: {} needs --objects\n", options.operation);
    return 2;
  }
  std::vector<char> content(options.size_bytes);
  uint64_t state = 1;
  for (char& byte : content) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    byte = static_cast<char>(state >> 56);
  }
  const Outcome outcome = RunAll(options, content);
  if (!outcome.failure.empty()) {
    fmt::print(stderr, "xec_load: {}\n", outcome.failure);
    return 1;
  }
  fmt::print("{}\n", Json(outcome));
  return 0;
}

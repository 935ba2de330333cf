// SPDX-License-Identifier: LGPL-3.0-or-later
#include "load/command_line.hh"

#include <algorithm>
#include <sstream>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/units.hh"
#include "load/pattern.hh"

namespace xec::load {
namespace {

constexpr uint64_t kFilesMax = 10'000;
// What stock servers accept in one vector read: so many pieces, of so many bytes each.
constexpr uint64_t kVectorPiecesMax = 1024;
constexpr uint64_t kVectorPieceBytesMax = 2 * kMiB - 16;

class SizeText : public CLI::Validator {
 public:
  SizeText() : Validator("SIZE") {
    func_ = [](std::string& text) -> std::string {
      const Result<uint64_t> size = ParseSize(text);
      if (!size) return size.error().message;
      text = std::to_string(*size);
      return {};
    };
  }
};

// The subcommands, which write into `command`.
class Grammar {
 public:
  explicit Grammar(CLI::App& app) {
    app.require_subcommand(1);
    AddSmall(app);
    AddStream(app);
    AddReread(app);
    AddCopy(app);
    AddIngest(app);
    AddSparse(app);
    AddVector(app);
    AddList(app);
  }

  // Of the subcommand that was called.
  Command Take(const CLI::App& app) {
    const std::string name = app.get_subcommands().front()->get_name();
    if (name == "small") return {common_, small_};
    if (name == "stream") return {common_, stream_};
    if (name == "reread") return {common_, reread_};
    if (name == "copy") return {common_, copy_};
    if (name == "ingest") return {common_, ingest_};
    if (name == "sparse") return {common_, sparse_};
    if (name == "vector") return {common_, vector_};
    return {common_, list_};
  }

 private:
  CLI::App& Add(CLI::App& app, const std::string& name, const std::string& what) {
    CLI::App& scenario = *app.add_subcommand(name, what);
    scenario.add_option("--url", common_.url, "root://HOST:PORT")
        ->required()
        ->check([](const std::string& url) {
          const bool root =
              url.starts_with("root://") && url.find('/', 7) == std::string::npos && url.size() > 7;
          return root ? std::string() : fmt::format("'{}' is not root://HOST:PORT", url);
        });
    return scenario;
  }

  void AddClients(CLI::App& app) {
    app.add_option("--clients", common_.clients, "each with a connection of its own")
        ->check(CLI::Range(1, kClientsMax))
        ->capture_default_str();
  }

  void AddCompare(CLI::App& app) {
    app.add_flag("!--no-compare", common_.compare, "do not look at the bytes that were read");
  }

  static CLI::Option* AddSize(CLI::App& app, const std::string& name, uint64_t& bytes,
                              const std::string& what) {
    return app.add_option(name, bytes, what)->transform(SizeText())->capture_default_str();
  }

  static void AddSizes(CLI::App& app, std::vector<uint64_t>& sizes) {
    app.add_option("--sizes", sizes, "of file number i: the (i % n)-th")
        ->required()
        ->delimiter(',')
        ->transform(SizeText());
  }

  static CLI::Option* AddPath(CLI::App& app, const std::string& name, std::string& path,
                              const std::string& what) {
    return app.add_option(name, path, what)->required()->check([](const std::string& text) {
      const bool plain = text.starts_with("/") && text.find("//") == std::string::npos &&
                         (text == "/" || !text.ends_with("/"));
      return plain ? std::string() : fmt::format("'{}' is not a path such as /a/b", text);
    });
  }

  static void AddNumber(CLI::App& app, const std::string& name, uint64_t& number, uint64_t most,
                        const std::string& what) {
    app.add_option(name, number, what)->check(CLI::Range(uint64_t{1}, most))->capture_default_str();
  }

  static CLI::Option* AddSeconds(CLI::App& app, const std::string& name, double& seconds,
                                 const std::string& what) {
    return app.add_option(name, seconds, what)->check(CLI::Range(0.0, 1e6))->capture_default_str();
  }

  static void AddTransfer(CLI::App& app, TransferOptions& options) {
    AddNumber(app, "--window", options.window, 64, "requests of a file in flight");
    AddSize(app, "--request", options.request_bytes, "bytes of a request")
        ->check(CLI::Range(uint64_t{4096}, kPieceBytesMax));
    app.add_flag("!--no-page-reads", options.page_reads, "reads without page checksums");
    app.add_flag("!--no-page-writes", options.page_writes, "writes without page checksums");
    app.add_option("--rate", options.rate_mib_s, "MiB/s of each client at most; 0: no limit")
        ->check(CLI::NonNegativeNumber);
  }

  void AddSmall(CLI::App& app) {
    CLI::App& scenario = Add(app, "small", "whole small objects, one after another");
    using Operation = SmallOptions::Operation;
    const std::map<std::string, Operation> operations = {{"put", Operation::kPut},
                                                         {"get", Operation::kGet},
                                                         {"stat", Operation::kStat},
                                                         {"delete", Operation::kDelete}};
    scenario.add_option("--operation", small_.operation, "put, get, stat or delete")
        ->required()
        ->transform(CLI::CheckedTransformer(operations));
    AddClients(scenario);
    AddCompare(scenario);
    CLI::Option* seconds =
        AddSeconds(scenario, "--seconds", small_.seconds, "clients start no operation after this time");
    scenario.add_option("--count", small_.count, "operations of each client, instead of --seconds")
        ->check(CLI::PositiveNumber)
        ->excludes(seconds);
    AddSize(scenario, "--size", small_.size, "bytes of an object")
        ->check(CLI::Range(uint64_t{1}, kPieceBytesMax));
    AddPath(scenario, "--folder", small_.folder, "an existing directory of the server");
    scenario.add_option("--objects", small_.objects, "of each client, that put has made");
  }

  void AddStream(CLI::App& app) {
    CLI::App& scenario = Add(app, "stream", "client i writes or reads file FOLDER/sIIII");
    scenario.add_option("--operation", stream_.write, "write or read")
        ->required()
        ->transform(CLI::CheckedTransformer(std::map<std::string, bool>{{"write", true}, {"read", false}}));
    AddClients(scenario);
    AddCompare(scenario);
    AddSizes(scenario, stream_.sizes);
    AddPath(scenario, "--folder", stream_.folder, "an existing directory of the server");
    AddTransfer(scenario, stream_.transfer);
  }

  void AddReread(CLI::App& app) {
    CLI::App& scenario = Add(app, "reread", "every client reads the same files again and again");
    AddClients(scenario);
    AddCompare(scenario);
    AddSizes(scenario, reread_.sizes);
    AddNumber(scenario, "--files", reread_.files, kFilesMax, "made by stream --operation write");
    AddNumber(scenario, "--rounds", reread_.rounds, 1'000'000, "how often each client reads them all");
    AddPath(scenario, "--folder", reread_.folder, "where the files are");
    AddTransfer(scenario, reread_.transfer);
  }

  void AddCopy(CLI::App& app) {
    CLI::App& scenario = Add(app, "copy", "every client picks files, and writes each back while it reads it");
    AddClients(scenario);
    AddCompare(scenario);
    AddSizes(scenario, copy_.sizes);
    AddNumber(scenario, "--files", copy_.files, kFilesMax, "made by stream --operation write");
    AddNumber(scenario, "--each", copy_.each, kFilesMax, "files that a client picks");
    scenario.add_option("--seed", copy_.seed, "of the choice")->capture_default_str();
    AddPath(scenario, "--folder", copy_.folder, "where the files are");
    AddPath(scenario, "--out", copy_.out, "an existing directory for OUT/cNNN-EEE");
    AddTransfer(scenario, copy_.transfer);
  }

  void AddIngest(CLI::App& app) {
    CLI::App& scenario =
        Add(app, "ingest", "a new file every --interval seconds, whatever the earlier ones do");
    AddSize(scenario, "--size", ingest_.size, "bytes of a file")->required();
    scenario.add_option("--interval", ingest_.interval_s, "seconds from start to start")
        ->required()
        ->check(CLI::Range(1e-4, 1e6));
    AddSeconds(scenario, "--seconds", ingest_.seconds, "no file is started after this time")->required();
    AddPath(scenario, "--folder", ingest_.folder, "an existing directory for FOLDER/iIIII");
    AddTransfer(scenario, ingest_.transfer);
  }

  void AddSparse(CLI::App& app) {
    CLI::App& scenario = Add(app, "sparse", "reads of --piece bytes anywhere in one object");
    AddClients(scenario);
    AddCompare(scenario);
    AddSize(scenario, "--size", sparse_.size, "bytes of the object")->required();
    AddSize(scenario, "--piece", sparse_.piece, "bytes of a read")
        ->required()
        ->check(CLI::Range(uint64_t{1}, kPieceBytesMax));
    AddSeconds(scenario, "--seconds", sparse_.seconds, "clients start no read after this time");
    scenario.add_option("--seed", sparse_.seed, "of the offsets")->capture_default_str();
    AddPath(scenario, "--path", sparse_.path, "the object, made by stream --operation write");
  }

  void AddVector(CLI::App& app) {
    CLI::App& scenario = Add(app, "vector", "vector reads of many pieces of one object");
    AddClients(scenario);
    AddCompare(scenario);
    AddSize(scenario, "--size", vector_.size, "bytes of the object")->required();
    AddNumber(scenario, "--pieces", vector_.pieces.count, kVectorPiecesMax, "of one vector read");
    const CLI::Range piece_bytes(uint64_t{1}, kVectorPieceBytesMax);
    AddSize(scenario, "--min", vector_.pieces.length_min, "bytes of a piece at least")->check(piece_bytes);
    AddSize(scenario, "--max", vector_.pieces.length_max, "bytes of a piece at most")->check(piece_bytes);
    AddSize(scenario, "--span", vector_.pieces.span_bytes, "the pieces lie in so many bytes from the start")
        ->required();
    AddNumber(scenario, "--count", vector_.count, 1'000'000, "vector reads of each client");
    scenario.add_option("--seed", vector_.seed, "of the pieces")->capture_default_str();
    AddPath(scenario, "--path", vector_.path, "the object, made by stream --operation write");
  }

  void AddList(CLI::App& app) {
    CLI::App& scenario = Add(app, "list", "whole listings of one directory");
    AddPath(scenario, "--path", list_.path, "the directory");
    scenario.add_flag("--stat", list_.stat, "with sizes");
    AddNumber(scenario, "--count", list_.count, 1'000'000, "listings, one after another");
  }

  CommonOptions common_;
  SmallOptions small_;
  StreamOptions stream_;
  RereadOptions reread_;
  CopyOptions copy_;
  IngestOptions ingest_;
  SparseOptions sparse_;
  VectorOptions vector_;
  ListOptions list_;
};

// What is wrong with values that are right one by one; empty when nothing is.
struct Judge {
  std::string operator()(const SmallOptions& o) const {
    const bool needs_objects = o.operation != SmallOptions::Operation::kPut;
    return needs_objects && o.objects == 0
               ? "get, stat and delete need --objects: what put said as objects_per_client"
               : "";
  }
  std::string operator()(const StreamOptions&) const { return ""; }
  std::string operator()(const RereadOptions&) const { return ""; }
  std::string operator()(const CopyOptions& o) const {
    return o.each > o.files ? fmt::format("--each {} is more than --files {}", o.each, o.files) : "";
  }
  std::string operator()(const IngestOptions& o) const {
    return o.seconds / o.interval_s > kFilesMax
               ? fmt::format("{} s with a file every {} s are more than {} files", o.seconds, o.interval_s,
                             kFilesMax)
               : "";
  }
  std::string operator()(const SparseOptions& o) const {
    return o.piece > o.size ? fmt::format("--piece {} is more than --size {}", o.piece, o.size) : "";
  }
  std::string operator()(const VectorOptions& o) const {
    if (o.pieces.length_min > o.pieces.length_max) return "--min is more than --max";
    if (o.pieces.span_bytes > o.size) return "--span is more than --size";
    if (o.pieces.length_max > o.pieces.span_bytes / o.pieces.count)
      return fmt::format("{} pieces of {} bytes do not fit into --span {}", o.pieces.count,
                         o.pieces.length_max, o.pieces.span_bytes);
    return "";
  }
  std::string operator()(const ListOptions&) const { return ""; }
};

// Bytes of buffers of one client.
struct CountBuffers {
  static uint64_t OfWindow(const TransferOptions& transfer, const std::vector<uint64_t>& sizes) {
    const uint64_t largest = *std::max_element(sizes.begin(), sizes.end());
    const uint64_t request = std::min(transfer.request_bytes, largest);
    return std::min(transfer.window * request, largest + request);
  }
  uint64_t operator()(const SmallOptions& o) const {
    return o.operation == SmallOptions::Operation::kGet ? o.size : 0;
  }
  // What is written comes from the pattern.
  uint64_t operator()(const StreamOptions& o) const { return o.write ? 0 : OfWindow(o.transfer, o.sizes); }
  uint64_t operator()(const RereadOptions& o) const { return OfWindow(o.transfer, o.sizes); }
  uint64_t operator()(const CopyOptions& o) const { return 2 * OfWindow(o.transfer, o.sizes); }
  uint64_t operator()(const IngestOptions&) const { return 0; }
  uint64_t operator()(const SparseOptions& o) const { return o.piece; }
  uint64_t operator()(const VectorOptions& o) const { return o.pieces.count * o.pieces.length_max; }
  uint64_t operator()(const ListOptions&) const { return 0; }
};

std::string Objection(const Command& command) {
  const std::string wrong = std::visit(Judge{}, command.scenario);
  if (!wrong.empty()) return wrong;
  const uint64_t needed = BufferBytes(command);
  const uint64_t memory =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE));
  if (needed > memory / 2) {
    return fmt::format(
        "the buffers of {} clients need {}, more than half of this machine's {}: take fewer clients, or a "
        "smaller --window or --request",
        command.common.clients, FormatSize(needed), FormatSize(memory));
  }
  return "";
}

// CLI11 only says that a subcommand is required.
std::string UnknownScenario(const CLI::App& app, const std::vector<std::string>& words) {
  const std::vector<const CLI::App*> scenarios = app.get_subcommands([](const CLI::App*) { return true; });
  std::string names;
  for (const CLI::App* scenario : scenarios) {
    if (!words.empty() && (words[0] == scenario->get_name() || words[0].starts_with("-"))) return "";
    names += (names.empty() ? "" : ", ") + scenario->get_name();
  }
  return fmt::format("{}: say one of {}", words.empty() ? "no scenario" : "there is no scenario " + words[0],
                     names);
}

ParsedCommand Refuse(const std::string& why) { return {std::nullopt, 2, fmt::format("xec_load: {}\n", why)}; }

}  // namespace

uint64_t BufferBytes(const Command& command) {
  return static_cast<uint64_t>(command.common.clients) * std::visit(CountBuffers{}, command.scenario);
}

ParsedCommand ParseCommandLine(std::vector<std::string> words) {
  CLI::App app(
      "Makes load on one server by up to 1,000 clients in one process and prints what it measured as JSON",
      "xec_load");
  Grammar grammar(app);
  const std::string unknown = UnknownScenario(app, words);
  if (!unknown.empty()) return Refuse(unknown);
  // CLI11 takes the words from the back.
  std::reverse(words.begin(), words.end());
  try {
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    std::ostringstream out, err;
    const int code = app.exit(error, out, err);
    return {std::nullopt, code == 0 ? 0 : 2, code == 0 ? out.str() : err.str()};
  }
  Command command = grammar.Take(app);
  const std::string objection = Objection(command);
  if (!objection.empty()) return Refuse(objection);
  return {std::move(command), 0, ""};
}

}  // namespace xec::load

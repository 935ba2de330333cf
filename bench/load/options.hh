// SPDX-License-Identifier: LGPL-3.0-or-later
// What a user may ask for; README.md has the table of scenarios. Sizes are in bytes unless the name says
// another unit.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "load/pieces.hh"

namespace xec::load {

constexpr int kClientsMax = 1000;

struct CommonOptions {
  std::string url;  // root://HOST:PORT
  int clients = 1;
  bool compare = true;
};

// How a whole file is moved: as xrdcp does it.
struct TransferOptions {
  uint64_t window = 4;  // requests in flight
  uint64_t request_bytes = uint64_t{8} << 20;
  // With page checksums.
  bool page_reads = true;
  bool page_writes = true;
  double rate_mib_s = 0;  // of each client; 0: as fast as it goes
};

struct SmallOptions {
  enum class Operation { kPut, kGet, kStat, kDelete };
  Operation operation = Operation::kPut;
  double seconds = 5;
  uint64_t count = 0;  // operations of each client, instead of the seconds
  uint64_t size = 27'000;
  std::string folder;
  uint64_t objects = 0;  // of each client, that put has made
};

struct StreamOptions {
  bool write = false;
  std::vector<uint64_t> sizes;
  std::string folder;
  TransferOptions transfer;
};

struct RereadOptions {
  std::vector<uint64_t> sizes;
  uint64_t files = 1;
  uint64_t rounds = 1;
  std::string folder;
  TransferOptions transfer;
};

struct CopyOptions {
  std::vector<uint64_t> sizes;
  uint64_t files = 1;
  uint64_t each = 1;
  uint64_t seed = 1;
  std::string folder;
  std::string out;
  TransferOptions transfer;
};

struct IngestOptions {
  uint64_t size = 0;
  double interval_s = 1;
  double seconds = 0;
  std::string folder;
  TransferOptions transfer;
};

struct SparseOptions {
  uint64_t size = 0;
  uint64_t piece = 0;
  double seconds = 5;
  uint64_t seed = 1;
  std::string path;
};

struct VectorOptions {
  uint64_t size = 0;
  PieceOptions pieces;
  uint64_t count = 1;
  uint64_t seed = 1;
  std::string path;
};

struct ListOptions {
  std::string path;
  bool stat = false;
  uint64_t count = 1;
};

using ScenarioOptions = std::variant<SmallOptions, StreamOptions, RereadOptions, CopyOptions, IngestOptions,
                                     SparseOptions, VectorOptions, ListOptions>;

struct Command {
  CommonOptions common;
  ScenarioOptions scenario;
};

}  // namespace xec::load

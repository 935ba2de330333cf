// SPDX-License-Identifier: LGPL-3.0-or-later
#include "codec/reed_solomon.hh"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include <isa-l.h>

namespace xec {
namespace {

// ISA-L expands one coefficient to 32 bytes.
constexpr size_t kTableBytes = 32;
// Verify recomputes parity in pieces that stay in the second-level cache.
constexpr size_t kVerifyBlock = 32 * kKiB;

// ISA-L takes non-const pointers everywhere and writes only through the output ones.
uint8_t* Bytes(const std::byte* bytes) {
  return reinterpret_cast<uint8_t*>(const_cast<std::byte*>(bytes));  // NOLINT
}

void Apply(const std::vector<uint8_t>& tables, std::span<uint8_t*> inputs, std::span<uint8_t*> outputs,
           size_t length) {
  ec_encode_data(static_cast<int>(length), static_cast<int>(inputs.size()), static_cast<int>(outputs.size()),
                 const_cast<uint8_t*>(tables.data()), inputs.data(), outputs.data());  // NOLINT
}

std::vector<uint8_t> ExpandTables(uint32_t k, uint32_t rows, const uint8_t* coefficients) {
  std::vector<uint8_t> tables(kTableBytes * k * rows);
  ec_init_tables(static_cast<int>(k), static_cast<int>(rows), const_cast<uint8_t*>(coefficients),  // NOLINT
                 tables.data());
  return tables;
}

std::vector<uint8_t> CodeMatrix(uint32_t k, uint32_t m) {
  std::vector<uint8_t> matrix(size_t{k + m} * k, 1);
  if (k > 1) gf_gen_cauchy1_matrix(matrix.data(), static_cast<int>(k + m), static_cast<int>(k));
  return matrix;
}

void CheckLength(size_t length) { XEC_CHECK(length <= kChunkSizeMax, "chunk of {} bytes", length); }

}  // namespace

struct ReedSolomon::DecodeTable {
  std::vector<uint8_t> tables;  // one row of k coefficients for each wanted chunk, in order, expanded
};

ReedSolomon::ReedSolomon(const Geometry& geometry) : k_(geometry.data_chunks), m_(geometry.parity_chunks) {
  const Status valid = Geometry{k_, m_, kChunkSizeDefault}.Validate();
  XEC_CHECK(valid.has_value(), "{}", valid.error().message);
  matrix_ = CodeMatrix(k_, m_);
  encode_tables_ = ExpandTables(k_, m_, matrix_.data() + size_t{k_} * k_);
}

void ReedSolomon::Encode(std::span<const std::byte* const> data, std::span<std::byte* const> parity,
                         size_t length) const {
  XEC_CHECK(data.size() == k_ && parity.size() == m_, "{} data and {} parity chunks for {}+{}", data.size(),
            parity.size(), k_, m_);
  CheckLength(length);
  if (length == 0) return;
  std::array<uint8_t*, kChunksMax> chunks;
  std::transform(data.begin(), data.end(), chunks.begin(), Bytes);
  std::transform(parity.begin(), parity.end(), chunks.begin() + k_, Bytes);
  const std::span<uint8_t*> all(chunks);
  Apply(encode_tables_, all.first(k_), all.subspan(k_, m_), length);
}

ChunkMask ReedSolomon::Verify(std::span<const std::byte* const> chunks, size_t length) const {
  XEC_CHECK(chunks.size() == k_ + m_, "{} chunks for {}+{}", chunks.size(), k_, m_);
  CheckLength(length);
  const size_t block = std::min(length, kVerifyBlock);
  std::vector<std::byte> scratch(block * m_);
  std::array<uint8_t*, kChunksMax> inputs;
  std::array<uint8_t*, kChunksMax> outputs;
  for (uint32_t i = 0; i < m_; ++i) outputs[i] = Bytes(scratch.data() + i * block);
  ChunkMask different = 0;
  for (size_t start = 0; start < length; start += block) {
    const size_t bytes = std::min(block, length - start);
    for (uint32_t j = 0; j < k_; ++j) inputs[j] = Bytes(chunks[j] + start);
    Apply(encode_tables_, std::span(inputs).first(k_), std::span(outputs).first(m_), bytes);
    for (uint32_t i = 0; i < m_; ++i) {
      if (std::memcmp(outputs[i], chunks[k_ + i] + start, bytes) != 0) different |= ChunkBit(k_ + i);
    }
  }
  return different;
}

Status ReedSolomon::Reconstruct(std::span<std::byte* const> chunks, ChunkMask present, ChunkMask wanted,
                                size_t length) const {
  const uint32_t n = k_ + m_;
  XEC_CHECK(chunks.size() == n, "{} chunks for {}+{}", chunks.size(), k_, m_);
  XEC_CHECK(((present | wanted) & ~FirstChunks(n)) == 0, "chunks {:#x}, {:#x} of {}+{}", present, wanted, k_,
            m_);
  XEC_CHECK((present & wanted) == 0, "chunks {:#x} are both present and wanted", present & wanted);
  CheckLength(length);
  const auto present_count = static_cast<uint32_t>(std::popcount(present));
  if (present_count < k_) {
    return Fail(Code::kDataLoss, "{} of {} chunks are present, {} are needed", present_count, n, k_);
  }
  if (wanted == 0 || length == 0) return OkStatus();

  std::array<uint8_t*, kChunksMax> inputs;
  std::array<uint8_t*, kChunksMax> outputs;
  ChunkMask sources = 0;
  uint32_t input_count = 0;
  uint32_t output_count = 0;
  for (uint32_t i = 0; i < n; ++i) {
    const bool is_source = (present & ChunkBit(i)) != 0 && input_count < k_;
    const bool is_wanted = (wanted & ChunkBit(i)) != 0;
    if (!is_source && !is_wanted) continue;
    XEC_CHECK(chunks[i] != nullptr, "chunk {} has no buffer", i);
    if (is_source) {
      sources |= ChunkBit(i);
      inputs[input_count++] = Bytes(chunks[i]);
    } else {
      outputs[output_count++] = Bytes(chunks[i]);
    }
  }
  const TablePtr table = FindTable(sources, wanted);
  Apply(table->tables, std::span(inputs).first(input_count), std::span(outputs).first(output_count), length);
  return OkStatus();
}

ReedSolomon::CacheStatistics ReedSolomon::DecodeCache() const {
  const MutexLock lock(mutex_);
  return {.tables = index_.size(), .tables_made = tables_made_};
}

ReedSolomon::TablePtr ReedSolomon::FindTable(ChunkMask sources, ChunkMask wanted) const {
  const uint64_t key = uint64_t{sources} << 32 | wanted;
  {
    const MutexLock lock(mutex_);
    if (const auto found = index_.find(key); found != index_.end()) {
      recent_.splice(recent_.begin(), recent_, found->second);
      return found->second->second;
    }
  }
  // Made outside the lock, so that a new pattern does not hold up the threads whose tables are there.
  TablePtr table = MakeTable(sources, wanted);
  const MutexLock lock(mutex_);
  ++tables_made_;
  if (index_.contains(key)) return table;
  recent_.emplace_front(key, table);
  index_[key] = recent_.begin();
  if (index_.size() > kDecodeTablesMax) {
    index_.erase(recent_.back().first);
    recent_.pop_back();
  }
  return table;
}

// With S the k rows of the matrix that made the sources, data = S^-1 * sources, and any chunk is its own row
// of the matrix times the data. For a data chunk that row is a unit vector.
ReedSolomon::TablePtr ReedSolomon::MakeTable(ChunkMask sources, ChunkMask wanted) const {
  const size_t k = k_;
  std::vector<uint8_t> source_rows;
  source_rows.reserve(k * k);
  for (uint32_t i = 0; i < k_ + m_; ++i) {
    if ((sources & ChunkBit(i)) == 0) continue;
    const auto row = matrix_.begin() + static_cast<ptrdiff_t>(i * k);
    source_rows.insert(source_rows.end(), row, row + k_);
  }
  std::vector<uint8_t> inverse(k * k);
  const int inverted = gf_invert_matrix(source_rows.data(), inverse.data(), static_cast<int>(k));
  XEC_CHECK(inverted == 0, "rows {:#x} of {}+{} are singular", sources, k_, m_);

  std::vector<uint8_t> rows;
  for (uint32_t i = 0; i < k_ + m_; ++i) {
    if ((wanted & ChunkBit(i)) == 0) continue;
    for (size_t column = 0; column < k; ++column) {
      uint8_t sum = 0;
      for (size_t j = 0; j < k; ++j) sum ^= gf_mul(matrix_[i * k + j], inverse[j * k + column]);
      rows.push_back(sum);
    }
  }
  auto table = std::make_shared<DecodeTable>();
  table->tables = ExpandTables(k_, static_cast<uint32_t>(std::popcount(wanted)), rows.data());
  return table;
}

const ReedSolomon& CodecFor(const Geometry& geometry) {
  const uint32_t k = geometry.data_chunks;
  const uint32_t m = geometry.parity_chunks;
  XEC_CHECK(k >= 1 && m >= 1 && k < kChunksMax && m < kChunksMax, "no codec for {}", geometry.ToString());
  // Never destroyed: threads may still be coding while the process ends.
  static auto& codecs = *new std::array<std::array<std::unique_ptr<ReedSolomon>, kChunksMax>, kChunksMax>;
  static auto& mutex = *new Mutex;
  const MutexLock lock(mutex);
  std::unique_ptr<ReedSolomon>& codec = codecs[k][m];
  if (!codec) codec = std::make_unique<ReedSolomon>(geometry);
  return *codec;
}

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// Speed of the codec on one core. Bytes per second are bytes of the object for the coding benchmarks, and
// bytes read for checksums and memcpy. The raw ISA-L runs show what our wrapper costs: nothing, it should
// say.
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>
#include <isa-l.h>

#include "base/random.hh"
#include "codec/checksum.hh"
#include "codec/crc_combine.hh"
#include "codec/object_digests.hh"
#include "codec/reed_solomon.hh"

namespace xec {
namespace {

constexpr size_t kAlignment = 64;

// n aligned chunks of random bytes.
class Chunks {
 public:
  Chunks(uint32_t count, size_t length) : length_(length), memory_(count * length + kAlignment) {
    Random random(1);
    for (std::byte& byte : memory_) byte = static_cast<std::byte>(random.Next());
    void* start = memory_.data();
    size_t space = memory_.size();
    auto* first = static_cast<std::byte*>(std::align(kAlignment, count * length, start, space));
    for (uint32_t i = 0; i < count; ++i) pointers_.push_back(first + i * length);
  }

  std::span<std::byte* const> pointers() const { return pointers_; }
  ByteSpan Chunk(uint32_t i) const { return {pointers_[i], length_}; }

 private:
  size_t length_;
  std::vector<std::byte> memory_;
  std::vector<std::byte*> pointers_;
};

Geometry GeometryOf(const benchmark::State& state) {
  return {static_cast<uint32_t>(state.range(0)), static_cast<uint32_t>(state.range(1)),
          static_cast<uint64_t>(state.range(2))};
}

void CountBytes(benchmark::State& state, uint64_t bytes) {
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(bytes));
}

void Encode(benchmark::State& state) {
  const Geometry geometry = GeometryOf(state);
  const Chunks chunks(geometry.Total(), geometry.chunk_size_bytes);
  const std::vector<const std::byte*> data(chunks.pointers().begin(),
                                           chunks.pointers().begin() + geometry.data_chunks);
  const auto parity = chunks.pointers().subspan(geometry.data_chunks);
  for (auto _ : state) {
    CodecFor(geometry).Encode(data, parity, geometry.chunk_size_bytes);
    benchmark::ClobberMemory();
  }
  CountBytes(state, geometry.StripeSize());
}

void EncodeRawIsal(benchmark::State& state) {
  const Geometry geometry = GeometryOf(state);
  const Chunks chunks(geometry.Total(), geometry.chunk_size_bytes);
  const int k = static_cast<int>(geometry.data_chunks);
  const int m = static_cast<int>(geometry.parity_chunks);
  std::vector<uint8_t> matrix(size_t{geometry.Total()} * geometry.data_chunks);
  std::vector<uint8_t> tables(size_t{32} * geometry.data_chunks * geometry.parity_chunks);
  gf_gen_cauchy1_matrix(matrix.data(), k + m, k);
  ec_init_tables(k, m, matrix.data() + size_t{geometry.data_chunks} * geometry.data_chunks, tables.data());
  std::array<uint8_t*, kChunksMax> pointers;
  for (uint32_t i = 0; i < geometry.Total(); ++i) {
    pointers[i] = reinterpret_cast<uint8_t*>(chunks.pointers()[i]);
  }
  for (auto _ : state) {
    ec_encode_data(static_cast<int>(geometry.chunk_size_bytes), k, m, tables.data(), pointers.data(),
                   pointers.data() + k);
    benchmark::ClobberMemory();
  }
  CountBytes(state, geometry.StripeSize());
}

// The first range(3) data chunks are lost. Counted are the bytes of the stripe, as a degraded reader sees it.
void Reconstruct(benchmark::State& state) {
  const Geometry geometry = GeometryOf(state);
  const Chunks chunks(geometry.Total(), geometry.chunk_size_bytes);
  const ChunkMask lost = FirstChunks(static_cast<uint32_t>(state.range(3)));
  const ChunkMask present = FirstChunks(geometry.Total()) & ~lost;
  for (auto _ : state) {
    const Status status =
        CodecFor(geometry).Reconstruct(chunks.pointers(), present, lost, geometry.chunk_size_bytes);
    if (!status) state.SkipWithError(status.error().message.c_str());
    benchmark::ClobberMemory();
  }
  CountBytes(state, geometry.StripeSize());
}

// A pattern that is never in the cache: what the first read after a failure pays.
void ReconstructNewPattern(benchmark::State& state) {
  const Geometry geometry{8, 2, 4 * kKiB};
  const Chunks chunks(geometry.Total(), geometry.chunk_size_bytes);
  for (auto _ : state) {
    state.PauseTiming();
    const ReedSolomon codec(geometry);
    state.ResumeTiming();
    const Status status = codec.Reconstruct(chunks.pointers(), 0b1111111100, 0b11, geometry.chunk_size_bytes);
    if (!status) state.SkipWithError(status.error().message.c_str());
  }
}

void Verify(benchmark::State& state) {
  const Geometry geometry = GeometryOf(state);
  const Chunks chunks(geometry.Total(), geometry.chunk_size_bytes);
  const std::vector<const std::byte*> all(chunks.pointers().begin(), chunks.pointers().end());
  for (auto _ : state) benchmark::DoNotOptimize(CodecFor(geometry).Verify(all, geometry.chunk_size_bytes));
  CountBytes(state, geometry.StripeSize());
}

void CopyMemory(benchmark::State& state) {
  const auto length = static_cast<size_t>(state.range(0));
  const Chunks chunks(2, length);
  for (auto _ : state) {
    std::memcpy(chunks.pointers()[0], chunks.pointers()[1], length);
    benchmark::ClobberMemory();
  }
  CountBytes(state, length);
}

template <typename Function>
void Checksum(benchmark::State& state, Function function) {
  const Chunks chunks(1, static_cast<size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(function(chunks.Chunk(0)));
  CountBytes(state, chunks.Chunk(0).size());
}

uint32_t IsalAdler32(ByteSpan bytes) {
  return isal_adler32(1, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

void Pages(benchmark::State& state) {
  const Geometry geometry{8, 2, static_cast<uint64_t>(state.range(0))};
  const Chunks chunks(1, geometry.chunk_size_bytes);
  std::vector<uint32_t> crcs(geometry.PageCount(geometry.chunk_size_bytes));
  for (auto _ : state) {
    PageChecksums(chunks.Chunk(0), geometry.PageSize(), crcs);
    benchmark::ClobberMemory();
  }
  CountBytes(state, geometry.chunk_size_bytes);
}

// The default checksums of an object when its pages' crc32c are known: adler32 and combining.
void DigestsFromPages(benchmark::State& state) {
  const Geometry geometry{8, 2, static_cast<uint64_t>(state.range(0))};
  const Chunks chunks(1, geometry.chunk_size_bytes);
  std::vector<uint32_t> crcs(geometry.PageCount(geometry.chunk_size_bytes));
  PageChecksums(chunks.Chunk(0), geometry.PageSize(), crcs);
  auto digests = ObjectDigests::Create();
  for (auto _ : state) digests->Add(chunks.Chunk(0), crcs, geometry.PageSize());
  CountBytes(state, geometry.chunk_size_bytes);
}

void Combine(benchmark::State& state) {
  uint32_t crc = 1;
  for (auto _ : state) benchmark::DoNotOptimize(crc = Crc32cCombine(crc, 2, 4096));
}

void CombineFixedLength(benchmark::State& state) {
  const Crc32cCombiner combiner(4096);
  uint32_t crc = 1;
  for (auto _ : state) benchmark::DoNotOptimize(crc = combiner.Combine(crc, 2));
}

constexpr int64_t kChunk = kMiB;

BENCHMARK(Encode)->Args({8, 2, kChunk})->Args({4, 2, kChunk})->Args({10, 4, kChunk})->Args({8, 2, 64 * kKiB});
BENCHMARK(EncodeRawIsal)->Args({8, 2, kChunk})->Args({8, 2, 64 * kKiB});
BENCHMARK(Reconstruct)->Args({8, 2, kChunk, 1})->Args({8, 2, kChunk, 2})->Args({8, 2, 4 * kKiB, 1});
BENCHMARK(ReconstructNewPattern);
BENCHMARK(Verify)->Args({8, 2, kChunk});
BENCHMARK(CopyMemory)->Arg(kChunk)->Arg(64 * kChunk);
BENCHMARK_CAPTURE(Checksum, crc32, [](ByteSpan bytes) { return Crc32(bytes); })->Arg(kChunk);
BENCHMARK_CAPTURE(Checksum, crc32c, [](ByteSpan bytes) { return Crc32c(bytes); })->Arg(kChunk);
BENCHMARK_CAPTURE(Checksum, adler32, [](ByteSpan bytes) { return Adler32(bytes); })->Arg(kChunk);
BENCHMARK_CAPTURE(Checksum, adler32_isal, IsalAdler32)->Arg(kChunk);
BENCHMARK(Pages)->Arg(kChunk);
BENCHMARK(DigestsFromPages)->Arg(kChunk);
BENCHMARK(Combine);
BENCHMARK(CombineFixedLength);

}  // namespace
}  // namespace xec

BENCHMARK_MAIN();

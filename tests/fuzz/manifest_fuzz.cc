// SPDX-License-Identifier: LGPL-3.0-or-later
// Any bytes as a manifest, as they are and once more with a checksum line that fits, since no fuzzer finds
// one. What parses must be written again and then parse to the same value.
#include <cstdint>

#include "archive/manifest.hh"
#include "base/bytes.hh"
#include "base/check.hh"
#include "base/text.hh"
#include "codec/checksum.hh"

namespace xec {
namespace {

// The two directions of the map agree, whatever the parts are.
void CheckStripes(const Manifest& manifest) {
  const StripeMap stripes = manifest.Stripes();
  if (manifest.size_bytes == 0) return;
  for (const uint64_t offset : {uint64_t{0}, manifest.size_bytes / 2, manifest.size_bytes - 1}) {
    const StripeExtent extent = stripes.At(offset);
    XEC_CHECK(extent.begin <= offset && offset - extent.begin < extent.bytes);
    XEC_CHECK(stripes.Of(extent.stripe) == extent);
  }
}

void Run(std::string_view text) {
  const Result<Manifest> manifest = Manifest::Parse(text);
  if (!manifest) return;
  CheckStripes(*manifest);
  const Result<std::string> again = manifest->Serialize();
  // The writer's form may be longer than the one read (percent-encoding), hence beyond the limit.
  if (!again) {
    XEC_CHECK(again.code() == Code::kInvalidArgument, "{}", again.error().ToString());
    return;
  }
  const Result<Manifest> same = Manifest::Parse(*again);
  XEC_CHECK(same.has_value() && *same == *manifest);
}

}  // namespace
}  // namespace xec

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  xec::Run(text);
  xec::Run(text + "crc32c " + xec::Hex(xec::Crc32c(xec::AsBytes(text)), 8) + "\n");
  return 0;
}

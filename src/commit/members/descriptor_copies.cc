// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/members/descriptor_copies.hh"

#include <algorithm>

namespace xec {

Task<Result<std::string>> ReadNewestDescriptor(CallContext call, DataServerPtr server) {
  const Result<std::vector<Entry>> entries = co_await List(call, server, std::string(kReservedDirectory));
  if (!entries) co_return entries.error();
  uint64_t newest = 0;
  for (const Entry& entry : *entries) newest = std::max(newest, EpochOfEntry(entry.name).value_or(0));
  if (newest == 0) co_return Fail(Code::kNotFound, "{} has no store descriptor", server->name());
  co_return co_await ReadFile(call, server, DescriptorPath(newest), kDescriptorBytesMax);
}

Task<Status> WriteDescriptor(CallContext call, DataServerPtr server, StoreDescriptor descriptor,
                             std::string nonce) {
  const std::string path = DescriptorPath(descriptor.epoch);
  const std::string draft = fmt::format("{}.r{}", path, nonce);
  Status written = co_await CreateFile(call, server, draft, FormatDescriptor(descriptor), true);
  if (written) written = co_await Rename(call, server, draft, path);
  if (!written) (void)co_await Remove(call, server, draft);
  if (!written && written.code() == Code::kAlreadyExists) co_return OkStatus();
  co_return std::move(written);
}

}  // namespace xec

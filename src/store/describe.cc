// SPDX-License-Identifier: LGPL-3.0-or-later
#include "store/describe.hh"

#include "protocol/later_checksums.hh"
#include "store/told_attributes.hh"

namespace xec {

void Describe(Manifest manifest, ObjectDescription& all) {
  all.geometry = manifest.geometry;
  all.object_id = std::move(manifest.object_id);
  all.servers = std::move(manifest.servers);
  all.debts = std::move(manifest.debts);
  all.checksums = std::move(manifest.checksums);
  all.attributes = std::move(manifest.attributes);
}

void DescribeSet(UserAttributes values, ObjectDescription& all) {
  all.checksums.merge(OnlyLaterChecksums(values));
  TellSet(values, all.info);
  all.attributes = OnlyOfUsers(std::move(values));
}

}  // namespace xec

// SPDX-License-Identifier: LGPL-3.0-or-later
// The bounds that a program may set when it opens a store.
#pragma once

#include "base/units.hh"
#include "placement/space_reserve.hh"
#include "server/health/health_monitor.hh"

namespace xec {

// Every bound of the engine with its default; docs/configuration.md names the directives.
struct EngineOptions {
  Duration metadata_timeout = std::chrono::seconds(10);    // of one listing, rename, removal, small file
  Duration read_timeout = std::chrono::seconds(60);        // of one read of chunk data
  Duration write_timeout = std::chrono::seconds(1800);     // of one write of chunk data, sync or close
  // A chunk of up to kReadBytesMax is late after its server's patience, and after this at the latest; larger
  // ones after as many times of it, and all of them later while everybody is behind (FleetLag). Then others
  // are asked in its place.
  Duration hedge_delay = std::chrono::milliseconds(200);
  uint32_t hedge_percent = 5;  // so many requests more for chunks that are merely late (hedge_budget.hh)
  // An upload gives a server up for a spare when it is at least this much later than the others.
  Duration failover_delay = std::chrono::seconds(1);
  uint64_t memory_bytes = kGiB;  // the one budget for payload (promise P7)
  // Of it at most so many for stripes that were read and may be wanted again (slice_cache.hh). What is read
  // from there tells nothing about the servers: damage of what everybody reads stays unseen for longer.
  uint64_t cache_bytes = 0;
  size_t stripes_in_flight = 3;  // of one writer or sequential reader
  int retries_max = 4;  // restarts of one operation overtaken by others
  // How long a version that was replaced or removed stays readable for readers that have it open.
  Duration superseded_grace = std::chrono::minutes(5);
  // How long an upload may be silent before the cleaner gives it up.
  Duration upload_grace = std::chrono::hours(1);
  // How long a tombstone outlives its removal; far above operation_limit.
  Duration tombstone_horizon = std::chrono::minutes(15);
  // A remove, rename, promotion or exclusive creation that has taken longer since it chose its version gives
  // up (by its own monotonic clock), so that what it sends cannot meet a collected tombstone.
  Duration operation_limit = std::chrono::minutes(1);
  // How often the store descriptor is read again; after three times as long without it nothing is answered.
  Duration descriptor_interval = std::chrono::seconds(30);
  SpaceReserve reserve;  // of each disk: what is kept free of new archives
  HealthRules health;  // when a server is suspect, and how long it is waited for
  HealthMonitorOptions probes;  // how servers that are not well are probed
};

}  // namespace xec

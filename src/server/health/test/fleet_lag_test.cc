// SPDX-License-Identifier: LGPL-3.0-or-later
// What many servers are judged by, through ServerHealth.
#include "server/health/fleet_lag.hh"

#include <array>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "server/health/server_health.hh"

namespace xec {
namespace {

using std::chrono::milliseconds;

constexpr TimePoint kStart = TimePoint(std::chrono::hours(1));
constexpr auto kMeta = RequestKind::kMetadata;

TEST(FleetLagTest, WhenMostAreStoppedTheyAreFoundAsSoon) {
  constexpr std::array<std::pair<size_t, size_t>, 7> kStoppedOf = {
      {{1, 2}, {2, 3}, {3, 4}, {3, 5}, {4, 6}, {5, 7}, {8, 12}}};
  for (const auto& [stopped, servers] : kStoppedOf) {
    for (const bool others_answer : {false, true}) {
      ServerHealth health(servers);
      TimePoint now = kStart;
      const Duration patience = health.Patience(0, kMeta);
      for (size_t server = 0; server < stopped; ++server) health.Begin(server, kMeta, now);
      for (size_t server = stopped; server < servers && others_answer; ++server)
        health.End(server, kMeta, health.Begin(server, kMeta, now), now, now + milliseconds(2),
                   RequestEnd::kAnswered);
      now += patience + Duration(1);
      for (size_t server = 0; server < servers; ++server) {
        const ServerState expected = server < stopped ? ServerState::kSuspect : ServerState::kUp;
        EXPECT_EQ(health.At(server, now).state, expected) << server << ": " << stopped << " of " << servers;
      }
    }
  }
}

TEST(FleetLagTest, WhoIsBadIsNobodyToCompareWith) {
  for (const auto& [bad, servers] : {std::pair<size_t, size_t>{1, 3}, {2, 5}, {4, 12}}) {
    ServerHealth health(servers);
    TimePoint now = kStart;
    for (size_t server = 0; server < bad; ++server)
      health.End(server, kMeta, health.Begin(server, kMeta, now), now, now, RequestEnd::kUnreachable);
    const TimePoint sent = now;
    std::vector<uint64_t> tickets;
    for (size_t server = bad; server < servers; ++server) tickets.push_back(health.Begin(server, kMeta, now));
    now += milliseconds(300);
    for (size_t server = bad; server < servers; ++server) {
      EXPECT_EQ(health.At(server, now).state, ServerState::kUp) << server << ": " << bad << " of " << servers;
      health.End(server, kMeta, tickets[server - bad], sent, now, RequestEnd::kAnswered);
      EXPECT_TRUE(health.At(server, now).trusted);
    }
  }
}

}  // namespace
}  // namespace xec

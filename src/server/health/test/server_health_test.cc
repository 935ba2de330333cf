// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/health/server_health.hh"

#include <algorithm>
#include <array>
#include <deque>

#include <gtest/gtest.h>

namespace xec {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TimePoint kStart = TimePoint(std::chrono::hours(1));
constexpr auto kMeta = RequestKind::kMetadata;

// One server on a clock that the test moves.
class ServerHealthTest : public ::testing::Test {
 protected:
  struct Request {
    uint64_t ticket;
    TimePoint started;
  };
  Request Begin(RequestKind kind = kMeta, size_t server = 0) {
    return {health_.Begin(server, kind, now_), now_};
  }
  void End(Request request, RequestEnd end = RequestEnd::kAnswered, RequestKind kind = kMeta,
           size_t server = 0) {
    health_.End(server, kind, request.ticket, request.started, now_, end);
  }
  // A request that is answered after `latency`; the clock moves on by it.
  void Answer(Duration latency, RequestKind kind = kMeta, size_t server = 0) {
    const Request request = Begin(kind, server);
    now_ += latency;
    End(request, RequestEnd::kAnswered, kind, server);
  }
  // So many requests to each server, one after the other.
  void AnswerAll(int times, Duration latency) {
    for (size_t server = 0; server < health_.size(); ++server) {
      for (int i = 0; i < times; ++i) Answer(latency, kMeta, server);
    }
  }
  // A request to each server but the first, all at once.
  void OthersTake(Duration latency) {
    std::array<Request, 5> requests;
    for (size_t server = 1; server < 5; ++server) requests[server] = Begin(kMeta, server);
    now_ += latency;
    for (size_t server = 1; server < 5; ++server) End(requests[server], RequestEnd::kAnswered, kMeta, server);
  }
  ServerState State(size_t server = 0) { return health_.At(server, now_).state; }
  bool Trusted() { return health_.At(0, now_).trusted; }
  Duration WaitForTrust() {  // the clock moves on by it
    const TimePoint start = now_;
    for (; !Trusted(); now_ += milliseconds(1)) continue;
    return now_ - start;
  }

  ServerHealth health_{5};
  TimePoint now_ = kStart;
};

TEST_F(ServerHealthTest, AServerIsUpAndTrustedFromTheStart) {
  EXPECT_EQ(State(), ServerState::kUp);
  EXPECT_TRUE(Trusted());
  EXPECT_EQ(health_.Rank(0, now_), 0);
  EXPECT_EQ(health_.SuspectFrom(0, now_), TimePoint::max());
}

TEST_F(ServerHealthTest, SilenceBeyondThePatienceIsSuspectWithoutAnyEvent) {
  for (int i = 0; i < 20; ++i) Answer(milliseconds(2));
  const Duration patience = health_.Patience(0, kMeta);
  EXPECT_EQ(patience, milliseconds(80));
  const Request owed = Begin();
  EXPECT_EQ(health_.SuspectFrom(0, now_), now_ + patience + Duration(1));
  now_ += patience;
  EXPECT_EQ(State(), ServerState::kUp);
  now_ += Duration(1);
  EXPECT_EQ(State(), ServerState::kSuspect);
  EXPECT_EQ(health_.At(0, now_).since, owed.started);
  EXPECT_EQ(health_.Rank(0, now_), 3);
}

TEST_F(ServerHealthTest, ASteadyStreamOfAnswersIsNoSilenceHoweverLongTheQueue) {
  for (int i = 0; i < 20; ++i) Answer(milliseconds(2));
  std::vector<Request> queue;
  for (int i = 0; i < 64; ++i) queue.push_back(Begin());
  for (const Request& request : queue) {
    now_ += milliseconds(10);  // the last one has waited for 640 ms
    EXPECT_EQ(State(), ServerState::kUp);
    End(request);
  }
}

TEST_F(ServerHealthTest, OurOwnQueueCostsNoTrust) {
  for (int i = 0; i < 20; ++i) Answer(milliseconds(2));
  std::vector<Request> queue;
  for (int i = 0; i < 64; ++i) queue.push_back(Begin());
  for (const Request& request : queue) {
    now_ += milliseconds(10);
    End(request);
    EXPECT_TRUE(Trusted());
  }
}

TEST_F(ServerHealthTest, AnAnswerThatOthersOvertookLongAgoCostsTrust) {
  const Request stuck = Begin();
  for (int i = 0; i < 20; ++i) Answer(milliseconds(20));
  EXPECT_TRUE(Trusted());
  End(stuck);
  EXPECT_FALSE(Trusted());
}

TEST_F(ServerHealthTest, OfManyAnswersOneMayBeOvertaken) {
  const auto overtaken_by_many = [&](int answers) {
    const std::vector<Request> stuck = {Begin(), Begin()};
    for (int i = 0; i < answers; ++i) Answer(milliseconds(2));
    for (const Request& request : stuck) End(request);
  };
  overtaken_by_many(HealthRules::kOvertakenOf);
  EXPECT_TRUE(Trusted()) << "two that come together are one";
  overtaken_by_many(HealthRules::kOvertakenOf);
  EXPECT_TRUE(Trusted());
  overtaken_by_many(HealthRules::kOvertakenOf - 2);
  EXPECT_FALSE(Trusted());
}

TEST_F(ServerHealthTest, WhileEverybodyIsBehindNobodyIsLate) {
  AnswerAll(20, milliseconds(2));
  now_ += milliseconds(1);
  const Request silent = Begin();
  std::vector<std::pair<size_t, Request>> crowd;
  for (size_t i = 0; i < 400; ++i) crowd.emplace_back(1 + i % 4, Begin(kMeta, 1 + i % 4));
  for (const auto& [server, request] : crowd) {
    now_ += milliseconds(1);  // the last ones have waited for 400 ms
    End(request, RequestEnd::kAnswered, kMeta, server);
    ASSERT_EQ(State(), ServerState::kUp) << (now_ - silent.started).count();
    ASSERT_GT(health_.LateFrom(kMeta, silent.started, milliseconds(80), now_), now_);
  }
  // The others have caught up.
  for (size_t server = 1; server < 5; ++server) Answer(milliseconds(2), kMeta, server);
  EXPECT_EQ(State(), ServerState::kSuspect);
  EXPECT_EQ(health_.At(0, now_).since, silent.started);
}

TEST_F(ServerHealthTest, WhoIsSilentStaysSuspectWhenTheOthersFallBehind) {
  Begin();
  now_ += health_.Patience(0, kMeta) + Duration(1);
  ASSERT_EQ(State(), ServerState::kSuspect);
  Begin();
  OthersTake(milliseconds(400));
  EXPECT_EQ(State(), ServerState::kSuspect);
}

TEST_F(ServerHealthTest, WhoIsSilentIsFoundInTimeHoweverFarBehindAllAre) {
  Begin();
  for (int i = 0; i < 3; ++i) {
    OthersTake(seconds(2));
    EXPECT_EQ(State(), i < 2 ? ServerState::kUp : ServerState::kSuspect) << i;
  }
}

TEST_F(ServerHealthTest, WhileNobodyAnswersNobodyIsToBlame) {
  AnswerAll(20, milliseconds(2));
  std::vector<std::pair<size_t, Request>> owed;
  for (size_t i = 0; i < 50; ++i) owed.emplace_back(i % 5, Begin(kMeta, i % 5));
  const TimePoint sent = now_;
  for (int i = 0; i < 15; ++i) {
    now_ += milliseconds(10);
    for (size_t server = 0; server < 5; ++server) EXPECT_EQ(State(server), ServerState::kUp) << i;
    EXPECT_GT(health_.LateFrom(kMeta, sent, milliseconds(80), now_), now_);
  }
  for (const auto& [server, request] : owed) End(request, RequestEnd::kAnswered, kMeta, server);
  for (size_t server = 0; server < 5; ++server) EXPECT_TRUE(health_.At(server, now_).trusted) << server;
}

TEST_F(ServerHealthTest, WhoOwesNothingIsNotBehind) {
  std::array<Request, 5> requests;
  for (size_t server = 1; server < 5; ++server) requests[server] = Begin(kMeta, server);
  now_ += milliseconds(10);
  End(requests[1], RequestEnd::kDropped, kMeta, 1);
  End(requests[2], RequestEnd::kSilent, kMeta, 2);  // a short deadline of the caller
  End(requests[3], RequestEnd::kDropped, kMeta, 3);
  End(requests[4], RequestEnd::kAnswered, kMeta, 4);
  Begin();
  now_ += health_.Patience(0, kMeta) + Duration(1);
  EXPECT_EQ(State(), ServerState::kSuspect);
}

TEST_F(ServerHealthTest, ReadsWaitForSmallRequestsOfEverybody) {
  const Request read = Begin(RequestKind::kReadSmall);
  std::array<Request, 5> requests;
  for (size_t server = 1; server < 5; ++server) requests[server] = Begin(kMeta, server);
  now_ += milliseconds(200);
  EXPECT_EQ(State(), ServerState::kUp);
  for (size_t server = 1; server < 5; ++server) End(requests[server], RequestEnd::kAnswered, kMeta, server);
  EXPECT_EQ(State(), ServerState::kUp);
  End(read, RequestEnd::kAnswered, RequestKind::kReadSmall);
  EXPECT_TRUE(Trusted());
}

TEST_F(ServerHealthTest, OneSlowSyncIsOneFailure) {
  const Request sync = Begin(RequestKind::kSync);
  now_ += seconds(3);
  EXPECT_EQ(State(), ServerState::kSuspect);
  for (int i = 0; i < 10; ++i) Answer(milliseconds(2));
  EXPECT_EQ(State(), ServerState::kSuspect) << "other answers do not tell that a sync comes";
  End(sync, RequestEnd::kAnswered, RequestKind::kSync);
  EXPECT_EQ(State(), ServerState::kUp);
  EXPECT_EQ(WaitForTrust(), health_.rules().trust_first);
}

TEST_F(ServerHealthTest, WhoIsSilentInOneKindCountsInTheOthers) {
  for (size_t server = 1; server < 4; ++server) Begin(RequestKind::kSync, server);
  now_ += seconds(3);
  for (size_t server = 1; server < 4; ++server) ASSERT_EQ(State(server), ServerState::kSuspect);
  std::array<Request, 4> requests;
  for (size_t server = 0; server < 4; ++server) requests[server] = Begin(kMeta, server);
  now_ += milliseconds(300);
  for (size_t server = 1; server < 4; ++server) End(requests[server], RequestEnd::kAnswered, kMeta, server);
  EXPECT_EQ(State(), ServerState::kUp);
}

TEST_F(ServerHealthTest, WhoWasSeenSilentIsSuspectWhenItsDeadlinePasses) {
  const Request silent = Begin();
  now_ += milliseconds(200);
  ASSERT_EQ(State(), ServerState::kSuspect);
  OthersTake(milliseconds(500));
  now_ += 2 * FleetLag::kSampleFor;
  End(silent, RequestEnd::kSilent);
  EXPECT_EQ(State(), ServerState::kSuspect);
}

TEST_F(ServerHealthTest, WhoseDeadlinePassesIsSuspectThoughAllAreSilent) {
  std::vector<Request> owed;
  for (size_t server = 0; server < 5; ++server) owed.push_back(Begin(kMeta, server));
  now_ += seconds(2);
  for (size_t server = 0; server < 5; ++server) {
    End(owed[server], RequestEnd::kSilent, kMeta, server);
    EXPECT_EQ(State(server), ServerState::kSuspect) << server;
  }
}

TEST_F(ServerHealthTest, WhenAllAreStoppedTheyAreFoundWithinTheBound) {
  for (size_t server = 0; server < 5; ++server) Begin(kMeta, server);
  now_ += HealthRules::kBehindMost;
  for (size_t server = 0; server < 5; ++server) EXPECT_EQ(State(server), ServerState::kUp);
  now_ += Duration(1);
  for (size_t server = 0; server < 5; ++server) EXPECT_EQ(State(server), ServerState::kSuspect);
}

TEST_F(ServerHealthTest, AServerOfWhichManyAnswersAreStuckIsNotTrusted) {
  std::deque<Request> stuck;
  for (int i = 0; i < 500; ++i) {
    if (i % 2 == 0) stuck.push_back(Begin());
    Answer(milliseconds(20));
    if (stuck.size() < 100) continue;
    End(stuck.front());
    stuck.pop_front();
  }
  EXPECT_FALSE(Trusted());
}

TEST_F(ServerHealthTest, WhatOthersTookLongAgoIsNoExcuse) {
  for (size_t server = 1; server < 5; ++server) Answer(milliseconds(300), kMeta, server);
  now_ += milliseconds(1);
  Begin();
  EXPECT_EQ(health_.SuspectFrom(0, now_), now_ + health_.Patience(0, kMeta) + Duration(1))
      << "nobody has answered since";
  now_ += FleetLag::kMemory;
  Begin(kMeta, 2);
  Answer(milliseconds(2), kMeta, 1);
  EXPECT_EQ(State(2), ServerState::kUp);
  now_ += health_.Patience(2, kMeta);
  EXPECT_EQ(State(2), ServerState::kSuspect) << "the last answer was quick, those before it are forgotten";
}

TEST_F(ServerHealthTest, AFewSlowServersAreNotEverybody) {
  Begin();
  for (int i = 0; i < 4; ++i) {
    const std::array<Request, 2> slow = {Begin(kMeta, 1), Begin(kMeta, 2)};
    now_ += milliseconds(100);
    for (size_t server = 1; server < 3; ++server) End(slow[server - 1], RequestEnd::kAnswered, kMeta, server);
  }
  EXPECT_EQ(State(), ServerState::kSuspect);
}

TEST_F(ServerHealthTest, ARequestThatALaterOneOvertookIsStuckNotTheServer) {
  const Request stuck = Begin();
  now_ += milliseconds(1);
  Answer(milliseconds(1));
  now_ += seconds(5);
  EXPECT_EQ(State(), ServerState::kUp);
  End(stuck, RequestEnd::kSilent);
  EXPECT_EQ(State(), ServerState::kUp);
}

TEST_F(ServerHealthTest, KindsAreSilentOnTheirOwn) {
  Begin(RequestKind::kWrite);
  now_ += milliseconds(900);
  Answer(milliseconds(1));
  EXPECT_EQ(State(), ServerState::kUp);
  now_ += milliseconds(200);
  EXPECT_EQ(State(), ServerState::kSuspect) << "a write is owed for longer than a second";
}

TEST_F(ServerHealthTest, APassedDeadlineStaysSuspectUntilAnAnswer) {
  const Request request = Begin();
  now_ += seconds(10);
  End(request, RequestEnd::kSilent);
  now_ += seconds(100);
  EXPECT_EQ(State(), ServerState::kSuspect);
  EXPECT_EQ(health_.At(0, now_).since, request.started);
  EXPECT_EQ(health_.SuspectFrom(0, now_), TimePoint::min());
  Answer(milliseconds(1));
  EXPECT_EQ(State(), ServerState::kUp);
  EXPECT_EQ(health_.At(0, now_).since, now_);
}

TEST_F(ServerHealthTest, AShortDeadlineOfTheCallerSaysNothing) {
  const Request request = Begin();
  now_ += milliseconds(5);
  End(request, RequestEnd::kSilent);
  EXPECT_EQ(State(), ServerState::kUp);
}

TEST_F(ServerHealthTest, RefusedIsDownAtOnceAndErrorsOfTheNameAreNot) {
  for (const Code code : {Code::kNotFound, Code::kAlreadyExists, Code::kNoSpace, Code::kPermissionDenied,
                          Code::kNotEmpty, Code::kConflict, Code::kCorruption, Code::kUnreadable}) {
    EXPECT_EQ(EndOf(code), RequestEnd::kAnswered) << CodeName(code);
  }
  EXPECT_EQ(EndOf(Code::kDeadlineExceeded), RequestEnd::kSilent);
  ASSERT_EQ(EndOf(Code::kUnavailable), RequestEnd::kUnreachable);
  const Request request = Begin();
  health_.End(0, kMeta, request.ticket, request.started, now_, RequestEnd::kUnreachable, "refused");
  EXPECT_EQ(State(), ServerState::kDown);
  EXPECT_EQ(health_.Rank(0, now_), ServerHealth::kWorstRank);
  EXPECT_EQ(health_.ReportOf(0, now_).problem, "refused");
  EXPECT_EQ(State(1), ServerState::kUp);
}

TEST_F(ServerHealthTest, ASuspectThatIsRefusedIsDownSinceItWasSilent) {
  const Request silent = Begin();
  now_ += seconds(10);
  End(silent, RequestEnd::kSilent);
  now_ += seconds(5);
  const Request refused = Begin();
  End(refused, RequestEnd::kUnreachable);
  EXPECT_EQ(State(), ServerState::kDown);
  EXPECT_EQ(health_.At(0, now_).since, silent.started);
}

TEST_F(ServerHealthTest, ADroppedRequestIsNotOwedAnyMore) {
  const Request request = Begin();
  End(request, RequestEnd::kDropped);
  now_ += seconds(10);
  EXPECT_EQ(State(), ServerState::kUp);
  EXPECT_EQ(health_.SuspectFrom(0, now_), TimePoint::max());
}

TEST_F(ServerHealthTest, AReturnedServerIsUpAtOnceAndTrustedAfterAWhile) {
  End(Begin(), RequestEnd::kUnreachable);
  now_ += seconds(30);
  Answer(milliseconds(1));
  EXPECT_EQ(State(), ServerState::kUp);
  EXPECT_FALSE(Trusted());
  EXPECT_EQ(health_.Rank(0, now_), ServerHealth::kRankUntrusted);
  now_ += health_.rules().trust_first;
  EXPECT_TRUE(Trusted());
  EXPECT_EQ(health_.Rank(0, now_), 0);
}

TEST_F(ServerHealthTest, FlappingIsTrustedLaterEachTimeWithinABound) {
  const auto time_to_trust = [&] {
    End(Begin(), RequestEnd::kUnreachable);
    Answer(milliseconds(1));
    return WaitForTrust();
  };
  for (const int wait_s : {1, 2, 4}) EXPECT_EQ(time_to_trust(), seconds(wait_s));
  for (int i = 0; i < 20; ++i) EXPECT_LE(time_to_trust(), health_.rules().trust_longest);
  EXPECT_EQ(time_to_trust(), health_.rules().trust_longest);
  now_ += health_.rules().forgive;
  EXPECT_EQ(time_to_trust(), seconds(1)) << "it was good for long";
}

TEST_F(ServerHealthTest, ABurstOfLateAnswersIsOneFailure) {
  for (int i = 0; i < 20; ++i) Answer(milliseconds(2));
  std::vector<Request> stopped;
  for (int i = 0; i < 30; ++i) stopped.push_back(Begin());
  now_ += seconds(20);
  for (const Request& request : stopped) End(request);
  EXPECT_EQ(State(), ServerState::kUp);
  EXPECT_EQ(WaitForTrust(), seconds(1));
}

TEST_F(ServerHealthTest, ALateAnswerCostsTrustAndPatienceFollowsLatency) {
  for (int i = 0; i < 40; ++i) Answer(milliseconds(2));
  Answer(milliseconds(100));
  EXPECT_FALSE(Trusted());
  // A server that always takes so long is no worse for it: patience follows its latencies, within a bound.
  for (int i = 0; i < 40; ++i) Answer(milliseconds(100));
  EXPECT_EQ(health_.Patience(0, kMeta), milliseconds(400));
  now_ += seconds(60);
  EXPECT_TRUE(Trusted());
  for (int i = 0; i < 40; ++i) Answer(seconds(9));
  EXPECT_EQ(health_.Patience(0, kMeta), seconds(2));
}

TEST_F(ServerHealthTest, AServerMuchSlowerThanTheOthersIsAskedAfterThemForAWhile) {
  for (size_t server = 0; server < 5; ++server) {
    for (int i = 0; i < 16; ++i) Answer(milliseconds(server == 3 ? 50 : 2), kMeta, server);
  }
  EXPECT_EQ(health_.Rank(3, now_), 1);
  EXPECT_TRUE(health_.ReportOf(3, now_).slow);
  EXPECT_EQ(health_.Rank(2, now_), 0);
  now_ += health_.rules().slow_memory;
  EXPECT_EQ(health_.Rank(3, now_), 0) << "it has to have a chance";
}

TEST_F(ServerHealthTest, NobodyIsSlowWhenAllAreSlowAtOnce) {
  AnswerAll(32, milliseconds(2));
  std::deque<std::pair<size_t, Request>> sent;
  for (size_t i = 0; i < 200; ++i) {
    sent.emplace_back(i % 5, Begin(kMeta, i % 5));
    now_ += milliseconds(10);
    if (sent.size() < 20) continue;
    End(sent.front().second, RequestEnd::kAnswered, kMeta, sent.front().first);
    sent.pop_front();
  }
  for (size_t server = 0; server < 5; ++server) EXPECT_FALSE(health_.ReportOf(server, now_).slow) << server;
}

// A thousand clients made ten of twelve directories slow: look-ups went to others, and wrote witnesses.
TEST_F(ServerHealthTest, NobodyIsSlowWhereManyAre) {
  AnswerAll(16, milliseconds(2));
  for (int i = 0; i < 16; ++i) Answer(milliseconds(50), kMeta, 3);
  EXPECT_EQ(health_.Rank(3, now_), 1);
  for (int i = 0; i < 16; ++i) Answer(milliseconds(50), kMeta, 1);
  for (size_t server = 0; server < 5; ++server) EXPECT_EQ(health_.Rank(server, now_), 0) << server;
  EXPECT_FALSE(health_.ReportOf(3, now_).slow);
}

TEST_F(ServerHealthTest, AStallMakesNobodySlow) {
  AnswerAll(32, milliseconds(2));
  std::vector<Request> held_up;
  for (int i = 0; i < 20; ++i) held_up.push_back(Begin());
  now_ += milliseconds(60);
  for (const Request& request : held_up) End(request);
  EXPECT_FALSE(health_.ReportOf(0, now_).slow);
  EXPECT_TRUE(Trusted());
}

TEST_F(ServerHealthTest, AfterThatOneAnswerTellsWhetherItIsStillSlow) {
  for (size_t server = 0; server < 5; ++server) {
    for (int i = 0; i < 16; ++i) Answer(milliseconds(server == 3 ? 50 : 2), kMeta, server);
  }
  now_ += health_.rules().slow_memory;
  Answer(milliseconds(50), kMeta, 3);
  EXPECT_EQ(health_.Rank(3, now_), 1);
  now_ += health_.rules().slow_memory;
  for (int i = 0; i < 12; ++i) {
    Answer(milliseconds(2), kMeta, 3);
    EXPECT_EQ(health_.Rank(3, now_), 0) << i;
  }
}

TEST_F(ServerHealthTest, ReadsAreComparedWithReadsOfTheirSize) {
  EXPECT_EQ(ReadKindOf(4096), RequestKind::kReadSmall);
  EXPECT_EQ(ReadKindOf(uint64_t{1} << 20), RequestKind::kRead);
  EXPECT_EQ(ReadKindOf(uint64_t{16} << 20), RequestKind::kReadLarge);
  for (int i = 0; i < 20; ++i) Answer(milliseconds(2), RequestKind::kReadSmall);
  for (int i = 0; i < 20; ++i) Answer(milliseconds(90), RequestKind::kReadLarge);
  EXPECT_TRUE(Trusted());
  EXPECT_EQ(health_.Patience(0, RequestKind::kReadSmall), milliseconds(80));
  EXPECT_EQ(health_.Patience(0, RequestKind::kReadLarge), milliseconds(360));
}

TEST_F(ServerHealthTest, SlowNeedsMoreThanAFewMilliseconds) {
  for (size_t server = 0; server < 5; ++server) {
    for (int i = 0; i < 16; ++i) Answer(milliseconds(server == 3 ? 15 : 1), kMeta, server);
  }
  EXPECT_EQ(health_.Rank(3, now_), 0);
}

TEST(LatencyWindowTest, QuantilesAreThoseOfTheLastSamples) {
  LatencyWindow window;
  EXPECT_EQ(window.high(), Duration(0));
  EXPECT_TRUE(window.Add(milliseconds(7)));
  EXPECT_EQ(window.median(), milliseconds(7));
  for (int i = 1; i <= 39; ++i) window.Add(milliseconds(i));
  EXPECT_EQ(window.count(), LatencyWindow::kSamples);
  EXPECT_EQ(window.median(), milliseconds(23)) << "of 8 to 39";
  EXPECT_EQ(window.high(), milliseconds(38));
  for (size_t i = 0; i < LatencyWindow::kSamples; ++i) window.Add(-seconds(1));
  EXPECT_EQ(window.high(), Duration(0));
}

}  // namespace
}  // namespace xec

#!/bin/sh
# SPDX-License-Identifier: LGPL-3.0-or-later
# Builds the model of a change of members and runs it on one core: complete searches, random walks, variants that must
# FAIL. Two minutes. WALKS=100000 SEED=7 ./run.sh for longer walks.
cd "$(dirname "$0")" || exit 1
build="${BUILD:-$(mktemp -d)}"
model="$build/members-model"
g++ -O2 -std=c++20 -Wall -Wextra -Wno-missing-field-initializers ./*.cc -o "$model" || exit 1
g++ -O2 -std=c++20 -Wall -Wextra lists/lists.cc -o "$build/lists-model" || exit 1
wrong=0
must_hold() { "$model" "$@" trace=1 | tee "$build/out" | cut -c1-200; grep -q ': ok' "$build/out" || wrong=$((wrong + 1)); }
must_fail() { "$model" "$@" trace=0 | tee "$build/out" | cut -c1-200; grep -q ': FAIL' "$build/out" || wrong=$((wrong + 1)); }

echo "== lists and leases alone, to the end; variants that must fail"
for change in add remove; do
  "$build/lists-model" $change | tee "$build/out"
  grep -q ': ok' "$build/out" || wrong=$((wrong + 1))
done
for variant in one never "half back=1"; do
  "$build/lists-model" $variant | tee "$build/out"
  grep -q ': FAIL' "$build/out" || wrong=$((wrong + 1))
done

echo "== breadth first, to the end: one client, one crash"
for change in add remove undo; do
  for client in "put full=1" "rm full=1" "rm gone=1" "read full=1" "list full=1 stale=1" "clean full=1" "clean gone=1"; do
    must_hold $change $client mover crashes=1
  done
done
must_hold add create mover max=400000
must_hold grow put mover full=1 crashes=1
must_hold shrink put mover full=1 crashes=1
must_hold shrinkgrow put mover full=1 crashes=1
must_hold addback rm mover full=1 crashes=1
must_hold chain rm mover full=1 crashes=1
must_hold none put mover full=1 wipes=1 crashes=1
must_hold none rm mover full=1 wipes=1 crashes=1

echo "== random walks: everything at once"
for change in add remove undo grow shrink shrinkgrow addback chain chainback chainsame; do
  for clients in "create put rm clean full=1" "create create rm clean gone=1" "create put read clean"; do
    must_hold $change $clients mover rounds=3 downs=2 crashes=2 delays=2 walks="${WALKS:-1500}" seed="${SEED:-1}"
  done
done
must_hold add put rm mover mover full=1 rounds=3 downs=2 crashes=2 delays=2 walks="${WALKS:-1500}" seed="${SEED:-1}"
must_hold add put rm read mover full=1 wipes=1 crashes=1 walks="${WALKS:-1500}" seed="${SEED:-1}"

echo "== variants that must fail (README.md)"
must_fail add list mover missmore full=1 stale=1
must_fail add read clean high=1 full=1 half=1 rounds=8 oldcleaner max=2000000
must_fail add create create mover ready=5 nofence max=1000000
must_fail add create create clean read low=1 high=2 rounds=2 ready=13 fencejoint walks=200000
must_fail add rm read mover nowaitwalk full=1 walks=20000
must_fail add rm read mover nowalk full=1 stale=1 max=1000000
must_fail shrinkgrow rm mover read full=1 noquorum nosecondwalk max=1000000
must_fail none put rm read mover nocompare wipes=1 full=1 walks=60000
echo "$wrong wrong"
test "$wrong" = 0

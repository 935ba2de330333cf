#!/bin/sh
# SPDX-License-Identifier: LGPL-3.0-or-later
# Builds the model of rename and runs it on one core: complete searches, random walks, variants that must FAIL.
# Under 6 minutes. WALKS=100000 SEED=7 ./run.sh for longer walks.
cd "$(dirname "$0")" || exit 1
build="${BUILD:-$(mktemp -d)}"
model="$build/rename-model"
g++ -O2 -std=c++20 -Wall -Wextra -Wno-missing-field-initializers ./*.cc -o "$model" || exit 1
wrong=0
must_hold() { "$model" "$@" trace=40 | tee "$build/out" | cut -c1-160; if grep -q '^FAIL' "$build/out"; then wrong=$((wrong + 1)); fi; }
must_fail() { "$model" "$@" trace=0 | tee "$build/out" | cut -c1-160; grep -q '^FAIL' "$build/out" || wrong=$((wrong + 1)); }

echo "== breadth first: every interleaving"
for shared in 0 1 3; do
  must_hold mv:AB read shared=$shared reads=1 delays=1 max=300000
  must_hold mv:AB clean:A shared=$shared delays=1 max=300000
  must_hold mv:AB rm:B shared=$shared full=1 stale=1 downs=1 max=300000
done
must_hold mv:AB rm:A shared=0 full=1 stale=1 downs=1 max=300000
must_hold mv:AB put:A shared=0 delays=1 downs=1 max=1100000
must_hold mv:AB put:B shared=3 full=1 delays=1 max=300000
must_hold mv:AB mv:AC shared=1 delays=1 downs=1 max=1100000

echo "== random walks: everything at once"
for shared in 0 1 2 3; do
  for operations in "mv:AB put:A put:B" "mv:AB put:A rm:B" "mv:AB put:A rm:A" "mv:AB rm:B" "mv:AB mv:AC put:B" "mv:AB mv:CB put:A" "mv:AB mv:BC put:A" "mv:AB mv:BA"; do
    must_hold $operations read clean:A clean:B shared=$shared full=$(((shared + 1) / 2 % 2)) stale=$((shared / 2)) downs=4 delays=2 rounds=3 reads=5 \
      walks="${WALKS:-2000}" seed="${SEED:-1}"
  done
done

echo "== variants that must fail"
all="read clean:A clean:B downs=4 delays=2 rounds=3 reads=5 walks=60000"
for v in "mv:AB earlyfinish" "mv:AB put:A lookbeforeseal" "mv:AB put:A nosourceseal" "mv:AB rm:B witnessfinish" \
  "mv:AB rm:B retireearly" "mv:AB put:A nofinish" "mv:AB rm:B nohold" "mv:AB mv:AC rivalblind" "mv:AB mv:AC rivalnox" \
  "mv:AB put:A onelook" "mv:AB readnofinish" "mv:AB abortmaj" "mv:AB rm:B noverify" "mv:AB nomark" "mv:AB rm:B collectearly" \
  "mv:AB put:A noroll" "mv:AB put:A leavesealed" "mv:AB mv:BC noinbound" \
  "mv:AB rm:B put:B dropseal leaveseals full=1" "mv:AB sink full=1 stale=1" "mv:AB mv:AC nosourceseal grace"; do
  must_fail shared=1 $v $all
done
echo "== renames of directories"
BUILD="$build" ./directory/run.sh || wrong=$((wrong + 1))
echo "== changes of members"
BUILD="$build" ./members/run.sh || wrong=$((wrong + 1))
echo "$wrong wrong"
test "$wrong" = 0

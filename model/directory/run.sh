#!/bin/sh
# SPDX-License-Identifier: LGPL-3.0-or-later
# Builds the model of directory renames and runs it on one core: complete searches, random walks, variants that must
# FAIL. About a minute. WALKS=100000 SEED=7 ./run.sh for longer walks.
cd "$(dirname "$0")" || exit 1
build="${BUILD:-$(mktemp -d)}"
model="$build/directory-model"
g++ -O2 -std=c++20 -Wall -Wextra -Wno-missing-field-initializers ./*.cc -o "$model" || exit 1
wrong=0
must_hold() { "$model" "$@" trace=1 | tee "$build/out" | cut -c1-200; if grep -q 'FAIL' "$build/out"; then wrong=$((wrong + 1)); fi; }
must_fail() { "$model" "$@" trace=0 | tee "$build/out" | cut -c1-200; grep -q 'FAIL' "$build/out" || wrong=$((wrong + 1)); }

# What goes wrong without these rules README.md says.
found="clockfirst voidlate frombegun countlate kindgoeson"

echo "== breadth first: without the five rules: no time and no second fault"
must_hold mv:de clean tree=2 crashes=1 faults=1 max=300000
must_hold mv:de put:e/a rm:e/a crashes=1 faults=1 max=300000

echo "== breadth first: with all rules"
must_hold $found mv:de clean crashes=1 ticks=2 faults=1 max=500000
must_hold $found mv:de clean put:d/a crashes=1 ticks=2 max=300000
must_hold $found mv:de clean clean crashes=1 ticks=2 max=300000
must_hold $found mv:de put:e/a rm:e/a faults=2 max=500000
must_hold $found mv:de rm:d/a rmdir:d put:d/a crashes=1 max=300000
must_hold $found mv:de mv:df tree=1 crashes=1 max=300000
must_hold $found renew=1 mv:de clean tree=2 crashes=1 ticks=2 max=300000
must_hold $found renew=1 mv:de clean put:e/a rm:e/a tree=2 ticks=3 faults=1 max=300000

echo "== random walks: everything at once"
for operations in "clean clean" "clean put:d/a rm:e/a" "clean put:e/a rm:d/a mkdir:e" "clean clean put:e rm:e" "clean put:d/s rmdir:d/s rm:d/s/x" \
  "clean rmdir:d mkdir:d put:d/a" "clean rmdir:e put:e/s" "mv:df clean put:d/a" "mv:ef clean put:d/s/x" "mv:de clean clean put:e/a"; do
  for tree in 2 3; do
    must_hold $found mv:de $operations tree=$tree crashes=2 ticks=6 faults=3 fences=1 cuts=1 rounds=8 walks="${WALKS:-5000}" seed="${SEED:-1}"
    must_hold $found renew=1 mv:de $operations tree=$tree crashes=2 ticks=6 faults=3 fences=1 cuts=1 rounds=8 walks="${WALKS:-5000}" seed="${SEED:-1}"
    must_hold $found mv:de $operations tree=$tree ahead=2 servers=4 crashes=2 ticks=6 faults=3 fences=1 cuts=1 rounds=8 walks="${WALKS:-5000}" seed="${SEED:-1}"
  done
done

echo "== variants that must fail"
for v in "nolog mv:de crashes=1" "unlogearly mv:de crashes=1" "alwaysover mv:de faults=1" \
  "resumeblind mv:de rmdir:d mkdir:d" "moveblind mv:de clean put:d/s ticks=2" "checkfirst mv:de rm:d/a rmdir:d put:d/a" \
  "byname mv:de clean mkdir:d ticks=2" "notargetlook mv:de put:e/a" "takeyoung mv:de clean put:e/a rm:e/a" \
  "noalone mv:de clean put:e/a ticks=2" "fewcopies mv:de faults=2 crashes=1" "opencounts mv:de faults=2 crashes=1" \
  "dropfirst renew=1 mv:de clean tree=2 crashes=1 ticks=2" \
  "noanew takeyoung mv:de clean faults=2 crashes=2 cuts=1" "forgetfirst mv:de clean tree=3 crashes=2 ticks=2"; do
  must_fail $found $v max=1500000
done
must_fail $found notforgotten mv:de clean put:e/a rm:e/a ticks=5 rounds=8 faults=2 walks=60000
must_fail $found keepalone renew=1 mv:de clean put:e/a rm:e/a tree=3 ticks=6 rounds=8 faults=3 walks=300000
must_fail clockfirst frombegun countlate kindgoeson voidinsilence mv:de clean crashes=1 ticks=2 faults=2 max=1000000

echo "== what the code's rules do not cover: must fail as well"
must_fail voidlate frombegun countlate kindgoeson mv:de clean ticks=5 crashes=1 max=1000000
must_fail clockfirst frombegun countlate kindgoeson mv:de clean ahead=2 crashes=1 max=500000
must_fail clockfirst voidlate countlate kindgoeson mv:de clean put:e/a rm:e/a ticks=3 max=900000
must_fail clockfirst voidlate frombegun kindgoeson mv:de put:e/a rm:e/a faults=2 max=900000
must_fail clockfirst voidlate frombegun countlate mv:de rm:d/s/x rmdir:d/s put:d/s tree=2 max=400000
echo "$wrong wrong"
test "$wrong" = 0

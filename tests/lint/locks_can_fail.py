#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""clang's analysis, as tools/check_locks.py has it done, must complain about what is used without its lock. (That locks
are taken in order is found while programs run: src/base/lock_order_test.cc.)"""
import os
import shutil
import subprocess
import sys
import unittest

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(REPO, "tools"))
import check_locks  # noqa: E402

SKIPPED = 77  # What CTest is told of a test that cannot run.
COUNTER = """#include "base/mutex.hh"
class Counter {
  int Next() XEC_REQUIRES(mutex_) { return ++value_; }
  void Pause() XEC_EXCLUDES(mutex_) {}
  xec::Mutex mutex_;
  xec::CondVar changed_;
  int value_ XEC_GUARDED_BY(mutex_) = 0;
"""
LOCK = "xec::MutexLock lock(mutex_); "
GOOD = [LOCK + "return ++value_;", LOCK + "return Next();",
        LOCK + "while (value_ == 0) changed_.Wait(mutex_); return value_;",
        LOCK + "const int v = Next(); lock.Unlock(); Pause(); lock.Lock(); return v + value_;"]
PLANTED = [("return ++value_;", "requires holding mutex 'mutex_'"), ("return Next();", "requires holding mutex 'mutex_'"),
           (LOCK + "lock.Unlock(); return value_;", "requires holding mutex 'mutex_'"),
           ("changed_.Wait(mutex_); return 0;", "requires holding mutex 'mutex_'"),
           (LOCK + "Pause(); return value_;", "while mutex 'mutex_' is held"),
           ("mutex_.Lock(); return value_;", "still held at the end of function"),
           (LOCK + "xec::MutexLock again(mutex_); return value_;", "that is already held")]


def complaints(bodies):
    """What is said of each function with one of these bodies."""
    text = COUNTER + "".join(f"  int F{i}() {{ {body} }}\n" for i, body in enumerate(bodies)) + "};\n"
    command = [check_locks.CLANG, "-std=c++20", "-I" + os.path.join(REPO, "src"), *check_locks.ANALYSIS, "-x", "c++", "-"]
    said = subprocess.run(command, input=text, capture_output=True, text=True, check=False).stderr
    first = COUNTER.count("\n") + 1
    return [[line for line in said.splitlines() if line.startswith(f"<stdin>:{first + i}:")] for i in range(len(bodies))]


class Locks(unittest.TestCase):
    def test_good(self):
        self.assertEqual(complaints(GOOD), [[] for _ in GOOD])

    def test_planted(self):
        for (body, words), said in zip(PLANTED, complaints([body for body, _ in PLANTED])):
            with self.subTest(body=body):
                self.assertIn(words, "\n".join(said))


if __name__ == "__main__":
    if not shutil.which(check_locks.CLANG):
        print(f"skipped: {check_locks.CLANG} is not installed (./dev check and ./dev test install it)")
        sys.exit(SKIPPED)
    unittest.main()
